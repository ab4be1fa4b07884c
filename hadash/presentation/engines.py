"""Reads of ZooKeeper and the Gateways for pages. They never wait long, and report what they could not read.

A page that refreshes itself must not hang because ZooKeeper is away. Only one look runs at a time; concurrent
callers share it, and each stops waiting after :data:`PATIENCE_SECONDS` while the look continues.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx
from django.utils.translation import gettext as _
from kazoo.exceptions import KazooException

from hadash.bindings.errors import BindingError
from hadash.bindings.kept import Documents, kept_documents
from hadash.bindings.model import BindingDocument, GatewayMember
from hadash.bindings.store import BindingStore
from hadash.inventory.gateways import ask, gateway_members, zookeeper
from hadash.presentation.localized import explained
from hadash.sentences import Explained, say

log = logging.getLogger(__name__)

#: Seconds that a page waits for ZooKeeper before it reports that ZooKeeper does not answer.
PATIENCE_SECONDS = 1.5
#: Seconds for which pages share one look.
SHARED_SECONDS = 0.25
#: Seconds for which overviews share one look at the connected clients, and seconds that each waits for it: Gateways
#: are asked for all of their clients, which may be thousands.
CONNECTED_SECONDS = 1.0
CONNECTED_PATIENCE_SECONDS = 5.0

T = TypeVar("T")


class Unanswered(Explained):
    """ZooKeeper did not answer. Its sentence says why."""


@dataclass(frozen=True, slots=True)
class Engines:
    """One look at ZooKeeper. With a ``fault`` the rest is empty, because nothing is known."""

    documents: dict[str, BindingDocument] = field(default_factory=dict)
    epoch: int | None = None
    gateways: tuple[GatewayMember, ...] = ()
    fault: str = ""

    @property
    def answering(self) -> tuple[GatewayMember, ...]:
        """The Gateways that can be asked."""
        return tuple(g for g in self.gateways if g.live and not g.excluded and g.admin_url)


class SharedLook(Generic[T]):
    """Runs ``read`` in a thread, at most once at a time, and shares its result for a moment."""

    def __init__(self, read: Callable[[], T], seconds: float = SHARED_SECONDS) -> None:
        self._read = read
        self._seconds = seconds
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dashboard-look")
        self._future: Future[T] | None = None
        self._done_at = 0.0

    def _run(self) -> T:
        try:
            return self._read()
        finally:
            self._done_at = time.monotonic()

    def get(self, patience: float = PATIENCE_SECONDS, *, refresh: bool = False) -> T:
        """Return the shared result, or wait for a new one.

        :param refresh: whether to look once more in any case.
        :raises TimeoutError: the look takes longer than ``patience`` seconds. Errors of ``read`` are raised, too.
        """
        with self._lock:
            future = self._future
            if (
                refresh
                or future is None
                or (future.done() and time.monotonic() - self._done_at > self._seconds)
            ):
                future = self._future = self._pool.submit(self._run)
        return future.result(timeout=patience)


def _connected() -> BindingStore:
    client = zookeeper()
    if not client.connected:
        raise Unanswered(say("the connection is lost"))
    return BindingStore(client)


def _look() -> Engines:
    store = _connected()
    return Engines(_readable(kept_documents(store.client).all()), store.epoch(), tuple(gateway_members()))


def _readable(documents: Documents) -> dict[str, BindingDocument]:
    return {appid: document for appid, document in documents.items() if document is not None}


def _look_at_gateways() -> Engines:
    store = _connected()
    return Engines({}, store.epoch(), tuple(gateway_members()))


_everything = SharedLook(_look)
_gateways = SharedLook(_look_at_gateways)


def _or_fault(look: SharedLook[Engines]) -> Engines:
    try:
        return look.get()
    except TimeoutError:
        return Engines(fault=_("no answer within %(seconds)s s") % {"seconds": f"{PATIENCE_SECONDS:g}"})
    except (BindingError, KazooException, Unanswered, OSError) as error:
        return Engines(fault=explained(error))


def look() -> Engines:
    """Return the bindings, the epoch and the Gateways."""
    return _or_fault(_everything)


def look_at_gateways() -> Engines:
    """Return the epoch and the Gateways without the bindings, for callers that look several times a second."""
    return _or_fault(_gateways)


@dataclass(frozen=True, slots=True)
class Connected:
    """The clients that are connected through the Gateways: (AppID, client.id, cluster) → number of connections, and
    how many of these are parked; and the ids of the Gateways that did not answer.
    """

    connections: dict[tuple[str, str, str], int] = field(default_factory=dict)
    parked: dict[tuple[str, str, str], int] = field(default_factory=dict)
    silent: tuple[str, ...] = ()


def _look_at_connected() -> Connected:
    entries, silent = ask_each(_gateways.get().answering, "/connected", "connected")
    found = Connected(silent=tuple(silent))
    entry: Any
    for entry in entries:
        appid, client_id, cluster, connections, parked = entry
        who = (appid, client_id, cluster)
        found.connections[who] = found.connections.get(who, 0) + connections
        found.parked[who] = found.parked.get(who, 0) + parked
    return found


_connected_now = SharedLook(_look_at_connected, CONNECTED_SECONDS)


def look_at_connected() -> Connected:
    """Return the connected clients of all Gateways. Callers within :data:`CONNECTED_SECONDS` share one look.

    The result is empty while ZooKeeper does not answer.
    """
    try:
        return _connected_now.get(CONNECTED_PATIENCE_SECONDS)
    except TimeoutError:
        return Connected(silent=tuple(gateway.id for gateway in look_at_gateways().answering))
    except (BindingError, KazooException, Unanswered, OSError):
        return Connected()


def ask_each(
    gateways: Iterable[GatewayMember], path: str, key: str, **query: Any
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return (the entries under ``key`` in the answers of all Gateways, the ids of those that did not answer)."""
    found: list[dict[str, Any]] = []
    silent: list[str] = []
    for gateway in gateways:
        try:
            found.extend(ask(gateway, path, **query)[key])
        except (httpx.HTTPError, KeyError, ValueError) as error:
            log.warning("Gateway %s did not answer %s: %s", gateway.id, path, error)
            silent.append(gateway.id)
    return found, silent
