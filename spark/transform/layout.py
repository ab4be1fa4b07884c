"""Where each thing of an island is drawn on the map of the fleet: relative to the middle of its island,
whose edge is at 1. Pure.

Not every thing is drawn: of an island that has more than :data:`MOST_OF_ISLAND` only those that hang together
with the most others, and of the whole map no more than :data:`MOST_DRAWN`, the largest islands first. While
more than half of an island is what it was, that stays where it was, so that people find it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin, sqrt

import numpy as np
import rustworkx as rx
from numpy.typing import NDArray
from scipy.sparse import csr_array

#: Things of one island that are drawn, and of all islands: more than a few hundred points nobody can tell apart.
MOST_OF_ISLAND = 300
MOST_DRAWN = 800

#: Lines that begin at one thing: a Topic that everybody uses has thousands.
MOST_LINES = 40

#: How often all things are moved towards those that they hang together with, and what makes it the same each time.
ROUNDS, SEED = 60, 17

#: How far from the middle a thing is at most.
EDGE = 0.88

#: Turned by it again and again, nothing comes to lie behind anything else.
GOLDEN_ANGLE = pi * (3 - sqrt(5))

Numbers = NDArray[np.int64]
Position = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A thing that is drawn. ``lines``: the numbers of the drawn things that follow from it."""

    number: int
    x: float
    y: float
    lines: list[int]


def neighbours_of(edges: csr_array) -> Numbers:
    """How many others each thing hangs together with directly, whichever way."""
    either = (edges + edges.T).tocsr()
    return np.diff(either.indptr).astype(np.int64)


def drawn_of(
    edges: csr_array, labels: Numbers, neighbours: Numbers, before: Mapping[int, Position]
) -> Iterator[Drawn]:
    """:param edges: what follows from what, by the numbers of the things. :param labels: the island of each
    thing. :param before: where things were drawn the last time.
    """
    left = MOST_DRAWN
    for members in _by_size(labels):
        if left <= 0:
            return
        # (Stable: of things with as many neighbours the first ones.)
        most = members[np.argsort(-neighbours[members], kind="stable")][: min(MOST_OF_ISLAND, left)]
        chosen = np.sort(most)
        left -= len(chosen)
        inner = edges[chosen][:, chosen].tocsr()
        places = _within(inner, [before.get(int(number)) for number in chosen])
        for at, number in enumerate(chosen):
            others = inner.indices[inner.indptr[at] : inner.indptr[at + 1]][:MOST_LINES]
            yield Drawn(int(number), *places[at], [int(chosen[other]) for other in others])


def _by_size(labels: Numbers) -> Iterator[Numbers]:
    """The things of each island, the largest island first; of islands of one size the one with the first thing."""
    if not len(labels):
        return
    order = np.argsort(labels, kind="stable")
    begins = np.flatnonzero(np.diff(labels[order], prepend=-1))
    parts = np.split(order, begins[1:])
    parts.sort(key=lambda part: (-len(part), part[0]))
    yield from parts


def _within(inner: csr_array, before: Sequence[Position | None]) -> list[Position]:
    """Positions within a circle around 0 with radius 1. What hangs together attracts each other, all others
    keep their distance.
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
    """Where a thing begins that was not drawn before: each somewhere else, and always there."""
    angle, far = GOLDEN_ANGLE * at, 0.9 * sqrt((at + 0.5) / count)
    return (far * cos(angle), far * sin(angle))


def _inside(x: float, y: float) -> Position:
    """The same, or the nearest place within the circle."""
    far = max(1.0, hypot(x, y) / EDGE)
    return round(x / far, 4), round(y / far, 4)


def _fitted(places: list[Position]) -> list[Position]:
    """The same within a circle of radius 1, with some room to its edge."""
    middle_x = sum(x for x, _ in places) / len(places)
    middle_y = sum(y for _, y in places) / len(places)
    far = max(hypot(x - middle_x, y - middle_y) for x, y in places) or 1.0
    return [_inside(EDGE * (x - middle_x) / far, EDGE * (y - middle_y) / far) for x, y in places]
