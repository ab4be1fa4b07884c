"""The newest snapshot of one cluster: its brokers, problems of its partitions, and its differences from its twin.

It is read from the lake: a page view must not ask a cluster for thousands of Topics.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings

from hadash.inventory.cluster_differences import Differing, differing_of
from hadash.inventory.cluster_states import DEFAULT_MIN_ISR, is_leaderless, is_under_replicated, min_isr_of
from hadash.lake import snapshots
from hadash.lake.snapshots import Snapshot
from hadash.lake.store import LakeError, Store
from hadash.sentences import NOTHING, Sentence, read_back, said_by

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """A broker. ``leads`` and ``holds``: numbers of partitions; ``missing``: its replicas that are not in sync."""

    id: int
    address: str
    rack: str
    leads: int
    holds: int
    missing: int
    is_controller: bool


@dataclass(frozen=True, slots=True)
class Trouble:
    """A Topic with unhealthy partitions. ``asked``: how many replicas have to be in sync for ``acks=all``."""

    topic: str
    partitions: int
    leaderless: int
    under_replicated: int
    under_min_isr: int
    asked: int


@dataclass(frozen=True)
class ClusterSurvey:
    """A cluster in the newest snapshot.

    :param at: when the snapshot was taken; ``None`` when there is none, or it lacks this cluster (``fault`` says why).
    """

    at: datetime | None = None
    fault: Sentence = NOTHING
    mode: str = ""
    version: str = ""
    controller: int | None = None
    controller_epoch: int | None = None
    brokers: list[BrokerRow] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    differing: list[Differing] = field(default_factory=list)
    topics: int = 0
    partitions: int = 0


def survey_of(cluster: str, twin: str) -> ClusterSurvey:
    """Return a cluster as the newest snapshot has it.

    :param twin: the other cluster of its pair; empty for none.
    """
    if not settings.LAKE:
        return ClusterSurvey()
    try:
        newest = snapshots.newest(Store(settings.LAKE))
        return _read(settings.LAKE, newest, cluster, twin) if newest else ClusterSurvey()
    except (LakeError, OSError) as error:
        return ClusterSurvey(fault=said_by(error))


@lru_cache(maxsize=8)
def _read(lake: str, snapshot: Snapshot, cluster: str, twin: str) -> ClusterSurvey:
    """Read a cluster from a snapshot. Cached: a snapshot never changes."""
    store = Store(lake)

    def rows(table: str, *of: str) -> list[Row]:
        found = snapshots.read(store, snapshot, table)
        mine = pc.is_in(found["cluster"], value_set=pa.array(of))
        return list(found.filter(mine).to_pylist())

    [own] = rows("clusters", cluster) or [{"fault": "", "mode": None}]
    if own["mode"] is None:
        return ClusterSurvey(fault=read_back(own["fault"]))
    partitions = rows("partitions", cluster)
    brokers, topics = rows("brokers", cluster, twin), rows("topics", cluster, twin)
    here = [row for row in brokers if row["cluster"] == cluster]
    asked = min_isr_of(cluster, topics, here)
    return ClusterSurvey(
        snapshot.at,
        NOTHING,
        own["mode"],
        own["version"] or "",
        own["controller"],
        own["controller_epoch"],
        brokers_of(here, partitions, own["controller"]),
        troubles_of(partitions, asked),
        differing_of(cluster, twin, topics, brokers) if twin else [],
        len({row["topic"] for row in partitions}),
        len(partitions),
    )


def brokers_of(brokers: Iterable[Row], partitions: Sequence[Row], controller: int | None) -> list[BrokerRow]:
    """Return the brokers that the cluster reports, and those that it no longer reports but that have replicas."""
    leads = Counter(row["leader"] for row in partitions)
    holds = Counter(broker for row in partitions for broker in row["replicas"])
    missing = Counter(broker for row in partitions for broker in set(row["replicas"]) - set(row["in_sync"]))
    known = {row["broker"]: row for row in brokers}
    return [
        BrokerRow(
            number,
            f"{known[number]['host']}:{known[number]['port']}" if number in known else "",
            (known[number]["rack"] or "") if number in known else "",
            leads[number],
            holds[number],
            missing[number],
            number == controller,
        )
        for number in sorted({*known, *holds})
    ]


def troubles_of(partitions: Iterable[Row], asked: Mapping[str, int]) -> list[Trouble]:
    """Return the Topics with unhealthy partitions, the worst first: without a leader, then with too few replicas in
    sync for ``acks=all``, then with any replica not in sync.
    """
    by_topic: dict[str, list[Row]] = defaultdict(list)
    for row in partitions:
        by_topic[row["topic"]].append(row)
    found = []
    for topic, own in by_topic.items():
        needed = asked.get(topic, DEFAULT_MIN_ISR)
        trouble = Trouble(
            topic,
            len(own),
            sum(map(is_leaderless, own)),
            sum(map(is_under_replicated, own)),
            sum(len(row["in_sync"]) < needed for row in own),
            needed,
        )
        if trouble.leaderless or trouble.under_replicated or trouble.under_min_isr:
            found.append(trouble)
    return sorted(found, key=lambda t: (-t.leaderless, -t.under_min_isr, -t.under_replicated, t.topic))
