"""Draws the charts of reports as SVG. Mails contain them as PNG (no mail program shows SVG), pages and PDFs as
SVG. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hadash.reports.drawing import BAD, GREYS, INK, LETTER, LINE, QUIET, WIDTH, cut, rule, svg_of, words

#: Pixels.
HEIGHT = 180
#: Pixels from one bar to the next.
_BAR_STEP = 24


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart. ``values``: one for each day; ``None`` is drawn as a gap."""

    name: str
    values: Sequence[float | None]
    colour: str = GREYS[0]


def lines(
    series: Sequence[Series],
    labels: tuple[str, str],
    unit: str = "",
    limit: tuple[float, str] | None = None,
    top: float | None = None,
    height: int = HEIGHT,
) -> str:
    """Return a chart with lines over days.

    :param labels: the labels below the first and the last day.
    :param limit: the value and name of a limit, such as the RPO.
    :param top: the end of the axis; ``None``: just above the largest value.
    """
    ends = [(each, next((v for v in reversed(each.values) if v is not None), None)) for each in series]
    said = [
        (each, last, f"{each.name} {_short(last)}{unit}".strip()) for each, last in ends if last is not None
    ]
    longest = max([0, *(len(label) for _, _, label in said), len(limit[1]) if limit else 0])
    left, right, above, below = 44, max(96, round(LETTER * longest) + 8), 12, 24
    inner_width, inner_height = WIDTH - left - right, height - above - below
    known = [v for each in series for v in each.values if v is not None]
    highest = top if top is not None else _nice(max([*known, limit[0] if limit else 0.0, 1e-9]) * 1.05)

    def x(number: int, of: int) -> float:
        return left + (inner_width * number / (of - 1) if of > 1 else inner_width)

    def y(value: float) -> float:
        return above + inner_height * (1 - min(value, highest) / highest)

    parts = []
    for share in (0, 0.5, 1):
        level = y(highest * share)
        parts.append(rule(left, level, left + inner_width, level, LINE))
        parts.append(words(left - 6, level + 4, f"{_short(highest * share)}{unit}", QUIET, "end"))
    for number, anchor in ((0, "start"), (1, "end")):
        parts.append(words(left + inner_width * number, height - 6, labels[number], QUIET, anchor))
    if limit is not None:
        parts.append(rule(left, y(limit[0]), left + inner_width, y(limit[0]), BAD, dashes="4 3"))
        parts.append(words(left + inner_width + 6, y(limit[0]) + 4, limit[1], BAD))
    for each in series:
        for run in _runs(each.values):
            points = [(x(n, len(each.values)), y(v)) for n, v in run]
            if len(points) == 1:
                ((cx, cy),) = points
                parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="2.5" fill="{each.colour}"/>')
            else:
                path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
                parts.append(
                    f'<polyline points="{path}" fill="none" stroke="{each.colour}" stroke-width="2"/>'
                )
    labelled = [(y(last), label, each.colour) for each, last, label in said]
    for level, label, colour in _apart(labelled, 14, above + 4, height - below):
        parts.append(words(left + inner_width + 6, level + 4, label, colour, bold=True))
    return svg_of(height, parts)


def bars(rows: Sequence[tuple[str, float, str]], unit: str = "", colour: str = GREYS[0]) -> str:
    """Return a chart with bars beside their names, the first on top.

    :param rows: (name, value, text behind the bar; empty for the value itself).
    """
    left, right, step = 170, 90, _BAR_STEP
    inner = WIDTH - left - right
    largest = max([value for _, value, _ in rows], default=0) or 1
    parts = []
    for number, (name, value, said) in enumerate(rows):
        top = 6 + number * step
        width = max(1.0, inner * value / largest)
        parts.append(words(left - 8, top + 14, cut(name, 24), INK, "end"))
        parts.append(
            f'<rect x="{left}" y="{top + 2}" width="{width:.1f}" height="{step - 8}" fill="{colour}"/>'
        )
        parts.append(words(left + width + 6, top + 14, said or f"{_short(value)}{unit}", QUIET))
    return svg_of(bars_height(len(rows)), parts)


def bars_height(count: int) -> int:
    """Return the height of :func:`bars` with so many rows, in pixels."""
    return 12 + _BAR_STEP * max(1, count)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a timeline. Seconds since 1970; ``until``: ``None`` for one that has not ended. ``said``: what stands
    behind it.
    """

    name: str
    since: float
    until: float | None
    said: str


@dataclass(frozen=True, slots=True)
class Band:
    """A stage behind the bars of a timeline. Seconds since 1970."""

    name: str
    begin: float
    end: float
    is_marked: bool


#: Pixels above the bars of a timeline, for the names of its stages, and below them, for the times.
_ABOVE, _BELOW = 40, 24
#: Seconds before the first bar and behind the last one.
_MARGIN = 0.5


def timeline(bars: Sequence[Bar], bands: Sequence[Band], clock: Callable[[float], str]) -> str:
    """Return a chart with a bar for each row on one time axis, over the stages in which they lie.

    :param clock: returns the text for a time.
    """
    height = timeline_height(len(bars))
    moments = [bar.since for bar in bars] + [bar.until for bar in bars if bar.until is not None]
    moments += [end for band in bands if band.is_marked for end in (band.begin, band.end)]
    begin, end = min(moments) - _MARGIN, max(moments) + _MARGIN
    left = 170
    right = max([60, *(round(LETTER * len(bar.said)) for bar in bars)])
    inner = WIDTH - left - right

    def x(at: float) -> float:
        return left + inner * (min(max(at, begin), end) - begin) / (end - begin)

    parts = []
    free = [0.0, 0.0]
    for band in sorted(bands, key=lambda each: each.begin):
        if band.end <= begin or band.begin >= end:
            continue
        if band.is_marked:
            width = max(1.0, x(band.end) - x(band.begin))
            parts.append(
                f'<rect x="{x(band.begin):.1f}" y="{_ABOVE}" width="{width:.1f}" height="{height - _ABOVE - _BELOW}"'
                f' fill="{LINE}"/>'
            )
        parts.append(rule(x(band.begin), _ABOVE, x(band.begin), height - _BELOW, GREYS[2], dashes="2 3"))
        # (A name that would lie on another one goes to the second line, or is left to the table of stages.)
        level = next((n for n, until in enumerate(free) if until <= x(band.begin)), None)
        if level is not None:
            free[level] = x(band.begin) + LETTER * len(band.name)
            parts.append(words(x(band.begin) + 2, _ABOVE - 6 - 14 * level, band.name, QUIET))
    for number, bar in enumerate(bars):
        top = _ABOVE + 4 + number * _BAR_STEP
        until = end if bar.until is None else bar.until
        width = max(1.0, x(until) - x(bar.since))
        colour = BAD if bar.until is None else GREYS[0]
        parts.append(words(left - 8, top + 14, cut(bar.name, 24), INK, "end"))
        parts.append(
            f'<rect x="{x(bar.since):.1f}" y="{top + 2}" width="{width:.1f}" height="{_BAR_STEP - 8}" fill="{colour}"/>'
        )
        parts.append(words(x(until) + 6, top + 14, bar.said, QUIET))
    for at, anchor in ((begin, "start"), (end, "end")):
        parts.append(words(x(at), height - 6, clock(at), QUIET, anchor))
    return svg_of(height, parts)


def timeline_height(count: int) -> int:
    """Return the height of :func:`timeline` with so many bars, in pixels."""
    return _ABOVE + 8 + _BAR_STEP * max(1, count) + _BELOW


def _runs(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """Return the runs of values without gaps, which a line can join.

    >>> _runs([1, 2, None, 3])
    [[(0, 1), (1, 2)], [(3, 3)]]
    """
    found: list[list[tuple[int, float]]] = []
    before = None
    for number, value in enumerate(values):
        if value is not None:
            if before is None:
                found.append([])
            found[-1].append((number, value))
        before = value
    return found


def _apart(
    labels: Sequence[tuple[float, str, str]], distance: float, lowest: float, highest: float
) -> list[tuple[float, str, str]]:
    """Return the labels, moved so that none overlaps another.

    >>> [level for level, *_ in _apart([(10, "a", ""), (12, "b", ""), (80, "c", "")], 14, 0, 100)]
    [10, 24, 80]
    """
    placed: list[tuple[float, str, str]] = []
    for level, label, colour in sorted(labels):
        level = max(level, lowest, placed[-1][0] + distance if placed else lowest)
        placed.append((level, label, colour))
    beyond = placed[-1][0] - highest if placed else 0
    return [(level - beyond, label, colour) for level, label, colour in placed] if beyond > 0 else placed


def _nice(value: float) -> float:
    """Return the next larger one of 1, 2, 5, 10, 20, …

    >>> [_nice(each) for each in (0.3, 1, 7, 81)]
    [0.5, 1, 10, 100]
    """
    size = 10.0**-3
    while True:
        for step in (1, 2, 5):
            if size * step >= value * (1 - 1e-9):
                found = size * step
                return int(found) if found >= 1 else round(found, 6)
        size *= 10


def _short(value: float) -> str:
    """Return a number as a short text.

    >>> [_short(each) for each in (0.25, 3, 12.4, 12_345, 3_000_000)]
    ['0.25', '3', '12.4', '12.3k', '3M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
