"""The uses of Topics and groups in a generated fleet. Pure, and the same for the same size and seed.

Its shape is that of large fleets. Most AppIDs have a client or two, a few have hundreds. Most Topics are used by one
AppID, some are read by many, very unevenly. AppIDs that read what others write are connected, so that half of the
fleet's AppIDs are one island.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Days of history.
DAYS = 30
#: The days ago on which the jobs may run, besides today, the first one first.
EARLIER_DAYS = tuple(range(DAYS - 1, 0, -1))

#: Clients of one AppID: the exponent of their (Zipf) distribution, and the most that one has.
CLIENTS_EXPONENT, MOST_CLIENTS = 2.0, 200
#: Share of clients that write; and Topics of its AppID that each client uses.
WRITERS, OWN_TOPICS_USED = 0.45, 2
#: Share of AppIDs that read shared Topics; shared Topics for each AppID; and the exponent of their popularity (as in
#: bulk.py: from a trial with real fleets).
SHARING_APPIDS, SHARED_TOPICS, SHARING = 0.5, 0.2, 1.1
#: Shared Topics that one AppID reads, at most.
MOST_SHARED = 5
#: Shares of AppIDs: those whose clients are registered (and the days over which that was done); those that are marked
#: critical; those whose clients get new names at each start; those with a client without a name; those of which one
#: client runs twice.
REGISTERED, REGISTERED_WITHIN, CRITICAL, CHANGING, NAMELESS, TWICE = 0.6, 60, 0.01, 0.02, 0.03, 0.02
#: Share of the AppIDs without shared Topics that have been switched to the second cluster.
SWITCHED = 0.12
#: Share of clients that are younger than the days of history, and of those that ended within the last week.
YOUNG, ENDED = 0.1, 0.03
#: Share of the AppIDs without shared Topics that have a mirror of their own, and their largest number; of the other
#: AppIDs, the share whose Topics are in common mirrors, and the AppIDs of one such mirror.
OWN_MIRROR, MOST_OWN_MIRRORS, TOGETHER, TOGETHER_APPIDS = 0.04, 1500, 0.6, 40

DOMAINS = (
    "payments", "orders", "ledger", "stock", "search", "pricing", "fraud", "delivery", "accounts", "ads", "catalogue",
    "billing", "returns", "loyalty", "risk", "notify", "media", "maps", "support", "tax",
)  # fmt: skip
PARTS = ("api", "writer", "sync", "stream", "index", "report", "gateway", "batch", "enrich", "audit")
OWNERS = (
    "Payments team",
    "Order team",
    "Core ledger",
    "Search and ads",
    "支付团队",
    "物流平台部",
    "Risk",
    "Data platform",
    "增长团队",
    "",
)
LIBRARIES = (
    ("apache-kafka-java", "3.9.0"),
    ("apache-kafka-java", "2.6.1"),
    ("librdkafka", "2.10.0"),
    ("kafka-python", "2.2.3"),
    ("sarama", "v1.46.3"),
)

#: The library of each of a hundred AppIDs, as an index of LIBRARIES: few have one with a known fault.
_LIBRARY_OF = (*[0] * 48, *[1] * 2, *[2] * 25, *[3] * 10, *[4] * 15)

#: Kinds of use; ``Fleet.kind`` has their indexes.
KINDS = ("produce", "consume", "group")
PRODUCE, CONSUME, GROUP = range(3)


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a fleet, and the seed of its random numbers: the same seed makes the same fleet."""

    appids: int = 10_000
    seed: int = 7


@dataclass(frozen=True)
class Side:
    """The pair's name and its clusters; the first is the default."""

    pair: str = "fleet"
    first: str = "fleet-east"
    second: str = "fleet-west"

    @property
    def clusters(self) -> tuple[str, str]:
        return self.first, self.second


class Fleet:
    """A generated fleet. AppIDs, clients, Topics and groups are numbers; ``…_names`` has their names.

    Uses are columns of equal length: ``appid``, ``client``, ``kind`` and ``resource`` (the number of a Topic or of a
    group), with the days ago on which each was first and last seen (``since``, ``until``).
    """

    def __init__(self, size: Size) -> None:
        self.size = size
        random = np.random.default_rng(size.seed)
        count = size.appids
        self.shares: Flags = random.random(count) < SHARING_APPIDS
        #: By AppID: 0 on the first cluster, 1 on the second.
        self.side: Numbers = ((random.random(count) < SWITCHED) & ~self.shares).astype(np.int64)
        self.critical: Flags = random.random(count) < CRITICAL
        self.changing: Flags = random.random(count) < CHANGING
        self.nameless: Flags = random.random(count) < NAMELESS
        self.twice: Flags = random.random(count) < TWICE
        #: By AppID, the days ago on which its clients were registered; -1 for never.
        registered = random.random(count) < REGISTERED
        self.registered: Numbers = np.where(
            registered & ~self.changing, random.integers(0, REGISTERED_WITHIN, count), -1
        )
        self.clients: Numbers = np.minimum(random.zipf(CLIENTS_EXPONENT, count), MOST_CLIENTS).astype(
            np.int64
        )
        #: By AppID, the number of its own Topics; those of AppID n begin at ``first_topic[n]``.
        self.topics: Numbers = 1 + np.minimum(self.clients, 4) + random.integers(0, 2, count)
        self.first_topic: Numbers = np.concatenate(([0], np.cumsum(self.topics)[:-1]))
        self.first_client: Numbers = np.concatenate(([0], np.cumsum(self.clients)[:-1]))
        self._add_uses(random)
        self._add_mirrors(random)

    # -- who uses what -----------------------------------------------------------------------------------------------

    def _add_uses(self, random: np.random.Generator) -> None:
        #: By client, its AppID.
        self.owner_of: Numbers = np.repeat(np.arange(self.size.appids), self.clients)
        owner = self.owner_of
        client = np.arange(len(owner))
        writes = random.random(len(owner)) < WRITERS
        uses = [
            _columns(owner, client, np.where(writes, PRODUCE, CONSUME), self._own_topic(random, owner))
            for _ in range(OWN_TOPICS_USED)
        ]
        reads = ~writes
        uses.append(_columns(owner[reads], client[reads], GROUP, owner[reads]))
        uses += self._shared(random)
        found = np.unique(np.concatenate(uses, axis=1), axis=1)
        self.appid, self.client, self.kind, self.resource = found
        # (All uses of a client begin and end at the same time.)
        count = len(owner)
        young = random.random(count) < YOUNG
        since = np.where(young, random.integers(0, DAYS, count), DAYS - 1)
        ended = (random.random(count) < ENDED) & (since > 6)
        until = np.where(ended, random.integers(1, 7, count), 0)
        self.since: Numbers = since[self.client]
        self.until: Numbers = until[self.client]

    def _own_topic(self, random: np.random.Generator, owner: Numbers) -> Numbers:
        return self.first_topic[owner] + random.integers(0, self.topics[owner])

    def _shared(self, random: np.random.Generator) -> list[NDArray[np.int64]]:
        """The uses of shared Topics: the first client of each sharing AppID reads some; each Topic has one writer."""
        sharing = np.flatnonzero(self.shares)
        count = max(4, int(self.size.appids * SHARED_TOPICS))
        weights = 1.0 / np.arange(1, count + 1) ** SHARING
        times = np.minimum(random.geometric(0.5, len(sharing)), MOST_SHARED)
        reader = np.repeat(sharing, times)
        first_shared = int(self.topics.sum())
        read = first_shared + random.choice(count, len(reader), p=weights / weights.sum())
        writer = random.choice(sharing, count) if len(sharing) else np.empty(0, np.int64)
        written = first_shared + np.arange(len(writer))
        return [
            _columns(reader, self.first_client[reader], CONSUME, read),
            _columns(reader, self.first_client[reader], GROUP, reader),
            _columns(writer, self.first_client[writer], PRODUCE, written),
        ]

    # -- names ---------------------------------------------------------------------------------------------------------

    @cached_property
    def appid_names(self) -> list[str]:
        return [
            f"{DOMAINS[n * 7 % len(DOMAINS)]}-{PARTS[n // 3 % len(PARTS)]}-{n:06d}"
            for n in range(self.size.appids)
        ]

    @cached_property
    def appid_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.appid_names)}

    @cached_property
    def client_names(self) -> list[str]:
        """By client, its client.id."""
        found = []
        for appid, name in enumerate(self.appid_names):
            for number in range(int(self.clients[appid])):
                if self.nameless[appid] and number == 0:
                    found.append("")
                elif self.changing[appid]:
                    found.append(f"{name}-{_hash(appid * 1009 + number):016x}")
                else:
                    found.append(f"{name}-{number + 1}")
        return found

    @cached_property
    def topic_names(self) -> list[str]:
        found = [
            f"{name}.{PARTS[number % len(PARTS)]}.{number}"
            for appid, name in enumerate(self.appid_names)
            for number in range(int(self.topics[appid]))
        ]
        shared = max(4, int(self.size.appids * SHARED_TOPICS))
        return [*found, *(f"shared.{DOMAINS[n % len(DOMAINS)]}.{n:05d}" for n in range(shared))]

    @cached_property
    def group_names(self) -> list[str]:
        return [f"{name}.readers" for name in self.appid_names]

    def owner(self, appid: int) -> str:
        return OWNERS[appid * 3 % len(OWNERS)]

    # -- mirrors -------------------------------------------------------------------------------------------------------

    def _add_mirrors(self, random: np.random.Generator) -> None:
        alone = np.flatnonzero(~self.shares)
        own = alone[random.random(len(alone)) < OWN_MIRROR][:MOST_OWN_MIRRORS]
        rest = np.setdiff1d(np.arange(self.size.appids), own)
        together = rest[random.random(len(rest)) < TOGETHER]
        #: By name: the numbers of the mirror's Topics, and the side (0 or 1) of its source.
        self.mirrors: dict[str, tuple[Numbers, int]] = {}
        for appid in own:
            self.mirrors[f"m-{appid:06d}"] = self._topics_of(np.array([appid])), int(self.side[appid])
        for side in (0, 1):
            of_side = together[self.side[together] == side]
            for number, at in enumerate(range(0, len(of_side), TOGETHER_APPIDS)):
                topics = self._topics_of(of_side[at : at + TOGETHER_APPIDS])
                self.mirrors[f"many-{side}-{number:04d}"] = topics, side

    def _topics_of(self, appids: Numbers) -> Numbers:
        return np.concatenate(
            [np.arange(self.first_topic[n], self.first_topic[n] + self.topics[n]) for n in appids]
        )

    # -- what can be asked of it ---------------------------------------------------------------------------------------

    def seen_on(self, age: int) -> Flags:
        """By use, whether it was seen ``age`` days ago."""
        return (self.since >= age) & (self.until <= age)

    def is_registered(self, age: int) -> Flags:
        """By AppID, whether its clients were registered ``age`` days ago or earlier."""
        return self.registered >= age

    def uses_of(self, appid: int) -> range:
        """The places of an AppID's uses. (They are sorted by AppID.)"""
        return range(*np.searchsorted(self.appid, [appid, appid + 1]))

    def table(self, names: Side, chosen: Flags | None = None) -> pa.Table:
        """The uses (or the ``chosen`` ones) as texts.

        Columns: pair, appid, client_id, kind, resource, cluster, host, library, version.
        """
        index = np.flatnonzero(chosen) if chosen is not None else np.arange(len(self.appid))
        appid, client, kind = self.appid[index], self.client[index], self.kind[index]
        resource = np.where(kind == GROUP, len(self.topic_names) + self.resource[index], self.resource[index])
        library = np.array(_LIBRARY_OF)[(appid * 7) % len(_LIBRARY_OF)]
        host = (client * 13 + appid) % 60_000
        return pa.table(
            {
                "pair": _of([names.pair], np.zeros(len(index), np.int64)),
                "appid": _of(self.appid_names, appid),
                "client_id": _of(self.client_names, client),
                "kind": _of(list(KINDS), kind),
                "resource": _of([*self.topic_names, *self.group_names], resource),
                "cluster": _of(list(names.clusters), self.side[appid]),
                "host": _of([f"10.{n // 250 % 250}.{n % 250}.7" for n in range(60_000)], host),
                "library": _of([name for name, _ in LIBRARIES], library),
                "version": _of([version for _, version in LIBRARIES], library),
            }
        )


def _columns(appid: Numbers, client: Numbers, kind: Any, resource: Numbers) -> NDArray[np.int64]:
    kinds = np.broadcast_to(np.asarray(kind, np.int64), appid.shape)
    return np.stack([appid, client, kinds, resource]).astype(np.int64)


def _of(names: list[str], codes: Numbers) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names)).cast(pa.string())


def _hash(number: int) -> int:
    """A hash of a number, for random-looking names, like those that are generated at each start."""
    return (number * 0x9E3779B97F4A7C15) % 2**64
