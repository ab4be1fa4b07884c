"""Computes the positions of things on the map of the fleet, relative to the centre of their island, whose edge
is at 1. Pure.

Not every thing is drawn: of an island with more than :data:`MOST_OF_ISLAND` things only those with the most
neighbours, and on the whole map at most :data:`MOST_DRAWN`, the largest islands first. While more than half of
an island's things were drawn before, these stay in place, so that users find them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin, sqrt

import numpy as np
import rustworkx as rx
from numpy.typing import NDArray
from scipy.sparse import csr_array

#: Things that are drawn of one island, and of all islands, at most: users cannot distinguish more than a few
#: hundred points.
MOST_OF_ISLAND = 300
MOST_DRAWN = 800

#: Lines that begin at one thing, at most: a Topic with very many users would have thousands.
MOST_LINES = 40

#: The number of iterations of the layout, and its random seed, which makes it reproducible.
ROUNDS, SEED = 60, 17

#: The largest distance of a thing from the centre.
EDGE = 0.88

#: Positions that are successively rotated by this angle spread evenly.
GOLDEN_ANGLE = pi * (3 - sqrt(5))

Numbers = NDArray[np.int64]
Position = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A thing that is drawn. ``lines``: the numbers of the drawn things that have to move with it."""

    number: int
    x: float
    y: float
    lines: list[int]


def neighbours_of(edges: csr_array) -> Numbers:
    """Return the number of direct neighbours of each thing, in either direction."""
    either = (edges + edges.T).tocsr()
    return np.diff(either.indptr).astype(np.int64)


def drawn_of(
    edges: csr_array, labels: Numbers, neighbours: Numbers, before: Mapping[int, Position]
) -> Iterator[Drawn]:
    """Yield the things that are drawn.

    :param edges: which things have to move with which, by their numbers.
    :param labels: the island of each thing.
    :param before: the positions on the last map.
    """
    left = MOST_DRAWN
    for members in _by_size(labels):
        if left <= 0:
            return
        # (Stable: of things with equally many neighbours the first ones.)
        most = members[np.argsort(-neighbours[members], kind="stable")][: min(MOST_OF_ISLAND, left)]
        chosen = np.sort(most)
        left -= len(chosen)
        inner = edges[chosen][:, chosen].tocsr()
        places = _within(inner, [before.get(int(number)) for number in chosen])
        for at, number in enumerate(chosen):
            others = inner.indices[inner.indptr[at] : inner.indptr[at + 1]][:MOST_LINES]
            yield Drawn(int(number), *places[at], [int(chosen[other]) for other in others])


def _by_size(labels: Numbers) -> Iterator[Numbers]:
    """Yield the things of each island, the largest island first; of equally large ones that with the first thing."""
    if not len(labels):
        return
    order = np.argsort(labels, kind="stable")
    begins = np.flatnonzero(np.diff(labels[order], prepend=-1))
    parts = np.split(order, begins[1:])
    parts.sort(key=lambda part: (-len(part), part[0]))
    yield from parts


def _within(inner: csr_array, before: Sequence[Position | None]) -> list[Position]:
    """Return positions within a circle around 0 with radius 1. Connected things attract each other, all others
    repel each other.
    """
    count = len(before)
    if count == 1:
        return [(0.0, 0.0)]
    graph = rx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(count))
    pairs = inner.tocoo()
    graph.add_edges_from_no_data(
        [(int(a), int(b)) for a, b in zip(pairs.row, pairs.col, strict=True) if a != b]
    )
    begin = {at: before[at] or _on_ring(at, count) for at in range(count)}
    known = {at for at, place in enumerate(before) if place is not None}
    if len(known) == count:
        return list(begin.values())
    stay = known if len(known) > count / 2 else None
    found = rx.spring_layout(graph, pos=begin, fixed=stay, k=1.6 / sqrt(count), num_iter=ROUNDS, seed=SEED)
    places = [(float(found[at][0]), float(found[at][1])) for at in range(count)]
    return [_inside(*place) for place in places] if stay else _fitted(places)


def _on_ring(at: int, count: int) -> Position:
    """Return the initial position of a thing that was not drawn before: different for each, and deterministic."""
    angle, far = GOLDEN_ANGLE * at, 0.9 * sqrt((at + 0.5) / count)
    return (far * cos(angle), far * sin(angle))


def _inside(x: float, y: float) -> Position:
    """Return the position, moved into the circle if it is outside."""
    far = max(1.0, hypot(x, y) / EDGE)
    return round(x / far, 4), round(y / far, 4)


def _fitted(places: list[Position]) -> list[Position]:
    """Scale positions to a circle of radius 1, with some room to its edge."""
    middle_x = sum(x for x, _ in places) / len(places)
    middle_y = sum(y for _, y in places) / len(places)
    far = max(hypot(x - middle_x, y - middle_y) for x, y in places) or 1.0
    return [_inside(EDGE * (x - middle_x) / far, EDGE * (y - middle_y) / far) for x, y in places]
