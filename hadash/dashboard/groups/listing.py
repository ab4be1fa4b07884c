"""All groups of some clusters, as the newest snapshot has them: a cluster is not asked for thousands of groups because somebody looks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings

from hadash.lake import snapshots
from hadash.lake.snapshots import Snapshot
from hadash.lake.store import LakeError, Store


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group. ``partitions``: how many are assigned; ``fewest`` and ``most``: what a member has (``None`` without members)."""

    cluster: str
    group: str
    state: str
    assignor: str
    members: int
    hosts: int
    topics: int
    partitions: int
    fewest: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    """``at``: when the snapshot was taken; ``None`` when there is none yet. ``fault``: why none can be read."""

    rows: tuple[GroupRow, ...] = ()
    at: datetime | None = None
    fault: str = ""


def listing(clusters: Container[str]) -> Listing:
    """The groups of some clusters, by cluster and name. Without groups of hadash's own making: MirrorMaker and Connect have none."""
    if not settings.LAKE:
        return Listing()
    try:
        newest = snapshots.newest(Store(settings.LAKE))
        if newest is None:
            return Listing()
        rows = _rows(settings.LAKE, newest)
    except (LakeError, OSError) as error:
        return Listing(fault=str(error))
    return Listing(tuple(row for row in rows if row.cluster in clusters), newest.at)


@lru_cache(maxsize=2)
def _rows(lake: str, snapshot: Snapshot) -> tuple[GroupRow, ...]:
    """(A snapshot never changes.)"""
    store = Store(lake)
    members: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for member in snapshots.read(store, snapshot, "members").to_pylist():
        members[member["cluster"], member["group"]].append(member)
    groups = snapshots.read(store, snapshot, "groups").to_pylist()
    return tuple(
        sorted(
            (_row(group, members[group["cluster"], group["group"]]) for group in groups),
            key=lambda row: (row.cluster, row.group),
        )
    )


def _row(group: dict[str, Any], members: list[dict[str, Any]]) -> GroupRow:
    sizes = [len(member["partitions"] or ()) for member in members]
    topics = {
        partition.rpartition("-")[0] for member in members for partition in member["partitions"] or ()
    } | {topic for member in members for topic in member["topics"] or ()}
    return GroupRow(
        group["cluster"],
        group["group"],
        group["state"],
        group["protocol"] or "",
        len(members),
        len({member["host"] for member in members}),
        len(topics),
        sum(sizes),
        min(sizes, default=None),
        max(sizes, default=None),
    )
