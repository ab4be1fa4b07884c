"""A ZooKeeper client with hadash's settings."""

from __future__ import annotations

import os

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from hadash.bindings import layout
from hadash.bindings.errors import StoreUnavailable

#: Where hadash lives in the ensemble.
CHROOT = os.environ.get("HADASH_ZOOKEEPER_CHROOT", "/hadash")

#: Seconds that ZooKeeper keeps a session (and a Gateway's ``live`` node) without a heartbeat. Short enough
#: that a dead Gateway is seen within one stage, long enough for a garbage collection of the ensemble.
SESSION_TIMEOUT_SECONDS = float(os.environ.get("HADASH_ZOOKEEPER_SESSION_TIMEOUT", "6"))

#: Seconds to wait for the first connection, and for one command to be retried over connection losses.
CONNECT_TIMEOUT_SECONDS = float(os.environ.get("HADASH_ZOOKEEPER_CONNECT_TIMEOUT", "10"))


def connect(hosts: str | None = None, chroot: str = CHROOT) -> KazooClient:
    """A started client below ``chroot``, which is created with hadash's folders when they are missing.

    :param hosts: ``host:port,host:port``; the default is ``ZOOKEEPER_HOSTS``.
    :raises StoreUnavailable: when no server answers within :data:`CONNECT_TIMEOUT_SECONDS`.
    """
    hosts = hosts or os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
    client = KazooClient(
        hosts=hosts,
        timeout=SESSION_TIMEOUT_SECONDS,
        connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_delay=2),
        command_retry=KazooRetry(
            max_tries=-1, delay=0.05, backoff=2, max_delay=1, deadline=CONNECT_TIMEOUT_SECONDS
        ),
    )
    try:
        client.start(timeout=CONNECT_TIMEOUT_SECONDS)
    except KazooTimeoutError:
        client.stop()
        client.close()
        raise StoreUnavailable(
            f"ZooKeeper at {hosts} does not answer within {CONNECT_TIMEOUT_SECONDS:.0f} s. "
            "Check ZOOKEEPER_HOSTS and that the ensemble has a leader."
        ) from None
    try:
        client.ensure_path(chroot)
        client.chroot = chroot
        for path in (*layout.ROOTS, layout.EPOCH):
            client.ensure_path(path)
    except KazooException as error:
        client.stop()
        client.close()
        raise StoreUnavailable(f"ZooKeeper at {hosts} was lost while hadash connected ({error!r}).") from None
    return client
