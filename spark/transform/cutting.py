"""Finds the shared AppIDs that hold an island together. Pure.

Each AppID that can be registered is a hub to which its clients are tied, and each client is tied to the Topics
and groups that it uses. Registering the clients removes the hub. The hubs through which the most paths between
Topics lead are removed one after the other until the island has fallen into halves. Then hubs that turn out not
to be needed are put back, because the halves stay apart without removing them. The remaining hubs are the cut.
(Looking at single hubs is not enough: where two of them hold the same parts together, removing either one
changes nothing.)
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

#: Topics from which paths are followed, each time that a hub is chosen: important hubs are on very many paths,
#: so a sample is enough.
SAMPLES = 16
#: Hubs that are removed at most, for each that may be advised, before an island counts as one that does not
#: fall apart.
TRIES = 3
#: How often a cut is searched, from different Topics: the smallest is kept.
ATTEMPTS = 3
#: Ties between things up to which an island is searched so closely. In a larger one fewer paths are followed,
#: several hubs are removed at a time, and the first cut is kept: otherwise the time would grow with the square,
#: and a fleet of 100,000 AppIDs would take hours.
LARGE, SAMPLES_OF_LARGE, AT_ONCE_OF_LARGE, ATTEMPTS_OF_LARGE = 200_000, 4, 6, 1
#: An island is cut until its largest part has at most this share of it.
SHARE = 0.5

Numbers = NDArray[np.int64]


@dataclass(slots=True)
class Island:
    """Things with the resources (Topics and groups) that they use. ``fixed``: things that stay as they are;
    ``shared``: the clients of AppIDs that can be registered.
    """

    fixed: list[set[str]] = field(default_factory=list)
    shared: dict[str, dict[str, set[str]]] = field(default_factory=dict)


def cut(
    island: Island, most: int, least: int = 1, *, of: Set[str] = frozenset(), without: Iterable[str] = ()
) -> list[str]:
    """Return the AppIDs to register, in order, at most ``most``: first those that cut the island in two, then
    those that cut each part in two.

    :param least: parts with fewer resources are not cut.
    :param of: only parts with one of these resources are cut; empty for all parts.
    :param without: AppIDs that are already removed.
    """
    graph = _Graph(island, of)
    for appid in without:
        graph.take(appid)
    found: list[str] = []
    while len(found) < most and (size := graph.largest()) >= least:
        goal, tries = max(1, int(size * SHARE)), (most - len(found)) * TRIES
        attempts = ATTEMPTS_OF_LARGE if graph.is_large else ATTEMPTS
        cuts = [needed for _ in range(attempts) if (needed := _halved(graph, goal, tries))]
        needed = min(cuts, key=len, default=[])
        if not needed:
            break
        found += needed
        for appid in needed:
            graph.take(appid)
    return found[:most]


def _halved(graph: _Graph, goal: int, tries: int) -> list[str]:
    """Return the hubs without which the largest part has about ``goal`` resources or fewer; empty when no hub
    is needed or none helps.
    """
    taken: list[str] = []
    while graph.largest() > goal:
        hubs = graph.busiest()[: tries - len(taken)]
        if not hubs:
            break
        for hub in hubs:
            graph.take(hub)
        taken += hubs
    reached = max(goal, graph.largest())
    needed = []
    for hub in reversed(taken):
        graph.put_back(hub)
        if graph.largest() > reached:
            graph.take(hub)
            needed.append(hub)
    for hub in needed:
        graph.put_back(hub)
    return needed[::-1]


class _Graph:
    """The resources, clients and hubs, numbered in this order, without the removed hubs.

    :param of: the resources whose parts are to be cut; empty for all.
    """

    def __init__(self, island: Island, of: Set[str]) -> None:
        resources: dict[str, int] = {}
        clients = [*island.fixed, *(c for each in island.shared.values() for c in each.values())]
        ones, others = [], []
        for place, used in enumerate(clients):
            for resource in sorted(used):
                ones.append(place)
                others.append(resources.setdefault(resource, len(resources)))
        self._resources = len(resources)
        self._matter = np.fromiter((not of or name in of for name in resources), bool, len(resources))
        first_hub = self._resources + len(clients)
        self._hubs = {appid: first_hub + number for number, appid in enumerate(island.shared)}
        self._names = list(island.shared)
        place = len(island.fixed)
        tied_clients, tied_hubs = [], []
        for appid, each in island.shared.items():
            for _ in each:
                tied_clients.append(self._resources + place)
                tied_hubs.append(self._hubs[appid])
                place += 1
        starts = np.array(ones, np.int64) + self._resources
        self._ones = np.concatenate((starts, np.array(tied_clients, np.int64)))
        self._others = np.concatenate((np.array(others, np.int64), np.array(tied_hubs, np.int64)))
        self._count = first_hub + len(self._hubs)
        self._there = np.ones(self._count, bool)
        self._random = np.random.default_rng(self._count)

    @property
    def is_large(self) -> bool:
        """Whether it is searched less closely."""
        return len(self._ones) > LARGE

    def take(self, appid: str) -> None:
        self._there[self._hubs[appid]] = False

    def put_back(self, appid: str) -> None:
        self._there[self._hubs[appid]] = True

    def largest(self) -> int:
        """Return the number of resources of the largest part that matters."""
        return int(self._parts()[1].max(initial=0))

    def busiest(self) -> list[str]:
        """Return the hub of the largest part that matters through which the most paths from its important
        resources lead (in a large island the first few such hubs); empty when there is none.
        """
        labels, sizes = self._parts()
        inside = np.flatnonzero((labels[: self._resources] == int(sizes.argmax())) & self._matter)
        ways = np.zeros(self._count, np.int64)
        samples = SAMPLES_OF_LARGE if self.is_large else SAMPLES
        for start in self._random.choice(inside, min(samples, len(inside)), replace=False):
            # Of several equally short paths the first one found is followed: mixing prevents that it is always
            # the same.
            mixed = self._random.permutation(self._count)
            ways += self._ways_from(int(mixed[start]), mixed)[mixed]
        hubs = ways[self._count - len(self._hubs) :]
        most = np.argsort(-hubs, kind="stable")[: AT_ONCE_OF_LARGE if self.is_large else 1]
        return [self._names[int(number)] for number in most if hubs[number] > 0]

    def _ways_from(self, start: int, mixed: Numbers) -> Numbers:
        """Return, by mixed number, how many resources are reached from ``start`` through each node."""
        order, before = breadth_first_order(self._edges(mixed), start, directed=False)
        through = np.zeros(self._count, np.int64)
        through[mixed[: self._resources]] = 1
        place = np.empty(self._count, np.int64)
        place[order] = np.arange(len(order))
        reached_from = place[before[order[1:]]]  # non-decreasing: nearer nodes come first
        ends = [1]
        while ends[-1] < len(order):
            ends.append(1 + int(np.searchsorted(reached_from, ends[-1], side="left")))
        for first, last in zip(ends[-2::-1], ends[:0:-1], strict=True):
            here = order[first:last]
            np.add.at(through, before[here], through[here])
        return through

    def _parts(self) -> tuple[Numbers, Numbers]:
        """Return the number of each node's part, and the number of resources of each part (0 if none of them
        matters).
        """
        count, labels = connected_components(self._edges(np.arange(self._count)), directed=False)
        of_resource = labels[: self._resources]
        matter = np.zeros(count, bool)
        matter[of_resource[self._matter]] = True
        return labels, np.bincount(of_resource, minlength=count) * matter

    def _edges(self, mixed: Numbers) -> csr_array:
        kept = self._there[self._others]
        ones, others = mixed[self._ones[kept]], mixed[self._others[kept]]
        return csr_array((np.ones(len(ones), np.int8), (ones, others)), shape=(self._count, self._count))
