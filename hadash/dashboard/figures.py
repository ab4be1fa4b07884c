"""Small charts that are drawn on the server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from django.conf import settings
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

WIDTH, HEIGHT, PAD = 132, 28, 3

Point = tuple[float, float]


def segments(history: list[tuple[datetime, int | None]], gap_seconds: float) -> list[list[tuple[float, int]]]:
    """Return the history as pieces of (seconds, records): an unknown or missing sample ends a piece."""
    pieces: list[list[tuple[float, int]]] = []
    last: float | None = None
    for at, records in history:
        moment = at.timestamp()
        if records is None:
            last = None
            continue
        if last is None or moment - last > gap_seconds:
            pieces.append([])
        pieces[-1].append((moment, records))
        last = moment
    return pieces


def sparkline_svg(history: list[tuple[datetime, int | None]]) -> SafeString:
    """Draw a line per piece with a dot at the end; the scale begins at zero and is at least ten records high."""
    known = [records for _at, records in history if records is not None]
    if not known:
        return format_html(
            '<svg class="spark none" viewBox="0 0 {} {}" role="img" aria-label="{}">'
            '<rect x="0" y="0" width="{}" height="{}" rx="3"/></svg>',
            WIDTH,
            HEIGHT,
            _("no lag known"),
            WIDTH,
            HEIGHT,
        )
    first, last = history[0][0].timestamp(), history[-1][0].timestamp()
    span, top = max(last - first, 1.0), max(10, *known)

    def place(moment: float, records: float) -> Point:
        return (
            PAD + (moment - first) / span * (WIDTH - 2 * PAD),
            HEIGHT - PAD - records / top * (HEIGHT - 2 * PAD),
        )

    # A longer history has a value for each minute, and not for each sample.
    steps = ((after - before).total_seconds() for (before, _records), (after, _more) in pairwise(history))
    pieces = segments(history, 5 * max(settings.LAG_SAMPLE_SECONDS, min(steps, default=0.0)))
    lines = format_html_join(
        "",
        '<polyline points="{}"/>',
        ((" ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*p) for p in piece)),) for piece in pieces),
    )
    end_x, end_y = place(*pieces[-1][-1])
    label = _("lag between %(low)s and %(high)s records") % {"low": min(known), "high": max(known)}
    return format_html(
        '<svg class="spark" viewBox="0 0 {w} {h}" role="img" aria-label="{label}"><title>{label}</title>'
        '<line x1="{p}" x2="{r}" y1="{b}" y2="{b}"/>{lines}<circle cx="{x}" cy="{y}" r="2"/></svg>',
        w=WIDTH,
        h=HEIGHT,
        label=label,
        p=PAD,
        r=WIDTH - PAD,
        b=HEIGHT - PAD,
        lines=lines,
        x=f"{end_x:.1f}",
        y=f"{end_y:.1f}",
    )


def trend_svg(values: Sequence[float | None], label: str) -> SafeString:
    """Draw a line over days with a dot at its end; days without a value are gaps. The scale begins at zero."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return format_html("")
    top = max(1e-9, *known)
    step = (WIDTH - 2 * PAD) / max(1, len(values) - 1)
    points = [
        None if value is None else (PAD + number * step, HEIGHT - PAD - value / top * (HEIGHT - 2 * PAD))
        for number, value in enumerate(values)
    ]
    pieces: list[list[Point]] = [[]]
    for point in points:
        if point is None:
            pieces.append([])
        else:
            pieces[-1].append(point)
    lines = format_html_join(
        "",
        '<polyline points="{}"/>',
        ((" ".join(f"{x:.1f},{y:.1f}" for x, y in piece),) for piece in pieces if piece),
    )
    x, y = next(point for point in reversed(points) if point is not None)
    return format_html(
        '<svg class="spark" viewBox="0 0 {w} {h}" role="img" aria-label="{label}"><title>{label}</title>{lines}'
        '<circle cx="{x}" cy="{y}" r="2"/></svg>',
        w=WIDTH,
        h=HEIGHT,
        label=label,
        lines=lines,
        x=f"{x:.1f}",
        y=f"{y:.1f}",
    )
