"""Fixtures of all tests. Those that need a server are marked ``stack`` and find it through the environment."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from zlib import crc32

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import translation
from hypothesis import HealthCheck, settings
from kazoo.client import KazooClient
from support import environment
from support import zookeeper as zk
from support.kafka import App, Clusters, known_app, new_app
from support.stack_pair import registered
from support.waiting import eventually

from hadash.governance import selectors as governance
from hadash.inventory.models import Pair

# A slow machine is no failure: no property has a time limit.
settings.register_profile("hadash", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hadash")


#: Of the tests marked ``in_turn``, one of so many is run at a time where ``HADASH_TEST_TURN`` says which.
TURNS = 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs the stack's servers and its Kafka, put the quick tests first, and leave out whose turn it is not.

    (hypothesis also dislikes threads of ZooKeeper clients that use ``random`` meanwhile.)
    """
    if turn := os.environ.get("HADASH_TEST_TURN"):
        left = [item for item, its in _turns(items) if its != int(turn) % TURNS]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]
    for item in items:
        asked = getattr(item, "fixturenames", ())
        if "clusters" in asked:
            item.add_marker("kafka")
        if "clusters" in asked or "zookeeper_hosts" in asked:
            item.add_marker("stack")
    items.sort(key=lambda item: item.get_closest_marker("stack") is not None)


def _turns(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, int]]:
    """What is marked ``in_turn``, with its turn: those of a file have one after the other, and files begin with
    different ones, so that every day has about as much to do.
    """
    counts: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("in_turn"):
            file = item.nodeid.partition("::")[0]
            yield item, (crc32(file.encode()) + counts[file]) % TURNS
            counts[file] += 1


@pytest.fixture(autouse=True)
def quick_passwords() -> Iterator[None]:
    """Passwords that cost nothing: Django's own hash takes half a second for each person.

    (Not by pytest-django's ``settings``: tests of the Gateway have parameters of that name.)
    """
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    """A request in Chinese leaves its thread in Chinese: the next test is not one of its."""
    with translation.override("en"):
        yield


@pytest.fixture(autouse=True)
def nothing_is_remembered_of_scores() -> None:
    """Tests write findings as no run does, which alone changes them."""
    governance._scores.cache_clear()


@pytest.fixture(autouse=True)
def nobody_reads_what_is_emptied(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test server answers what its browser no longer waits for; PostgreSQL cannot empty tables that are read."""
    if "live_server" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")  # (which empties them after this)
    yield

    def has_ended() -> bool:
        return not any("process_request_thread" in thread.name for thread in threading.enumerate())

    eventually(has_ended, "the end of all requests and connections of the test server")


@pytest.fixture(scope="session")
def zookeeper_hosts() -> str:
    return environment.required("ZOOKEEPER_HOSTS")


@pytest.fixture(scope="session")
def clusters() -> dict[str, environment.Cluster]:
    """The stack's Kafka clusters by name."""
    return environment.clusters()


@pytest.fixture(scope="session")
def kafka(clusters: dict[str, environment.Cluster]) -> Clusters:
    """Both clusters, with their admin clients."""
    return Clusters(clusters)


@pytest.fixture
def app(kafka: Clusters) -> Iterator[App]:
    """An AppID of the test's own on both clusters; it signs in with SCRAM."""
    with new_app(kafka) as made:
        yield made


@pytest.fixture(scope="session")
def shared_app(kafka: Clusters) -> Iterator[App]:
    """An AppID that is never bound: for tests that do not mind each other."""
    with new_app(kafka) as made:
        yield made


@pytest.fixture
def plain_app(kafka: Clusters) -> Iterator[App]:
    """An AppID that signs in with PLAIN. Tests share it, so each uses a client.id or Topics of its own."""
    with known_app(kafka, "shop", "shop-secret") as made:
        yield made


@pytest.fixture(scope="session")
def zookeeper_root(zookeeper_hosts: str) -> Iterator[KazooClient]:
    """A client outside of every chroot; it removes those of the tests."""
    with zk.janitor(zookeeper_hosts) as client:
        yield client


@pytest.fixture
def chroot(zookeeper_root: KazooClient) -> Iterator[str]:
    """A place of the test's own in the shared ZooKeeper, gone afterwards."""
    with zk.temporary_chroot(zookeeper_root) as path:
        yield path


@pytest.fixture
def connect_client(zookeeper_hosts: str, chroot: str) -> Iterator[Callable[..., KazooClient]]:
    """Connect to the test's chroot, as often as the test needs: each call is a session of its own."""
    opened: list[KazooClient] = []

    def factory(hosts: str = zookeeper_hosts, *, bounded: bool = False) -> KazooClient:
        client = zk.patient_connect(hosts, chroot, bounded=bounded)
        opened.append(client)
        return client

    yield factory
    for client in opened:
        client.stop()
        client.close()


@pytest.fixture
def zookeeper(connect_client: Callable[..., KazooClient]) -> KazooClient:
    """A client at the test's chroot."""
    return connect_client()


@pytest.fixture
def stack_pair(
    clusters: dict[str, environment.Cluster],
    zookeeper: KazooClient,
    monkeypatch: pytest.MonkeyPatch,
    db: None,
) -> Pair:
    """The stack's clusters as the pair ``main``."""
    return registered(zookeeper, monkeypatch)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Tests that end with an emptied database could not empty the audit log."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_not_emptied")


@pytest.fixture
def append_only(db: None) -> None:
    """The audit log as it is in operation."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE audit_entry ENABLE TRIGGER audit_entry_not_emptied")
