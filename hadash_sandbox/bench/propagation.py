"""Follows changes of bindings in ZooKeeper: their sizes, and when each Gateway had put them into effect.

Times of transactions and of Gateways' reports are those of the ZooKeeper server, so that no watcher's delay is in them.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.epochs import Report
from hadash.bindings.membership import members
from hadash.bindings.model import GatewayMember


@dataclass(frozen=True, slots=True)
class Change:
    """One transaction; ``at`` is in seconds since 1970, to a millisecond."""

    epoch: int
    at: float
    #: Bytes of the documents, the epoch and the change node; 0 if a document was written again before its size was
    #: read. The journal adds some eighty.
    size: int


class Changes:
    """Follows all changes from its creation on, with a connected client."""

    def __init__(self, client: KazooClient) -> None:
        self._client = client
        self._changes: list[Change] = []
        #: By Gateway, its reports with their times (seconds since 1970), in order.
        self._reports: dict[str, list[tuple[Report, float]]] = {}
        self._lock = threading.Lock()
        self._seen = set(client.get_children(layout.CHANGES))
        client.ChildrenWatch(layout.CHANGES)(self._look)
        for gateway in members(client):
            self._follow(gateway)

    def between(self, began: float, ended: float) -> list[Change]:
        """The changes between two times (seconds since 1970), oldest first."""
        with self._lock:
            found = [change for change in self._changes if began <= change.at <= ended]
        return sorted(found, key=lambda change: change.epoch)

    def applied(self, change: Change) -> dict[str, float]:
        """By Gateway, the seconds from the transaction to its report that the change's epoch is in effect."""
        found = {}
        with self._lock:
            for gateway, reports in sorted(self._reports.items()):
                at = next((at for report, at in reports if report.has(change.epoch)), None)
                if at is not None:
                    found[gateway] = max(at - change.at, 0.0)
        return found

    # -- in kazoo's threads --------------------------------------------------------------------------------------

    def _look(self, children: list[str]) -> None:
        for child in sorted(set(children) - self._seen):
            self._seen.add(child)
            try:
                data, stat = self._client.get(f"{layout.CHANGES}/{child}")
            except NoNodeError:
                continue  # already trimmed
            value = json.loads(data)
            size = self._size_of(value["appids"], stat.czxid)
            change = Change(int(value["epoch"]), stat.ctime / 1000, size + len(data) if size else 0)
            with self._lock:
                self._changes.append(change)

    def _size_of(self, appids: list[str], transaction: int) -> int:
        """Bytes of the documents and the epoch; 0 if one of them is not of this transaction."""
        size = 0
        for path in (layout.EPOCH, *(layout.binding(appid) for appid in appids)):
            stat = self._client.exists(path)
            if stat is None or stat.mzxid != transaction:
                return 0
            size += stat.dataLength
        return size

    def _follow(self, gateway: GatewayMember) -> None:
        def reported(data: bytes | None, stat: Any) -> None:
            if data is not None:
                with self._lock:
                    self._reports.setdefault(gateway.id, []).append(
                        (Report.from_bytes(data), stat.mtime / 1000)
                    )

        self._client.DataWatch(layout.gateway_applied(gateway.id, gateway.incarnation))(reported)
