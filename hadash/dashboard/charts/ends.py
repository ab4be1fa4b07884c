"""Names at the ends of lines, instead of a legend. (On a phone, where they have no room, ``static/charts.js`` shows the
legend.) Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import east_asian_width

#: The least distance between two names, as a fraction of the axis.
APART = 0.09

#: Room for names at the right of a chart: pixels a letter (of Chinese and the like twice as many), and the least and
#: the most.
LETTER, LEAST, MOST = 7, 60, 220


def label(x: int, y: float, text: str, colour: Any) -> dict[str, Any]:
    """Return the name of a line at its end."""
    return {
        "x": x,
        "y": y,
        "text": text,
        "xanchor": "left",
        "xshift": 8,
        "font": {"size": 12, "color": colour},
    }


def last_known(at: Sequence[int], values: Sequence[float | None]) -> tuple[int, float] | None:
    """Return the last point of a line; ``None`` when it has none."""
    known = ((moment, value) for moment, value in zip(reversed(at), reversed(values), strict=True))
    return next(((moment, value) for moment, value in known if value is not None), None)


def moved_apart(labels: Iterable[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """Move names at the ends of lines apart, so that none covers another. Names that would come to lie above the axis
    are moved down, with those below them.

    :param top: the upper end of the axis.

    >>> [label["y"] for label in moved_apart([{"y": 1.0}, {"y": 1.0}, {"y": 50.0}], 100.0)]
    [50.0, 10.0, 1.0]
    >>> [label["y"] for label in moved_apart([{"y": 98.0}, {"y": 99.0}], 100.0)]
    [100.0, 91.0]
    """
    found: list[dict[str, Any]] = []
    for each in sorted(labels, key=lambda each: each["y"]):
        least = found[-1]["y"] + APART * top if found else each["y"]
        found.append({**each, "y": max(each["y"], least)})
    found.reverse()
    most = top
    for each in found:
        each["y"] = min(each["y"], most)
        most = each["y"] - APART * top
    return found


def room_for(names: Iterable[str]) -> int:
    """Return the pixels that names need at the right of a chart.

    >>> room_for(["west"]), room_for(["a-mirror-of-orders"]), room_for(["n" * 80]), room_for(["等待的太多"])
    (60, 142, 220, 86)
    """
    return min(MOST, max(LEAST, 16 + LETTER * max(map(_letters, names), default=0)))


def _letters(name: str) -> int:
    """Return how many letters of Latin are as wide as a name."""
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in name)
