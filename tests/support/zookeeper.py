"""ZooKeeper for tests: places that go away, and sessions that end when the test says so."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from hadash.bindings import client as client_module
from hadash.bindings.access import Access

#: Seconds of a test's session. Longer than in operation: on a busy machine a test shall not lose its session by
#: itself, only when it ends it.
SESSION_SECONDS = 20.0


def address_of(hosts: str) -> tuple[str, int]:
    """Host and port of the first server in ``hosts``."""
    host, _, port = hosts.split(",")[0].rpartition(":")
    return host, int(port)


def patient_connect(hosts: str, chroot: str, *, bounded: bool = False) -> KazooClient:
    """:func:`hadash.bindings.client.connect` with a session that outlives a busy machine."""
    usual = client_module.SESSION_TIMEOUT_SECONDS
    client_module.SESSION_TIMEOUT_SECONDS = SESSION_SECONDS
    try:
        return client_module.connect(hosts, chroot, bounded=bounded)
    finally:
        client_module.SESSION_TIMEOUT_SECONDS = usual


@contextmanager
def janitor(hosts: str) -> Iterator[KazooClient]:
    """A client at the root, for :func:`temporary_chroot`. It may do what hadash may; what it makes itself is
    everybody's."""
    client = KazooClient(
        hosts=hosts,
        timeout=SESSION_SECONDS,
        command_retry=KazooRetry(max_tries=-1, deadline=30),
        **{**Access.from_environment().options(), "default_acl": None},
    )
    try:
        client.start(timeout=15)
    except KazooTimeoutError:
        client.stop()
        raise AssertionError(f"ZooKeeper at {hosts} (ZOOKEEPER_HOSTS) does not answer.") from None
    yield client
    client.stop()
    client.close()


@contextmanager
def temporary_chroot(janitor: KazooClient) -> Iterator[str]:
    """A path of nobody else's; deleted with everything below it."""
    path = f"/hadash-test-{uuid.uuid4().hex[:12]}"
    yield path
    if janitor.retry(janitor.exists, path) is not None:
        janitor.retry(janitor.delete, path, recursive=True)


def expire_session(client: KazooClient, hosts: str) -> None:
    """End ``client``'s session on the server, as when it has been silent for too long.

    A client that connects with a session's id and password takes it over, and closing it ends it: what it owned is gone
    and its first holder hears of the expiry as soon as it asks again.
    """
    double = KazooClient(hosts=hosts, client_id=client.client_id, timeout=SESSION_SECONDS)
    double.start()
    double.stop()
    double.close()
