"""A pair with two AppIDs, one who may declare and one who may not, and what was seen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from dashboard.parts import PASSWORD, cluster
from django.contrib.auth.models import User
from django.utils import timezone

from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.inventory.models import Access, AppID, Pair


@pytest.fixture(autouse=True)
def quick(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def olga(db: None) -> User:
    """An operator."""
    ensure_roles()
    return ensure_user("olga", PASSWORD, "operator")


@pytest.fixture
def vera(db: None) -> User:
    """A viewer."""
    ensure_roles()
    return ensure_user("vera", PASSWORD, "viewer")


@pytest.fixture
def pair(db: None) -> Pair:
    east, west = cluster("east", 1), cluster("west", 2)
    return Pair.objects.create(name="main", first=east, second=west, default=east)


@pytest.fixture
def shop(pair: Pair) -> AppID:
    return AppID.objects.create(name="shop", pair=pair)


@pytest.fixture
def crm(pair: Pair) -> AppID:
    return AppID.objects.create(name="crm", pair=pair)


@pytest.fixture
def see(pair: Pair) -> Callable[..., Access]:
    """A Gateway has seen ``appid › client_id`` do something, ``days`` ago."""

    def see(
        appid: str, client_id: str, kind: str, resource: str, *, days: float = 0, on: str = "east"
    ) -> Access:
        at = timezone.now() - timedelta(days=days)
        return Access.objects.create(
            pair=pair,
            appid=appid,
            client_id=client_id,
            kind=kind,
            resource=resource,
            cluster=on,
            first_seen=at,
            last_seen=at,
        )

    return see
