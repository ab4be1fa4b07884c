"""A mirror that copies the Topic carts, and an operator."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.conftest import fleet  # noqa: F401

from hadash.accounts.roles import ensure_user
from hadash.mirroring.models import Mirror


@pytest.fixture
def olga(db: None) -> Any:
    return ensure_user("olga", "a-long-password", "operator")


@pytest.fixture
def mirror(fleet: SimpleNamespace, settings: Any, tmp_path: Path) -> Mirror:  # noqa: F811
    settings.LAKE = str(tmp_path / "lake")
    found: Mirror = fleet.mirror
    return found
