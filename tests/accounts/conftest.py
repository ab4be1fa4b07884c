"""Two pairs, and people with roles on both, on one, or on none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User

from hadash.accounts.roles import ensure_user
from hadash.inventory.models import Cluster, Pair


@pytest.fixture(autouse=True)
def quick(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def pairs(db: None) -> SimpleNamespace:
    """``main`` (east, west) and ``other`` (north, south)."""

    def pair(name: str, first: str, second: str, number: int) -> Pair:
        clusters = [Cluster.objects.create(name=n, number=number + i) for i, n in enumerate((first, second))]
        return Pair.objects.create(name=name, first=clusters[0], second=clusters[1], default=clusters[0])

    return SimpleNamespace(main=pair("main", "east", "west", 1), other=pair("other", "north", "south", 3))


@pytest.fixture
def people(pairs: SimpleNamespace) -> SimpleNamespace:
    """Olga operates everywhere; Mara operates ``main`` only; Nobu has no role."""
    return SimpleNamespace(
        olga=ensure_user("olga", "secret-123", "operator"),
        mara=ensure_user("mara", "secret-123", "operator", pair=pairs.main),
        nobu=User.objects.create_user("nobu", password="secret-123"),
    )
