"""hadash beside a real provider of OpenID Connect."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer
from support.provider import CLIENT_ID, CLIENT_SECRET, Browser, Provider

from hadash.accounts import discovery
from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.inventory.models import Cluster, Pair

PASSWORD = "a-long-password"


@pytest.fixture(autouse=True, scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for collected static files, which WhiteNoise asks for; the live server outlasts a test."""
    with override_settings(STATIC_ROOT=tmp_path_factory.mktemp("static")):
        yield


@pytest.fixture(autouse=True)
def quick(settings: Any) -> None:
    """Passwords that cost nothing."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def olga(db: None) -> User:
    """A local account."""
    ensure_roles()
    return ensure_user("olga", PASSWORD, "operator", "Olga Operator")


@pytest.fixture(scope="session")
def real_provider(live_server: LiveServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    folder = tmp_path_factory.mktemp("provider")
    started = Provider(folder, live_server.url, {"anna": "anna-s password", "olga": "another olga"})
    try:
        started.start()
        yield started
    finally:
        started.stop()


def use(settings: Any, issuer: str) -> None:
    """What a person would put into the environment."""
    settings.OIDC_ISSUER = issuer
    settings.OIDC_NAME = "Company SSO"
    settings.OIDC_RP_CLIENT_ID = CLIENT_ID
    settings.OIDC_RP_CLIENT_SECRET = CLIENT_SECRET
    settings.OIDC_ROLES = {"kafka-ops": "operator", "kafka-leads": "approver"}
    discovery.forget()


@pytest.fixture
def provider(real_provider: Provider, settings: Any) -> Iterator[Provider]:
    """hadash is configured to use it; Anna is in a group that operates."""
    use(settings, real_provider.issuer)
    real_provider.say(
        "anna",
        given_name="Anna",
        family_name="Example",
        email="anna@example.org",
        groups=["kafka-ops", "staff"],
    )
    yield real_provider
    real_provider.say_nothing()
    discovery.forget()


@pytest.fixture
def browser(live_server: LiveServer) -> Iterator[Browser]:
    with Browser(live_server.url) as opened:
        yield opened


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
        olga=ensure_user("olga", PASSWORD, "operator"),
        mara=ensure_user("mara", PASSWORD, "operator", pair=pairs.main),
        nobu=User.objects.create_user("nobu", password=PASSWORD),
    )
