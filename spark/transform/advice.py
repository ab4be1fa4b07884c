"""Which AppIDs' InstanceIDs to register first, so that less moves together. Pure.

Where AppIDs are shared, a few of them hold an estate together; :mod:`spark.transform.cutting` finds them. What each step brings is
then found as the plan of a switch would find it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from hadash.switching.closure import AccessGraph
from hadash.switching.reach import islands, radius_sizes
from hadash.switching.things import GROUP, TOPIC, Use
from spark.transform.cutting import Island, cut


@dataclass(frozen=True, slots=True)
class Advice:
    """Register the InstanceIDs of ``appid``, which are ``clients``: on its island ``before`` Topics and groups move together at
    most, and ``after`` then, when what is advised before it is done."""

    appid: str
    before: int
    after: int
    clients: tuple[str, ...]


def advise(
    uses: Iterable[Use],
    registered: Mapping[str, Collection[str]],
    most: int,
    least_radius: int,
    cannot: Container[str] = (),
) -> list[Advice]:
    """What to register, first things first: the largest island first, and on each in the order in which it is to be done.

    Whoever has no InstanceID moves with the whole AppID here ("widen"): nobody is left behind to make a radius small.

    :param registered: the InstanceIDs of each AppID.
    :param most: so many at most. Each takes as long as building the graph of its island.
    :param least_radius: where fewer Topics and groups move together, no advice is needed.
    :param cannot: AppIDs whose clients cannot be registered, because their client.ids do not last.
    """
    found: list[Advice] = []
    for part in _islands(uses, registered, cannot):
        if len(found) >= most:
            break
        found += _steps(part, registered, most - len(found), least_radius)
    return found


@dataclass(slots=True)
class _Part:
    """What hangs together now, with its uses."""

    island: Island
    uses: list[Use]


def _islands(
    uses: Iterable[Use], registered: Mapping[str, Collection[str]], cannot: Container[str]
) -> list[_Part]:
    """Those with the most uses first; only those in which there is something to register."""
    of_appid: dict[str, list[Use]] = defaultdict(list)
    for use in sorted(set(uses)):
        of_appid[use.appid].append(use)
    parts = []
    for appids in _hanging_together(of_appid):
        part = _Part(Island(), [use for appid in appids for use in of_appid[appid]])
        for appid in appids:
            _add(part.island, appid, of_appid[appid], registered.get(appid, ()), appid in cannot)
        if part.island.shared:
            parts.append(part)
    return sorted(parts, key=lambda part: (-len(part.uses), part.uses[0]))


def _hanging_together(of_appid: Mapping[str, list[Use]]) -> list[list[str]]:
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
    island: Island, appid: str, uses: list[Use], known: Collection[str], cannot_be_registered: bool
) -> None:
    by_client: dict[str, set[str]] = defaultdict(set)
    for use in uses:
        by_client[use.client_id].add(_resource(use))
    island.fixed += [resources for name, resources in by_client.items() if name in known]
    others = {name: resources for name, resources in by_client.items() if name not in known}
    # Where one client has no client.id, the whole AppID moves with it, whatever is registered.
    if len(by_client) > 1 and others and "" not in others and not cannot_be_registered:
        island.shared[appid] = others
    elif others:
        island.fixed.append({resource for resources in others.values() for resource in resources})


def _steps(
    part: _Part, registered: Mapping[str, Collection[str]], most: int, least_radius: int
) -> list[Advice]:
    """The advice for one island, up to the last step that makes a difference."""
    now: dict[str, set[str]] = {appid: set(names) for appid, names in registered.items()}
    before = _largest_radius(part.uses, now)
    found: list[Advice] = []
    for appid in cut(part.island, most) if before >= least_radius else ():
        if before < least_radius:
            break
        clients = tuple(sorted(part.island.shared[appid]))
        now.setdefault(appid, set()).update(clients)
        after = _largest_radius(part.uses, now)
        found.append(Advice(appid, before, after, clients))
        before = after
    worth = [number for number, step in enumerate(found) if step.after < step.before]
    return found[: worth[-1] + 1] if worth else []


def _largest_radius(uses: list[Use], registered: Mapping[str, Collection[str]]) -> int:
    """How many Topics and groups move together at most. (InstanceIDs do not count: registering them makes more of them.)"""
    graph = AccessGraph(uses, {}, registered, widen=True)
    counts = np.zeros(len(graph.things), bool)
    for kind in (TOPIC, GROUP):
        counts[graph.range_of(kind)] = True
    return int(radius_sizes(graph.cut()[0], counts)[counts].max(initial=0))


def _resource(use: Use) -> str:
    """A Topic and a group of one name are two."""
    return f"g:{use.resource}" if use.kind == GROUP else f"t:{use.resource}"
