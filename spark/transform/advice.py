"""Finds the AppIDs whose InstanceIDs to register first, so that less moves together. Pure.

A few shared AppIDs hold a fleet together; :mod:`spark.transform.cutting` finds them. The effect of each step is
then computed like the plan of a switch, with declarations, rights and bindings.
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
    """The advice to register the InstanceIDs (``clients``) of ``appid``: on its island at most ``before``
    Topics and groups move together, and ``after`` when it is done together with all earlier advice.
    ``critical_before`` and ``critical_after`` count only radii that contain those of a critical AppID; ``None``
    where the island has none. ``island`` numbers the islands with advice, from 1.
    """

    appid: str
    before: int
    after: int
    clients: tuple[str, ...]
    critical_before: int | None = None
    critical_after: int | None = None
    island: int = 1


def advise(
    fleet: Fleet,
    most: int,
    least_radius: int,
    cannot: Container[str] = (),
    critical: Set[str] = frozenset(),
) -> list[Advice]:
    """Return what to register, the most urgent first: islands with critical AppIDs, then the largest; on each
    island in the order of the steps, which begin with those that shrink the radii of critical AppIDs.

    A client without an InstanceID moves with the whole AppID here ("widen"): no client is left behind to make a
    radius smaller.

    :param most: the largest number of steps. Each takes as long as building the graph of its island.
    :param least_radius: where fewer Topics and groups move together, no advice is needed.
    :param cannot: AppIDs whose clients cannot be registered, because their client.ids change.
    :param critical: AppIDs whose radii matter most.
    """
    found: list[Advice] = []
    island = 0
    for part in _islands(fleet, cannot, critical):
        if len(found) >= most:
            break
        if steps := _steps(part, most - len(found), least_radius):
            island += 1
            found += [replace(step, island=island) for step in steps]
    return found


@dataclass(slots=True)
class _Part:
    """A connected part of a fleet, as a fleet of its own. ``critical``: the Topics and groups that critical
    AppIDs use.
    """

    island: Island
    fleet: Fleet
    critical: set[str]


def _islands(fleet: Fleet, cannot: Container[str], critical: Set[str]) -> list[_Part]:
    """Return the islands with something to register, the most important first."""
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
    """Return the AppIDs of each island, sorted."""
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
    """Add to an island what ties the Topics and groups of one AppID together, and what registering its clients
    would untie.
    """
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
    # If one client has no client.id the whole AppID moves with it, whatever is registered.
    if loose and len(loose) + len(tied) > 1 and not whole and not cannot_be_registered:
        island.shared[appid] = dict(loose)
    elif loose or whole:
        island.fixed.append(whole.union(*loose.values()))


def _steps(part: _Part, most: int, least_radius: int) -> list[Advice]:
    """Return the advice for one island, up to the last step that makes a difference."""
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
    """Return how many Topics and groups move together at most, in either direction; and how many when one of
    ``critical`` moves. (InstanceIDs do not count, because registering adds some.)
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
    """Return a unique name of a Topic or group; empty for an identity."""
    return f"{node.kind}:{node.names[0]}" if node.kind in (TOPIC, GROUP) else ""
