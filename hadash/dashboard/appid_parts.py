"""Everything about one AppID: its Topics with their mirrors, its groups, its rights on both clusters, what would
move with it, and its findings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow.compute as pc
from django.conf import settings

from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.graph.focusing import flows_of
from hadash.dashboard.graph.nodes import Focus
from hadash.dashboard.graph.surroundings import surroundings_of
from hadash.dashboard.groups.listing import GroupRow, listing
from hadash.dashboard.groups.live import look_at
from hadash.dashboard.owner_mails import addressed
from hadash.governance import selectors
from hadash.governance.models.findings import Finding
from hadash.governance.models.published import Node, SharedBy
from hadash.governance.models.runs import Run
from hadash.inventory.models import Access, AppID
from hadash.inventory.selectors import access_since
from hadash.kafka.errors import KafkaError
from hadash.lake import snapshots
from hadash.lake.snapshots import Snapshot
from hadash.lake.store import LakeError, Store
from hadash.mirroring.models import Mirror
from hadash.presentation import badges
from hadash.presentation.badges import State
from hadash.presentation.localized import explained
from hadash.presentation.uncovered import Uncovered, rows_of, with_clients
from hadash.radius.nodes import APPID, GROUP

#: Most findings on the page; the page of all risks has the others.
MOST_FINDINGS = 10

#: Most groups that their clusters are asked about for the page; each takes some milliseconds.
MOST_LAGS = 10


@dataclass(frozen=True, slots=True)
class TopicUse:
    """A Topic that the AppID uses. ``kinds``: produce, consume. ``mirror``: the mirror that copies it; ``None`` for
    none.
    """

    topic: str
    kinds: tuple[str, ...]
    clients: int
    mirror: Mirror | None
    state: State | None


@dataclass(frozen=True, slots=True)
class GroupUse:
    """A group that the AppID's clients are in. ``rows``: the group on each cluster, as the newest snapshot has it;
    empty when it has none of that name.
    """

    group: str
    clients: int
    rows: tuple[GroupRow, ...]


@dataclass(frozen=True, slots=True)
class Right:
    """A rule (ACL) about the AppID. ``first`` and ``second``: whether that cluster of the pair has it."""

    resource_type: str
    resource: str
    pattern: str
    operation: str
    permission: str
    first: bool
    second: bool
    #: The host that the rule is for; ``*`` for all hosts.
    host: str = "*"

    @property
    def is_prefix(self) -> bool:
        return self.pattern == "PREFIXED"

    @property
    def denies(self) -> bool:
        return self.permission == "DENY"


@dataclass(frozen=True)
class Rights:
    """The rules about an AppID. ``known``: for each cluster, whether the newest snapshot has its rules. ``at``: the
    time of that snapshot; ``None`` for none. ``is_readable``: whether the snapshots could be read.
    """

    rows: list[Right]
    known: tuple[bool, bool]
    at: Any = None
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Moving:
    """What would move with an AppID: the most things that move together with one of its clients, and with all of it."""

    by_instance: int
    by_appid: int


def uses_of(found: AppID) -> tuple[list[TopicUse], list[GroupUse]]:
    """Return what the AppID's clients were seen to use lately. Three queries."""
    kinds: dict[str, set[str]] = defaultdict(set)
    clients: dict[tuple[str, str], set[str]] = defaultdict(set)
    seen = Access.objects.filter(pair=found.pair_id, appid=found.name, last_seen__gte=access_since())
    for client, kind, resource in seen.order_by().values_list("client_id", "kind", "resource").distinct():
        if kind != GROUP:
            kinds[resource].add(kind)
        clients["group" if kind == GROUP else "topic", resource].add(client)
    used = [name for kind, name in clients if kind == "topic"]
    carrying = Mirror.objects.filter(pair=found.pair_id, topics__has_any_keys=used)
    mirrors = {
        topic: mirror
        for mirror in carrying.select_related("source", "pair__first", "pair__second")
        for topic in mirror.topics
    }
    topics = [
        TopicUse(
            topic,
            tuple(sorted(kinds[topic])),
            len(clients["topic", topic]),
            mirrors.get(topic),
            badges.of_mirror(mirrors[topic]) if topic in mirrors else None,
        )
        for kind, topic in sorted(clients)
        if kind == "topic"
    ]
    names = {name for kind, name in clients if kind == "group"}
    rows: dict[str, list[GroupRow]] = defaultdict(list)
    if names:
        for row in listing({cluster.name for cluster in found.pair.clusters}).rows:
            if row.group in names:
                rows[row.group].append(row)
    groups = [GroupUse(name, len(clients["group", name]), tuple(rows[name])) for name in sorted(names)]
    return topics, groups


@dataclass(frozen=True, slots=True)
class GroupLag:
    """How far a group is behind on one cluster. ``records``: ``None`` when it is unknown for a partition. ``fault``:
    why nothing is known; empty otherwise.
    """

    group: str
    cluster: str
    members: int
    records: int | None
    fault: str = ""


def lags_of(found: AppID) -> tuple[list[GroupLag], int]:
    """Return (the lags of the AppID's groups, as their clusters report them now; how many groups are left out).

    A cluster that does not answer is asked only once.
    """
    _topics, groups = uses_of(found)
    known = [(use.group, row.cluster) for use in groups for row in use.rows]
    clusters = {cluster.name: cluster for cluster in found.pair.clusters}
    away: dict[str, str] = {}
    lags = []
    for group, name in known[:MOST_LAGS]:
        if name in away:
            lags.append(GroupLag(group, name, 0, None, away[name]))
            continue
        try:
            look = look_at(clusters[name], group)
        except KafkaError as error:
            away[name] = explained(error)
            lags.append(GroupLag(group, name, 0, None, away[name]))
        else:
            if look is not None:
                lags.append(GroupLag(group, name, len(look.info.members), look.total))
    return lags, max(0, len(known) - MOST_LAGS)


def rights_of(found: AppID) -> Rights:
    """Return the rules that name the AppID on both clusters, as the newest snapshot has them."""
    if not settings.LAKE:
        return Rights([], (False, False))
    try:
        newest = snapshots.newest(Store(settings.LAKE))
        if newest is None:
            return Rights([], (False, False))
        rows, known = _rules(settings.LAKE, newest, found.name)
    except (LakeError, OSError):
        return Rights([], (False, False), is_readable=False)
    first, second = (cluster.name for cluster in found.pair.clusters)
    return Rights(compared(rows, first, second), (first in known, second in known), newest.at)


@lru_cache(maxsize=64)
def _rules(lake: str, snapshot: Snapshot, appid: str) -> tuple[list[Mapping[str, Any]], frozenset[str]]:
    """Return (the rules about an AppID, the clusters whose rules are known). Cached: a snapshot never changes."""
    store = Store(lake)
    clusters = snapshots.read(store, snapshot, "clusters").to_pylist()
    acls = snapshots.read(store, snapshot, "acls")
    own = acls.filter(pc.equal(acls["principal"], f"User:{appid}")).to_pylist()
    return own, frozenset(row["cluster"] for row in clusters if not row["fault"] and row["authorizer"])


def compared(rows: Iterable[Mapping[str, Any]], first: str, second: str) -> list[Right]:
    """Return one row per rule with the clusters that have it; the same rule for another host is a rule of its own.
    Rules that only one cluster has come first. hadash's own rules are left out.
    """
    has: dict[tuple[str, str, str, str, str, str], set[str]] = defaultdict(set)
    for row in rows:
        if not row["by_hadash"]:
            key = (
                row["resource_type"], row["resource"], row["pattern"], row["operation"], row["permission"], row["host"],
            )  # fmt: skip
            has[key].add(row["cluster"])
    found = [
        Right(kind, resource, pattern, operation, permission, first in clusters, second in clusters, host)
        for (kind, resource, pattern, operation, permission, host), clusters in has.items()
    ]
    return sorted(
        found, key=lambda r: (r.first and r.second, r.resource_type, r.resource, r.operation, r.permission)
    )


def moving_of(run: Run | None, found: AppID) -> Moving | None:
    """Return what would move with the AppID, as a run has counted it; ``None`` when the run does not know it."""
    if run is None:
        return None
    nodes = Node.objects.filter(run=run, pair=found.pair.name, appid=found.name)
    radii = list(nodes.values_list("radius_instance", "radius_appid"))
    return Moving(max(one for one, _whole in radii), max(whole for _one, whole in radii)) if radii else None


def findings_of(found: AppID) -> tuple[list[Finding], int]:
    """Return (the AppID's gravest open findings, at most :data:`MOST_FINDINGS`; the number of all that are open)."""
    own = selectors.findings([found.pair.name]).filter(appid=found.name, state=Finding.State.OPEN)
    return list(own.order_by("-weight", "code", "name")[:MOST_FINDINGS]), own.count()


def uncovered_of(found: AppID) -> Uncovered | None:
    """Return the AppID's unregistered clients with the text for its owner; ``None`` when the last run has seen none."""
    rows = rows_of([found.pair.name]).filter(appid=found.name)
    return next(iter(addressed(with_clients(rows))), None)


def shared_by(run: Run | None, found: AppID) -> list[SharedBy]:
    """Return the applications that share the AppID; empty when the last run can tell only one apart."""
    return list(
        selectors.rows(SharedBy, run, [found.pair.name]).filter(appid=found.name).order_by("application")
    )


def graph_of(run: Run | None, found: AppID) -> Chart | None:
    """Return the chart of the AppID's surroundings; ``None`` before the first run."""
    if run is None:
        return None
    focus = Focus(found.pair.name, APPID, found.name)
    return flows_of(found.pair, focus, surroundings_of(run, focus))


def moving_section(found: AppID) -> dict[str, Any]:
    """Return the context for the part of the page about what would move with the AppID, and its findings."""
    run = selectors.published(Run.Job.TOPOLOGY)
    findings, findings_open = findings_of(found)
    return {
        "graph": graph_of(run, found),
        "focus": Focus(found.pair.name, APPID, found.name),
        "moving": moving_of(run, found),
        "applications": shared_by(run, found),
        "own_findings": findings,
        "findings_open": findings_open,
        "uncovered": uncovered_of(found),
    }
