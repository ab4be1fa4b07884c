"""A lake of the test's own, and people who may do different things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.governance.models.runs import Run
from hadash.lake.store import Store


@pytest.fixture
def lake(settings: Any, tmp_path: Path) -> Store:
    settings.LAKE = str(tmp_path / "lake")
    return Store(settings.LAKE)


@pytest.fixture
def handed() -> list[Run]:
    """Runs that were handed to a worker."""
    return []


@pytest.fixture
def olga(transactional_db: None) -> Any:
    ensure_roles()
    return ensure_user("olga", "a-long-password", "operator")


@pytest.fixture
def ada(transactional_db: None) -> Any:
    ensure_roles()
    return ensure_user("ada", "a-long-password", "administrator")
