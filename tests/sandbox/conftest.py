"""A stack per test run, in a folder of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hadash_sandbox.stack import Stack


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    # Not tmp_path: pytest closes its base folder to other users again and again, and as root
    # PostgreSQL runs as one of those.
    path = Path(tempfile.mkdtemp(prefix="hadash-sandbox-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def stack(data_dir: Path) -> Iterator[Stack]:
    with Stack(data_dir / "shared") as running:
        yield running
