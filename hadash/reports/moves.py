"""Draws what a switch that has ended has moved: its clients, the Gateways, and both clusters. The still picture of what
its page shows live. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hadash.reports.drawing import (
    BAD,
    FINE,
    GREYS,
    HUES,
    INK,
    LINE,
    QUIET,
    WIDTH,
    cut,
    rule,
    svg_of,
    words,
)

#: Clients that are drawn by name; the others are one row.
MOST_CLIENTS = 10

#: Pixels: of the columns (left edge, width), of a client's row, above and below all, and of a cluster's box.
_CLIENTS, _GATEWAYS, _CLUSTERS = (0, 176), (216, 116), (376, 174)
_ROW, _ABOVE, _BOX = 32, 22, 66
#: Latin letters that there is room for: in a client's name and the line below it, in the middle, in a cluster's name
#: and the lines below it, and beside the mirror.
_CLIENT, _SAID, _GATEWAY, _CLUSTER, _RATE, _MIRROR = 20, 26, 17, 14, 25, 22
#: Pixels: of one client's band, and of all bands together at most.
_BAND, _ALL_BANDS = 7.0, 54.0


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two clusters. ``hue``: ``first`` or ``second``; ``says``: the lines below its name, at most two."""

    name: str
    hue: str
    says: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Client:
    """One client. ``went_on``: whether records moved again; ``None`` if that is not known."""

    name: str
    said: str
    went_on: bool | None


@dataclass(frozen=True, slots=True)
class Moved:
    """What is drawn. All texts are in the reader's language.

    :param heads: above the three columns.
    :param first: the pair's first cluster, which is always above the ``second``.
    :param source: the hue of the cluster from which clients were to move, ``target`` that of the other.
    :param ended_on: the hue of the cluster on which they were in the end; ``None`` if only a person knows.
    :param gateways: the lines in the middle.
    :param mirror: the lines between the clusters.
    :param copies_to: the hue of the cluster to which the mirror copies in the end; ``None``: there is none.
    :param more: the clients that are not drawn, in words; empty for none.
    """

    heads: tuple[str, str, str]
    clients: Sequence[Client]
    first: Side
    second: Side
    source: str
    target: str
    ended_on: str | None
    gateways: Sequence[str] = ()
    mirror: Sequence[str] = ()
    copies_to: str | None = None
    more: str = ""


def height_of(moved: Moved) -> int:
    """Return the height of :func:`draw`, in pixels."""
    rows = len(moved.clients) + bool(moved.more)
    return max(_ABOVE + 2 * _BOX + 96, _ABOVE + rows * _ROW + 8)


def draw(moved: Moved) -> str:
    """Return the picture."""
    height = height_of(moved)
    tops = {"first": _ABOVE, "second": height - _BOX - 2}
    rows = _rows(moved, height)
    passing = _stacked([middle for middle, _ in rows], _ABOVE + (height - _ABOVE) / 2)
    parts = [
        *_heads(moved.heads),
        *_bands(moved, rows, passing, tops),
        *_gateways(moved.gateways, height),
        *_mirror(moved, height),
    ]
    for middle, client in rows:
        parts += _client(client, middle, HUES[moved.ended_on].ink if moved.ended_on else GREYS[1])
    if moved.more:
        parts.append(words(14, rows[-1][0] + _ROW if rows else _ABOVE + 20, moved.more, QUIET))
    for side in (moved.first, moved.second):
        parts += _cluster(side, tops[side.hue], is_home=side.hue == moved.ended_on)
    return svg_of(height, parts)


def in_words(moved: Moved) -> str:
    """Return the same in words, for who cannot see it."""
    names = {side.hue: side for side in (moved.first, moved.second)}
    said = [f"{names[moved.source].name} → {names[moved.target].name}"]
    said += [": ".join(filter(None, (client.name, client.said))) for client in moved.clients]
    said += [moved.more] if moved.more else []
    said += [": ".join((side.name, ", ".join(side.says))) for side in names.values() if side.says]
    said += [", ".join(lines) for lines in (moved.gateways, moved.mirror) if lines]
    return "; ".join(said)


# -- its parts ----------------------------------------------------------------------------------------------------


def _rows(moved: Moved, height: int) -> list[tuple[float, Client]]:
    """The clients with the middles of their rows, in the middle of the picture."""
    count = len(moved.clients) + bool(moved.more)
    begin = _ABOVE + (height - _ABOVE - count * _ROW) / 2
    return [(begin + (place + 0.5) * _ROW, client) for place, client in enumerate(moved.clients)]


def _stacked(middles: Sequence[float], around: float) -> list[float]:
    """The middles of as many bands, one below the other."""
    step = min(_BAND + 2, _ALL_BANDS / max(1, len(middles)))
    return [around + (place - (len(middles) - 1) / 2) * step for place in range(len(middles))]


def _heads(heads: tuple[str, str, str]) -> Iterable[str]:
    left, middle, right = heads
    yield words(_CLIENTS[0], 12, left, QUIET)
    yield words(_GATEWAYS[0] + _GATEWAYS[1] / 2, 12, middle, QUIET, "middle")
    yield words(WIDTH, 12, right, QUIET, "end")


def _bands(
    moved: Moved, rows: Sequence[tuple[float, Client]], passing: Sequence[float], tops: dict[str, int]
) -> Iterable[str]:
    """From each client through the Gateways to where it is in the end; dashed, the way that it had before."""
    x0, x1, x2, x3 = (
        _CLIENTS[0] + _CLIENTS[1],
        _GATEWAYS[0],
        _GATEWAYS[0] + _GATEWAYS[1],
        _CLUSTERS[0],
    )
    width = min(_BAND, _ALL_BANDS / max(1, len(rows)) - 1)
    colour = HUES[moved.ended_on].line if moved.ended_on else GREYS[2]
    arrived = {hue: _stacked(passing, top + _BOX / 2) for hue, top in tops.items()}
    was = moved.source if moved.ended_on != moved.source else None
    for place, (middle, _) in enumerate(rows):
        y = passing[place]
        if was is not None:
            yield _curve([(x2, y), (x3, arrived[was][place])], HUES[was].line, 1.2, "3 3")
        yield _curve([(x0, middle), (x1, y)], colour, width)
        yield _curve([(x1, y), (x2, y)], colour, width)
        if moved.ended_on is not None:
            yield _curve([(x2, y), (x3, arrived[moved.ended_on][place])], colour, width)


def _curve(points: Sequence[tuple[float, float]], colour: str, width: float, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    (x, y), *_ = points
    path = f"M{x:.1f} {y:.1f}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (x0 + x1) / 2
        path += f"C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:.1f}"{dashed}/>'


def _gateways(lines: Sequence[str], height: int) -> Iterable[str]:
    x, width = _GATEWAYS
    yield (
        f'<rect x="{x}" y="{_ABOVE}" width="{width}" height="{height - _ABOVE - 2}" rx="8" fill="none" '
        f'stroke="{GREYS[1]}"/>'
    )
    for place, line in enumerate(lines):
        size = 12 if place == 0 else 11
        yield words(x + width / 2, _ABOVE + 20 + 16 * place, cut(line, _GATEWAY), INK, "middle", size=size)


def _cluster(side: Side, top: int, *, is_home: bool) -> Iterable[str]:
    x, width = _CLUSTERS
    hue = HUES[side.hue]
    rounding = 12 if side.hue == "first" else 3
    yield (
        f'<rect x="{x}" y="{top}" width="{width}" height="{_BOX}" rx="{rounding}" fill="{hue.tint}" '
        f'stroke="{hue.ink}" stroke-width="{2 if is_home else 1}"/>'
    )
    yield shape(x + 16, top + 18, side.hue)
    yield words(x + 30, top + 23, cut(side.name, _CLUSTER), INK, bold=True, size=14)
    for place, line in enumerate(side.says[:2]):
        yield words(x + 12, top + 42 + 15 * place, cut(line, _RATE), INK, size=11)


def _mirror(moved: Moved, height: int) -> Iterable[str]:
    """Between both clusters: the mirror's direction in the end, and what was proved."""
    x = _CLUSTERS[0] + _CLUSTERS[1] - 14
    upper, lower = _ABOVE + _BOX + 10, height - _BOX - 12
    middle = (upper + lower) / 2
    if moved.copies_to is not None:
        tip, base = (upper, lower) if moved.copies_to == "first" else (lower, upper)
        back = 8 if tip < base else -8
        yield rule(x, base, x, tip + back, GREYS[0])
        yield f'<path d="M{x - 5} {tip + back}L{x} {tip}L{x + 5} {tip + back}z" fill="{GREYS[0]}"/>'
    for place, line in enumerate(moved.mirror[:3]):
        y = middle + 4 + (place - (len(moved.mirror[:3]) - 1) / 2) * 15
        yield words(x - 12, y, cut(line, _MIRROR), QUIET, "end", size=11)


def _client(client: Client, middle: float, colour: str) -> Iterable[str]:
    x, width = _CLIENTS
    yield (
        f'<rect x="{x + 0.5}" y="{middle - _ROW / 2 + 2:.1f}" width="{width - 1}" height="{_ROW - 4}" rx="5" '
        f'fill="none" stroke="{LINE}"/>'
    )
    yield f'<rect x="{x + 0.5}" y="{middle - _ROW / 2 + 2:.1f}" width="4" height="{_ROW - 4}" fill="{colour}"/>'
    yield words(x + 12, middle - 1, cut(client.name, _CLIENT), INK, bold=True, size=11)
    yield words(x + 12, middle + 11, cut(client.said, _SAID), QUIET, size=10)
    mark, ink = {True: ("✓", FINE), False: ("✗", BAD), None: ("?", QUIET)}[client.went_on]
    yield words(x + width - 8, middle + 5, mark, ink, "end", bold=True, size=13)


def shape(x: float, y: float, hue: str) -> str:
    """Return the sign of a cluster, so that colour is not all that tells the two apart: a circle, or a diamond."""
    if hue == "first":
        return f'<circle cx="{x}" cy="{y}" r="6" fill="{HUES[hue].ink}"/>'
    return f'<path d="M{x} {y - 7}L{x + 7} {y}L{x} {y + 7}L{x - 7} {y}z" fill="{HUES[hue].ink}"/>'
