"""How many nodes move with each node of a fleet: the sizes of all blast radii at once. Pure.

Closing each node by itself would take as many searches as there are nodes. But nodes that pull in each other
have the same radius, and in a fleet with shared AppIDs half of all nodes do: each such set is found once, and a
node that leads to it only adds what else it pulls in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

#: Sets of nodes that pull in each other are searched by themselves from this size on; smaller ones are traversed.
LARGE = 64
#: The most such sets: each takes one byte for every set of the fleet.
MOST_LARGE = 512

Numbers = NDArray[np.int64]


def radius_sizes(edges: csr_array, counts: NDArray[np.bool_] | None = None) -> Numbers:
    """For each node, the number of nodes that move with it, itself included.

    :param edges: what pulls in what, by the numbers of the nodes (:meth:`AccessGraph.cut
        <hadash.radius.closure.AccessGraph.cut>`).
    :param counts: which nodes count; ``None`` for all.
    """
    count = edges.shape[0]
    if not count:
        return np.zeros(0, np.int64)
    sets, of_thing = connected_components(edges, directed=True, connection="strong")
    weights = np.bincount(of_thing if counts is None else of_thing[counts], minlength=sets)
    following = _between(edges, of_thing, sets)
    return _sizes(following, weights)[of_thing]


def islands(edges: csr_array) -> tuple[int, Numbers]:
    """(the number of islands, the island of each node): an island is all nodes that are connected in any direction."""
    found, labels = connected_components(edges, directed=False)
    return int(found), labels.astype(np.int64)


def _between(edges: csr_array, of_thing: Numbers, sets: int) -> csr_array:
    """The edges between sets of nodes that pull in each other."""
    ones = of_thing[np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))]
    others = of_thing[edges.indices]
    across = ones != others
    shape = (sets, sets)
    found = csr_array((np.ones(int(across.sum()), np.int32), (ones[across], others[across])), shape=shape)
    found.sum_duplicates()
    return found


def _sizes(following: csr_array, weights: Numbers) -> Numbers:
    """The weight of everything reachable from each set, itself included; no set leads back to itself."""
    large = np.flatnonzero(weights >= LARGE)
    large = large[np.argsort(-weights[large], kind="stable")][:MOST_LARGE]
    reached_from = _Reached(following, weights, large)
    starts, targets = following.indptr.tolist(), following.indices.tolist()
    is_large = set(large.tolist())
    sizes = np.empty(len(weights), np.int64)
    each = weights.tolist()
    for start in range(len(each)):
        if start in is_large:
            sizes[start] = reached_from.weight_of(frozenset((start,)))
            continue
        first, last = starts[start], starts[start + 1]
        if first == last:
            sizes[start] = each[start]
            continue
        passed, met, waiting = {start}, set(), targets[first:last]
        while waiting:
            one = waiting.pop()
            if one in is_large:
                met.add(one)
            elif one not in passed:
                passed.add(one)
                waiting += targets[starts[one] : starts[one + 1]]
        if not met:
            sizes[start] = sum(each[one] for one in passed)
        else:
            key = frozenset(met)
            inside = reached_from.inside(key)
            sizes[start] = reached_from.weight_of(key) + sum(each[o] for o in passed if not inside[o])
    return sizes


class _Reached:
    """Cached searches: what can be reached from several large sets together."""

    def __init__(self, following: csr_array, weights: Numbers, large: Numbers) -> None:
        self._weights = weights
        self._alone = {int(one): self._from(following, int(one)) for one in large}
        self._inside: dict[frozenset[int], NDArray[np.bool_]] = {}
        self._weight: dict[frozenset[int], int] = {}

    @staticmethod
    def _from(following: csr_array, one: int) -> NDArray[np.bool_]:
        inside = np.zeros(following.shape[0], bool)
        inside[breadth_first_order(following, one, return_predecessors=False)] = True
        return inside

    def inside(self, ones: frozenset[int]) -> NDArray[np.bool_]:
        """Which sets can be reached from any of ``ones``, as an array of booleans."""
        if ones not in self._inside:
            self._inside[ones] = np.logical_or.reduce([self._alone[one] for one in ones])
        return self._inside[ones]

    def weight_of(self, ones: frozenset[int]) -> int:
        """The weight of everything reachable from any of ``ones``."""
        if ones not in self._weight:
            self._weight[ones] = int(self._weights[self.inside(ones)].sum())
        return self._weight[ones]
