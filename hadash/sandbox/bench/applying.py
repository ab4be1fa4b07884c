"""What ZooKeeper saw of changes of bindings: how large each was, and when each Gateway had put it into effect.

Times are the ZooKeeper server's own, of the transaction and of each Gateway's report: no watcher's delay is in them.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any, Self

from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import connect
from hadash.bindings.membership import members


@dataclass
class Change:
    """One transaction. Times in seconds since 1970, to a millisecond."""

    epoch: int
    at: float
    #: Bytes of everything that it wrote: documents, epoch, change node; 0 if a document was written again before it
    #: could be looked at. The journal adds some eighty.
    size: int
    #: By Gateway: when it reported this epoch (or a later one).
    applied: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> dict[str, float]:
        """By Gateway: from the transaction until it was in effect there."""
        return {gateway: max(at - self.at, 0.0) for gateway, at in sorted(self.applied.items())}


class Changes:
    """Follows all changes from ``with`` on, in a session of its own."""

    def __init__(self, hosts: str) -> None:
        self._client = connect(hosts)
        self._changes: dict[int, Change] = {}
        self._lock = threading.Lock()
        self._seen: set[str] = set()

    def __enter__(self) -> Self:
        client = self._client
        self._seen = set(client.get_children(layout.CHANGES))
        client.ChildrenWatch(layout.CHANGES)(self._look)
        for gateway in members(client):
            self._follow(gateway.id)
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.stop()
        self._client.close()

    def between(self, began: float, ended: float) -> list[Change]:
        """Those of a time, oldest first."""
        with self._lock:
            return sorted(
                (c for c in self._changes.values() if began <= c.at <= ended), key=lambda c: c.epoch
            )

    # -- in kazoo's threads ---------------------------------------------------------------------------------------

    def _look(self, children: list[str]) -> None:
        for child in sorted(set(children) - self._seen):
            self._seen.add(child)
            try:
                data, stat = self._client.get(f"{layout.CHANGES}/{child}")
            except NoNodeError:
                continue  # trimmed
            value = json.loads(data)
            size = len(data) + self._size_of(value["appids"], stat.czxid)
            with self._lock:
                self._of(int(value["epoch"])).at = stat.ctime / 1000
                self._of(int(value["epoch"])).size = size

    def _size_of(self, appids: list[str], transaction: int) -> int:
        """Bytes of the documents and the epoch, all of one transaction."""
        size = 0
        for path in (layout.EPOCH, *(layout.binding(appid) for appid in appids)):
            stat = self._client.exists(path)
            if stat is None or stat.mzxid != transaction:
                return 0
            size += stat.dataLength
        return size

    def _follow(self, gateway: str) -> None:
        def reported(data: bytes | None, stat: Any) -> None:
            if data is None:
                return
            epoch, at = int(json.loads(data)["epoch"]), stat.mtime / 1000
            with self._lock:
                known = [change for change in self._changes.values() if change.epoch <= epoch]
                for change in (*known, self._of(epoch)):
                    change.applied.setdefault(gateway, at)

        self._client.DataWatch(layout.gateway_applied(gateway))(reported)

    def _of(self, epoch: int) -> Change:
        return self._changes.setdefault(epoch, Change(epoch, 0.0, 0))
