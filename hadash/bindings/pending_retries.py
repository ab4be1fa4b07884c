"""Gateway processes that are gone while their clients can still come back.

A client that was cut off before it had all its answers sends the requests again, and must reach the cluster that may
already have their records. A running Gateway knows such clients itself (:mod:`hadash.gateway.rules.pending_retries`).
When it goes, its knowledge is written to ``/returning/<incarnation>`` for as long as they may come, and no switch
moves them before that time is over. Time is measured by ZooKeeper's clock alone: the node's mtime against that of a
node that is written now. (Each leader of an ensemble stamps with its own clock, so the ensemble's clocks have to agree
to a few seconds, as NTP keeps them.)
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import BadVersionError, NoNodeError

from hadash.bindings import layout
from hadash.identity.names import decode

#: Seconds within which a client comes back if its Gateway has not reported another time: the default of
#: ``return_seconds`` in :mod:`hadash.gateway.settings`, which gives the reason.
RETURN_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Departure:
    """A Gateway process that is gone: which clients may come back, and for how long after the node was written.

    >>> Departure("gw-1", 30.0).concerns(["shop"], "east")
    True
    >>> known = Departure("gw-1", 30.0, {"shop": ("east",)})
    >>> known.concerns(["shop"], "east"), known.concerns(["shop"], "west"), known.concerns(["billing"], "east")
    (True, False, False)
    """

    gateway: str
    seconds: float
    #: By AppID, the clusters that may already have its writes; ``None`` when that is unknown: it may be any AppID's.
    appids: Mapping[str, tuple[str, ...]] | None = None

    def concerns(self, appids: Collection[str], cluster: str) -> bool:
        """Whether clients of one of ``appids`` may send again what ``cluster`` already has."""
        return self.appids is None or any(cluster in self.appids.get(appid, ()) for appid in appids)

    def to_bytes(self) -> bytes:
        return json.dumps({"gateway": self.gateway, "seconds": self.seconds, "appids": self.appids}).encode()

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Departure:
        """Return the departure; for data that cannot be read, one of all clients of a Gateway called ``name``.

        >>> Departure.from_bytes(Departure("gw-1", 12.5, {"shop": ("east",)}).to_bytes(), "?")
        Departure(gateway='gw-1', seconds=12.5, appids={'shop': ('east',)})
        >>> Departure.from_bytes(b"soon", "4f2a")
        Departure(gateway='4f2a', seconds=30.0, appids=None)
        """
        try:
            value = json.loads(data)
            appids = value["appids"]
            if appids is not None:
                appids = {str(appid): tuple(map(str, clusters)) for appid, clusters in appids.items()}
            seconds = float(value["seconds"])
            if math.isfinite(seconds):
                return cls(str(value["gateway"]), seconds, appids)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            pass
        return cls(name, RETURN_SECONDS)


@dataclass(frozen=True, slots=True)
class ExpectedBack:
    """Clients of a Gateway that is gone may come back for ``seconds`` more."""

    gateway: str
    seconds: float


def note_departure(
    client: KazooClient, transaction: TransactionRequest, incarnation: str, departure: Departure
) -> None:
    """Add to ``transaction`` the note of a process that leaves or is gone. Its time begins when the transaction is
    committed."""
    path, data = layout.returning(incarnation), departure.to_bytes()
    if client.exists(path) is None:
        transaction.create(path, data)
    else:
        transaction.set_data(path, data)


def expected_back(client: KazooClient, appids: Collection[str], cluster: str) -> list[ExpectedBack]:
    """Return the departures whose clients, of one of ``appids``, may still send again what ``cluster`` already has.

    Expired nodes are removed on the way.
    """
    return [
        ExpectedBack(departure.gateway, left)
        for departure, left in _expected(client)
        if departure.concerns(appids, cluster)
    ]


def remove_expired(client: KazooClient) -> None:
    """Remove expired nodes: Gateways come and go also in an installation where no switch runs."""
    for _ in _expected(client):
        pass


def _expected(client: KazooClient) -> Iterator[tuple[Departure, float]]:
    """Yield each departure whose clients may still come back, and for how many seconds; remove the expired ones."""
    now = client.set(layout.CLOCK, b"").mtime
    for child in client.get_children(layout.RETURNING):
        path = f"{layout.RETURNING}/{child}"
        try:
            data, stat = client.get(path)
            departure = Departure.from_bytes(data, decode(child))
            left = departure.seconds - max(now - stat.mtime, 0) / 1000
            if left <= 0:
                client.delete(path, version=stat.version)
                continue
        except NoNodeError:
            continue  # another process has removed it
        except BadVersionError:  # written again just now: its time starts again
            left = departure.seconds
        yield departure, left
