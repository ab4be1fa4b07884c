"""All groups of some clusters, from the newest snapshot: a page view must not ask a cluster for thousands of groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings

from hadash.lake import snapshots
from hadash.lake.snapshots import Snapshot
from hadash.lake.store import LakeError, Store


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group. ``topics``: that its members subscribe to or have; ``partitions``: how many are assigned; ``fewest``
    and ``most``: partitions of one member, ``None`` without members. All four are ``None`` while it rebalances: until
    its members have synced, a broker tells nothing of them.
    """

    cluster: str
    group: str
    state: str
    assignor: str
    members: int
    hosts: int
    topics: int | None
    partitions: int | None
    fewest: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The groups. ``at``: when the snapshot was taken; ``None`` when there is none. ``fault``: why it is unreadable."""

    rows: tuple[GroupRow, ...] = ()
    at: datetime | None = None
    fault: str = ""


def listing(clusters: Container[str]) -> Listing:
    """Return the groups of some clusters, by cluster and name. None of them is hadash's own: MirrorMaker and Connect
    have none.
    """
    if not settings.LAKE:
        return Listing()
    try:
        newest = snapshots.newest(Store(settings.LAKE))
        if newest is None:
            return Listing()
        rows = _rows(settings.LAKE, newest)
    except (LakeError, OSError) as error:
        return Listing(fault=str(error))
    own = [rows for cluster, rows in sorted(rows.items()) if cluster in clusters]
    return Listing(tuple(chain.from_iterable(own)), newest.at)


def named(clusters: Iterable[str], text: str) -> list[tuple[str, str]]:
    """Return (cluster, group) of the groups of some clusters whose name contains a text, in any case; none while no
    snapshot can be read. (A large pair has a hundred thousand groups: Arrow looks through them.)
    """
    if not settings.LAKE:
        return []
    try:
        newest = snapshots.newest(Store(settings.LAKE))
        if newest is None:
            return []
        names = _names(settings.LAKE, newest)
    except (LakeError, OSError):
        return []
    fits = pc.and_(
        pc.is_in(names["cluster"], pa.array(list(clusters), pa.string())),
        pc.match_substring(names["group"], text, ignore_case=True),
    )
    found = names.filter(fits)
    return list(zip(found["cluster"].to_pylist(), found["group"].to_pylist(), strict=True))


@lru_cache(maxsize=2)
def _names(lake: str, snapshot: Snapshot) -> pa.Table:
    """Return the columns ``cluster`` and ``group`` of a snapshot's groups. Cached: a snapshot never changes."""
    return snapshots.read(Store(lake), snapshot, "groups").select(["cluster", "group"])


@lru_cache(maxsize=2)
def _rows(lake: str, snapshot: Snapshot) -> Mapping[str, Sequence[GroupRow]]:
    """Return the groups of a snapshot by cluster. Cached: a snapshot never changes."""
    store = Store(lake)
    groups = snapshots.read(store, snapshot, "groups")
    found: dict[str, list[GroupRow]] = defaultdict(list)
    for row in rows_of(groups, snapshots.read(store, snapshot, "members")):
        found[row.cluster].append(row)
    return found


def rows_of(groups: pa.Table, members: pa.Table) -> tuple[GroupRow, ...]:
    """Return the groups of a snapshot by cluster and name, each with the sums over its members. (A large pair has a
    hundred thousand members: they are summed within Arrow's tables.)
    """
    counted = _counted(members)
    found = []
    for row in groups.to_pylist():
        counts = counted.get((row["cluster"], row["group"]), (0, 0, 0, 0, None, None))
        if row["state"] in _REBALANCING:
            counts = (*counts[:2], None, None, None, None)
        found.append(GroupRow(row["cluster"], row["group"], row["state"], row["protocol"] or "", *counts))
    return tuple(sorted(found, key=lambda row: (row.cluster, row.group)))


#: The states of a classic group in which a broker describes its members without what they subscribe to or have.
_REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance"})

#: (members, hosts, Topics, partitions of a group, fewest and most partitions of one member).
_Counts = tuple[int, int, int | None, int | None, int | None, int | None]

_KEY = ["cluster", "group"]


def _counted(members: pa.Table) -> dict[tuple[str, str], _Counts]:
    if not members.num_rows:
        return {}
    members = members.combine_chunks()
    sizes = pc.fill_null(pc.list_value_length(members["partitions"]), 0)
    sums = (
        members.select([*_KEY, "host"])
        .append_column("size", sizes)
        .group_by(_KEY)
        .aggregate(
            [("size", "count"), ("host", "count_distinct"), ("size", "sum"), ("size", "min"), ("size", "max")]
        )
    )
    assigned = _flat(members, "partitions")
    assigned = assigned.set_column(
        2, "topic", pc.replace_substring_regex(assigned["topic"], pattern="-[^-]*$", replacement="")
    )
    topics = (
        pa.concat_tables([assigned, _flat(members, "topics")])
        .group_by(_KEY)
        .aggregate([("topic", "count_distinct")])
    )
    of_topics = {(row["cluster"], row["group"]): row["topic_count_distinct"] for row in topics.to_pylist()}
    return {
        (row["cluster"], row["group"]): (
            row["size_count"],
            row["host_count_distinct"],
            of_topics.get((row["cluster"], row["group"]), 0),
            row["size_sum"],
            row["size_min"],
            row["size_max"],
        )
        for row in sums.to_pylist()
    }


def _flat(members: pa.Table, column: str) -> pa.Table:
    """Return a table of cluster, group and topic, with a row for each entry of a list column."""
    lists = (
        members[column].combine_chunks() if isinstance(members[column], pa.ChunkedArray) else members[column]
    )
    places = pc.list_parent_indices(lists)
    return pa.table(
        {
            "cluster": members["cluster"].take(places),
            "group": members["group"].take(places),
            "topic": pc.list_flatten(lists),
        }
    )
