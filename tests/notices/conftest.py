"""The fleet of the pages, with addresses for its people."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dashboard.conftest import (
    engines,
    finished,
    fleet,
    handed,
    make_batch,
    make_change,
    make_switch,
    plan,
    quick,
)
from dashboard.parts import PASSWORD

from hadash.accounts.roles import ensure_roles, ensure_user


@pytest.fixture
def people(db: None) -> SimpleNamespace:
    """Olga operates and asks, Arne and Bea approve, Vera views, Ada administers; all but Vera have an address."""
    ensure_roles()
    found = SimpleNamespace(
        olga=ensure_user("olga", PASSWORD, "operator", "Olga Operator"),
        arne=ensure_user("arne", PASSWORD, "approver", "Arne Approver"),
        bea=ensure_user("bea", PASSWORD, "approver", "Bea Approver"),
        vera=ensure_user("vera", PASSWORD, "viewer", "Vera Viewer"),
        ada=ensure_user("ada", PASSWORD, "administrator", "Ada Administrator"),
    )
    for user in (found.olga, found.arne, found.bea, found.ada):
        user.email = f"{user.username}@example.org"
        user.save()
    return found
