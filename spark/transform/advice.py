"""Which AppIDs' InstanceIDs to register first, so that less moves together. Pure.

Where AppIDs are shared, a few of them hold a fleet together; :mod:`spark.transform.cutting` finds them.
What each step brings is then found as the plan of a switch would find it: with what is declared, allowed and
bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hadash.radius.closure import AccessGraph, governing_of
from hadash.radius.fleet import Fleet, is_on
from hadash.radius.nodes import APPID, BOUND_TOPICS, GROUP, INSTANCE, TOPIC, AccessEdge, Node, group, topic
from hadash.radius.sizes import islands, radius_sizes
from spark.transform.cutting import Island, cut

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True)
class Advice:
    """Register the InstanceIDs of ``appid``, which are ``clients``: on its island ``before`` Topics and
    groups move together at most, and ``after`` then, when what is advised before it is done.
    ``critical_before`` and ``critical_after`` are the same of the radii that take a critical AppID's along;
    ``None`` where there is none on the island.
    """

    appid: str
    before: int
    after: int
    clients: tuple[str, ...]
    critical_before: int | None = None
    critical_after: int | None = None


def advise(
    fleet: Fleet,
    most: int,
    least_radius: int,
    cannot: Container[str] = (),
    critical: Set[str] = frozenset(),
) -> list[Advice]:
    """What to register, the most urgent first: islands with critical AppIDs, then the largest; on each in the
    order in which it is to be done, which begins with what shrinks the radii of the critical ones.

    Whoever has no InstanceID moves with the whole AppID here ("widen"): nobody is left behind to make a radius small.

    :param most: so many at most. Each takes as long as building the graph of its island.
    :param least_radius: where fewer Topics and groups move together, no advice is needed.
    :param cannot: AppIDs whose clients cannot be registered, because their client.ids do not last.
    :param critical: AppIDs whose radii matter most.
    """
    found: list[Advice] = []
    for part in _islands(fleet, cannot, critical):
        if len(found) >= most:
            break
        found += _steps(part, most - len(found), least_radius)
    return found


@dataclass(slots=True)
class _Part:
    """What hangs together now: a fleet of its own. ``critical`` are the Topics and groups that critical
    AppIDs use.
    """

    island: Island
    fleet: Fleet
    critical: set[str]


def _islands(fleet: Fleet, cannot: Container[str], critical: Set[str]) -> list[_Part]:
    """Those that matter most first; only those in which there is something to register."""
    of_appid: dict[str, list[AccessEdge]] = defaultdict(list)
    for use in sorted(set(fleet.uses)):
        of_appid[use.appid].append(use)
    parts = []
    for appids in _hanging_together(of_appid):
        own = replace(
            fleet,
            uses=tuple(use for appid in appids for use in of_appid[appid]),
            documents=_of(fleet.documents, appids),
            instances=_of(fleet.instances, appids),
        )
        used = {_resource(use) for use in own.uses if use.appid in critical}
        part = _Part(Island(), own, used)
        for appid in appids:
            _add(part.island, appid, of_appid[appid], own, appid in cannot)
        if part.island.shared:
            parts.append(part)
    return sorted(parts, key=lambda part: (not part.critical, -len(part.fleet.uses), part.fleet.uses[0]))


def _of(by_appid: Mapping[str, Known], appids: Iterable[str]) -> dict[str, Known]:
    return {appid: by_appid[appid] for appid in appids if appid in by_appid}


def _hanging_together(of_appid: Mapping[str, list[AccessEdge]]) -> list[list[str]]:
    """The AppIDs of each island, sorted."""
    appids = list(of_appid)
    numbers: dict[str, int] = {}
    ones, others = [], []
    for place, appid in enumerate(appids):
        for use in of_appid[appid]:
            ones.append(place)
            others.append(len(appids) + numbers.setdefault(_resource(use), len(numbers)))
    count = len(appids) + len(numbers)
    edges = csr_array((np.ones(len(ones), np.int8), (ones, others)), shape=(count, count))
    found: dict[int, list[str]] = defaultdict(list)
    for appid, label in zip(appids, islands(edges)[1], strict=False):
        found[int(label)].append(appid)
    return list(found.values())


def _add(
    island: Island, appid: str, uses: list[AccessEdge], fleet: Fleet, cannot_be_registered: bool
) -> None:
    """What ties the Topics and groups of one AppID together, and what of it registering its clients would loosen."""
    document, known = fleet.documents.get(appid), fleet.instances.get(appid, frozenset())
    tied: dict[Node, set[str]] = defaultdict(set)
    loose: dict[str, set[str]] = defaultdict(set)
    whole: set[str] = set()
    for use in uses:
        governing = governing_of(use, document, use.client_id in known)
        if governing.kind != APPID:
            tied[governing].add(_resource(use))
        elif use.client_id and governing_of(use, document, registered=True).kind == INSTANCE:
            loose[use.client_id].add(_resource(use))
        else:
            whole.add(_resource(use))
    for node, resources in tied.items():
        if node.kind == BOUND_TOPICS:
            resources |= {_name(topic(name)) for name in node.names}
    island.fixed += tied.values()
    # Where one client has no client.id, the whole AppID moves with it, whatever is registered.
    if loose and len(loose) + len(tied) > 1 and not whole and not cannot_be_registered:
        island.shared[appid] = dict(loose)
    elif loose or whole:
        island.fixed.append(whole.union(*loose.values()))


def _steps(part: _Part, most: int, least_radius: int) -> list[Advice]:
    """The advice for one island, up to the last step that makes a difference."""
    now = part.fleet
    before, critical_before = _largest_radii(now, part.critical)
    if before < least_radius:
        return []
    order = cut(part.island, most, least_radius, of=part.critical) if part.critical else []
    order += cut(part.island, most - len(order), least_radius, without=order)
    found: list[Advice] = []
    for appid in order:
        if before < least_radius:
            break
        clients = tuple(sorted(part.island.shared[appid]))
        registered = now.instances.get(appid, frozenset()) | frozenset(clients)
        now = replace(now, instances={**now.instances, appid: registered})
        after, critical_after = _largest_radii(now, part.critical)
        found.append(Advice(appid, before, after, clients, critical_before, critical_after))
        before, critical_before = after, critical_after
    worth = [
        number
        for number, step in enumerate(found)
        if step.after < step.before or (step.critical_after or 0) < (step.critical_before or 0)
    ]
    return found[: worth[-1] + 1] if worth else []


def _largest_radii(fleet: Fleet, critical: Set[str]) -> tuple[int, int | None]:
    """How many Topics and groups move together at most, whichever way; and how many when one of ``critical``
    does. (InstanceIDs do not count: registering them makes more of them.)
    """
    graph = AccessGraph(fleet.uses, fleet.documents, fleet.instances, widen=True)
    counts = np.zeros(len(graph.nodes), bool)
    for kind in (TOPIC, GROUP):
        counts[graph.range_of(kind)] = True
    sizes = np.zeros(len(graph.nodes), np.int64)
    for target in fleet.clusters:
        edges, _ = graph.cut(partial(is_on, fleet, target), there_by_default=fleet.default == target)
        sizes = np.maximum(sizes, radius_sizes(edges, counts))
    matters = counts & _are_in(graph, critical)
    return _most(sizes[counts]), _most(sizes[matters]) if critical else None


def _most(sizes: NDArray[np.int64]) -> int:
    return int(sizes.max(initial=0))


def _are_in(graph: AccessGraph, resources: Set[str]) -> NDArray[np.bool_]:
    return np.fromiter((_name(node) in resources for node in graph.nodes), bool, len(graph.nodes))


def _resource(use: AccessEdge) -> str:
    return _name(group(use.resource) if use.kind == GROUP else topic(use.resource))


def _name(node: Node) -> str:
    """A Topic and a group of one name are two; an identity is none of them."""
    return f"{node.kind}:{node.names[0]}" if node.kind in (TOPIC, GROUP) else ""
