"""Computes the positions of the islands on the map of the fleet: circles beside each other, the largest ones in
the middle. Pure.

An island of the last map stays in place, unless one that has grown needs the place, so that users find it
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

#: Islands that get a place, at most; smaller ones are only counted.
MOST_ISLANDS = 400

#: The gap between two islands, in radii of an island of one thing. Half of it is room to grow without moving
#: others.
BETWEEN = 0.8

#: Places that are tested at once.
_TRIED = 512

#: The identity of a thing in its pair: its kind, its AppID and its names.
Named = tuple[str, str, tuple[str, ...]]

Points = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Circle:
    """A place on the map. Its area is proportional to the number of things; the radius for one thing is 1."""

    x: float
    y: float
    r: float


@dataclass(frozen=True)
class Before:
    """The last published map, by pair: the positions of things on their islands, and the circles of islands by
    the thing in their centre.
    """

    things: Mapping[str, Mapping[Named, tuple[float, float]]]
    circles: Mapping[str, Mapping[Named, Circle]]


def radius_of(things: int) -> float:
    """Return the radius of an island with so many things.

    >>> radius_of(1), radius_of(100)
    (1.0, 10.0)
    """
    return sqrt(things)


def packed(islands: Iterable[tuple[int, int]], before: Mapping[int, Circle]) -> dict[int, Circle]:
    """Return the place of each island that gets one, by its number.

    :param islands: (number, number of things), the largest first.
    :param before: the last place of islands, by their current number.

    >>> packed([(7, 4), (8, 1)], {})[7]
    Circle(x=0.0, y=0.0, r=2.0)
    """
    found: dict[int, Circle] = {}
    xs, ys, rs = np.empty(MOST_ISLANDS), np.empty(MOST_ISLANDS), np.empty(MOST_ISLANDS)

    def take(number: int, x: float, y: float, r: float) -> None:
        place = len(found)
        xs[place], ys[place], rs[place] = x, y, r
        found[number] = Circle(round(x, 3), round(y, 3), round(r, 3))

    def taken() -> Sequence[Points]:
        return xs[: len(found)], ys[: len(found)], rs[: len(found)]

    largest = [(number, radius_of(things)) for number, things in islands][:MOST_ISLANDS]
    for number, r in largest:
        was = before.get(number)
        if was is not None and _free(np.array([[was.x, was.y]]), r, taken(), BETWEEN / 2)[0]:
            take(number, was.x, was.y, r)
    # Where the search for an island of each radius has ended: before it there is no room for others of that
    # radius.
    ended: dict[float, int] = {}
    for number, r in largest:
        if number not in found:
            x, y, ended[r] = _nearest(r, taken(), ended.get(r, 0))
            take(number, x, y, r)
    return found


def _nearest(r: float, taken: Sequence[Points], begin: int) -> tuple[float, float, int]:
    """Return x and y of the first free place on a spiral around the middle, and its number on the spiral."""
    step = max(0.5, r / 4)
    while True:
        numbers = np.arange(begin, begin + _TRIED)
        far, angle = step * np.sqrt(numbers), np.sqrt(numbers) * 3.5449
        places = np.column_stack((far * np.cos(angle), far * np.sin(angle)))
        free = np.flatnonzero(_free(places, r, taken))
        if len(free):
            at = int(free[0])
            return float(places[at, 0]), float(places[at, 1]), begin + at
        begin += _TRIED


def _free(places: Points, r: float, taken: Sequence[Points], between: float = BETWEEN) -> NDArray[np.bool_]:
    """Return whether a circle of radius ``r`` has room, for each of some places."""
    xs, ys, rs = taken
    if not len(xs):
        return np.ones(len(places), bool)
    apart = (places[:, :1] - xs) ** 2 + (places[:, 1:] - ys) ** 2
    return np.asarray((apart >= (rs + r + between) ** 2).all(axis=1))
