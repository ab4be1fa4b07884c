"""Which shared AppIDs hold an island together. Pure.

Think of each AppID that can be registered as a hub to which its clients are tied, and of each client as tied
to the Topics and groups that it uses. To register the clients is to take the hub away. The hubs to take are
those through which most ways between Topics lead: they are taken one after the other until the island has
fallen into halves; then those are put back that turn out not to have been needed, because without them the
halves stay apart as well. What is left is the cut. (To look at hubs one by one is not enough: where two hold
the same parts together, taking either changes nothing.)
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

#: Topics from which ways are followed, each time that a hub is chosen: the hubs that matter are on very many
#: ways, so that some will do.
SAMPLES = 16
#: Hubs that are taken at most, for each that may be advised, before an island is given up as one that does
#: not fall apart.
TRIES = 3
#: Times that a cut is looked for, from other Topics: the smallest is kept.
ATTEMPTS = 3
#: Ties between things up to which an island is looked at so closely. In a larger one fewer ways are followed,
#: hubs are taken several at a time, and the first cut is kept: else the time would grow with its square, and
#: a fleet of 100,000 AppIDs would take hours.
LARGE, SAMPLES_OF_LARGE, AT_ONCE_OF_LARGE, ATTEMPTS_OF_LARGE = 200_000, 4, 6, 1
#: An island is cut until its largest part has at most this share of it.
SHARE = 0.5

Numbers = NDArray[np.int64]


@dataclass(slots=True)
class Island:
    """Things by the resources (Topics and groups) that they use. ``fixed`` are those that stay as they are,
    ``shared`` AppIDs whose clients can be registered.
    """

    fixed: list[set[str]] = field(default_factory=list)
    shared: dict[str, dict[str, set[str]]] = field(default_factory=dict)


def cut(
    island: Island, most: int, least: int = 1, *, of: Set[str] = frozenset(), without: Iterable[str] = ()
) -> list[str]:
    """The AppIDs to register, in order, ``most`` at most: what makes two of the island first, then what makes
    two of each part.

    :param least: parts with fewer resources are left whole.
    :param of: only parts with one of these resources in them are cut; empty for all parts. :param without:
        AppIDs that are taken already.
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
    """The hubs without which no part has more than ``goal`` resources; nothing when that cannot be had."""
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
    """Resources, clients and hubs, numbered in this order, with the hubs that have not been taken.

    :param of: the resources whose parts are to be cut; empty for all of them.
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
        """Whether it is looked at less closely."""
        return len(self._ones) > LARGE

    def take(self, appid: str) -> None:
        self._there[self._hubs[appid]] = False

    def put_back(self, appid: str) -> None:
        self._there[self._hubs[appid]] = True

    def largest(self) -> int:
        """Resources of the largest part that matters."""
        return int(self._parts()[1].max(initial=0))

    def busiest(self) -> list[str]:
        """The hub in the largest part that matters through which most ways from what matters there lead (in a
        large island the first few of them); none when there is none.
        """
        labels, sizes = self._parts()
        inside = np.flatnonzero((labels[: self._resources] == int(sizes.argmax())) & self._matter)
        ways = np.zeros(self._count, np.int64)
        samples = SAMPLES_OF_LARGE if self.is_large else SAMPLES
        for start in self._random.choice(inside, min(samples, len(inside)), replace=False):
            # Where several ways are equally short, the one that is found first is followed: it must not be
            # always the same.
            mixed = self._random.permutation(self._count)
            ways += self._ways_from(int(mixed[start]), mixed)[mixed]
        hubs = ways[self._count - len(self._hubs) :]
        most = np.argsort(-hubs, kind="stable")[: AT_ONCE_OF_LARGE if self.is_large else 1]
        return [self._names[int(number)] for number in most if hubs[number] > 0]

    def _ways_from(self, start: int, mixed: Numbers) -> Numbers:
        """By mixed number, how many resources are reached from ``start`` through each."""
        order, before = breadth_first_order(self._edges(mixed), start, directed=False)
        through = np.zeros(self._count, np.int64)
        through[mixed[: self._resources]] = 1
        place = np.empty(self._count, np.int64)
        place[order] = np.arange(len(order))
        reached_from = place[before[order[1:]]]  # never falls: nearer ones come first
        ends = [1]
        while ends[-1] < len(order):
            ends.append(1 + int(np.searchsorted(reached_from, ends[-1], side="left")))
        for first, last in zip(ends[-2::-1], ends[:0:-1], strict=True):
            here = order[first:last]
            np.add.at(through, before[here], through[here])
        return through

    def _parts(self) -> tuple[Numbers, Numbers]:
        """(the number of each node's part, how many resources each part has: none where nothing matters)."""
        count, labels = connected_components(self._edges(np.arange(self._count)), directed=False)
        of_resource = labels[: self._resources]
        matter = np.zeros(count, bool)
        matter[of_resource[self._matter]] = True
        return labels, np.bincount(of_resource, minlength=count) * matter

    def _edges(self, mixed: Numbers) -> csr_array:
        kept = self._there[self._others]
        ones, others = mixed[self._ones[kept]], mixed[self._others[kept]]
        return csr_array((np.ones(len(ones), np.int8), (ones, others)), shape=(self._count, self._count))
