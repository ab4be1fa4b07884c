"""The chart of a blast radius: what moves together and why, step by step from what was asked for; and what has
changed since the request. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import BAD, FINE, GREYS, INK, QUIET, Chart, Linked, height_of
from hadash.dashboard.charts.map_marks import Turn
from hadash.presentation.tables import Column

#: Most members that are drawn; the others are counted by step.
MOST_DRAWN = 120

#: Most members with which names are drawn, and most characters of a name.
NAMED, NAME_LENGTH = 40, 34
#: Steps away from what was asked for that fit on a phone, with their names.
NARROW_STEPS = 1


@dataclass(frozen=True, slots=True)
class Link:
    """A member.

    :param because: the key of the member that pulls it in; empty for what was asked for.
    :param why: the same in words.
    :param chain: the names of all members from what was asked for to this one.
    :param already: it is on the target already.
    """

    key: str
    because: str
    kind: str
    symbol: str
    name: str
    why: str
    chain: tuple[str, ...]
    already: bool = False
    turn: Turn = Turn.SAME
    href: str = ""


def blast_radius(
    members: Sequence[Link], beyond: Mapping[int, int], says: str = "", address: str = ""
) -> Chart:
    """Return the chart: from left to right, each step pulls in the next.

    :param members: the nearest first; beyond :data:`MOST_DRAWN` they are only rows of the table.
    :param beyond: step → how many members are not drawn.
    :param says: the sentence above the chart, if it is not the default one.
    :param address: the page that has the table as CSV, when another page shows the chart.
    """
    shown = members[:MOST_DRAWN]
    places = _places(shown)
    total = len(shown) + sum(beyond.values())
    deepest = max((x for x, _y in places.values()), default=0)
    lines_x: list[float | None] = []
    lines_y: list[float | None] = []
    for link in shown:
        if link.because in places:
            (from_x, from_y), (to_x, to_y) = places[link.because], places[link.key]
            lines_x += [from_x, to_x, None]
            lines_y += [from_y, to_y, None]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": lines_x,
            "y": lines_y,
            "line": {"color": [GREYS[2], 0.7], "width": 1},
            "hoverinfo": "skip",
        },
        _marks(shown, places),
    ]
    if beyond:
        traces.append(_crowds(beyond, min((y for _x, y in places.values()), default=0.0)))
    rows = max(Counter(x for x, _y in places.values()).values(), default=1) + bool(beyond)
    return Chart(
        "blast-radius",
        _("What pulls in what"),
        (
            Column("name", _("Member")),
            Column("kind", _("Kind")),
            Column("why", _("Because")),
            Column("chain", _("From what was asked for")),
            Column("already", _("On the target")),
            Column("turn", _("Since the request")),
        ),
        [
            (
                Linked(link.name, link.href),
                link.kind,
                link.why,
                " → ".join(link.chain),
                _("there already") if link.already else "",
                _turn_word(link.turn),
            )
            for link in members
        ],
        traces if shown else [],
        {
            "xaxis": {
                "range": [-0.2, deepest + 1.2],
                "tickvals": list(range(int(deepest) + 1)),
                "ticktext": [_("asked for"), *(f"+{step}" for step in range(1, int(deepest) + 1))],
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis": {"visible": False},
            "margin": {"l": 24, "r": 24, "t": 8, "b": 36},
        },
        says=_with_hints(says or _said(shown, beyond, total), shown),
        empty=_("Nothing moves."),
        height=height_of(rows),
        is_wide=deepest > NARROW_STEPS,
        address=address,
        is_fragment=bool(address),
    )


def _places(shown: Sequence[Link]) -> dict[str, tuple[float, float]]:
    """Place each member at its step and level with the members that it pulls in, so that lines do not cross."""
    children: dict[str, list[str]] = defaultdict(list)
    known = {link.key for link in shown}
    roots = []
    for link in shown:
        if link.because in known:
            children[link.because].append(link.key)
        else:
            roots.append(link.key)
    places: dict[str, tuple[float, float]] = {}
    row = 0.0
    # (Depth first, without recursion: a chain may be long.)
    waiting: list[tuple[str, int, bool]] = [(key, 0, False) for key in reversed(roots)]
    while waiting:
        key, step, settled = waiting.pop()
        own = children[key]
        if settled:
            places[key] = (step, sum(places[child][1] for child in own) / len(own))
        elif own:
            waiting.append((key, step, True))
            waiting += [(child, step + 1, False) for child in reversed(own)]
        else:
            places[key] = (step, -row)
            row += 1
    return places


def _marks(shown: Sequence[Link], places: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    colours = {Turn.NEW: FINE, Turn.GONE: BAD}
    symbols = {Turn.NEW: "cross", Turn.GONE: "x"}
    leading = {link.because for link in shown}
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [places[link.key][0] for link in shown],
        "y": [places[link.key][1] for link in shown],
        "text": [_short(link) if len(shown) <= NAMED else "" for link in shown],
        # (Where lines continue to the right, the name is above them.)
        "textposition": ["top center" if link.key in leading else "middle right" for link in shown],
        "textfont": {"size": 11.5},
        "cliponaxis": False,
        "customdata": [
            [link.href, link.name, link.kind, " →<br>".join(link.chain), link.why, _aside(link)]
            for link in shown
        ],
        "marker": {
            # (Open: it is on the target already.)
            "symbol": [
                symbols.get(link.turn, f"{link.symbol}-open" if link.already else link.symbol)
                for link in shown
            ],
            "size": [11 if not link.because else 9 for link in shown],
            "color": [colours.get(link.turn, QUIET if link.already else INK) for link in shown],
        },
        "hovertemplate": "<b>%{customdata[1]}</b> · "
        "%{customdata[2]}<br>%{customdata[4]}<br><br>%{customdata[3]}<extra>%{customdata[5]}</extra>",
    }


def _crowds(beyond: Mapping[int, int], lowest: float) -> dict[str, Any]:
    steps = sorted(beyond)
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": steps,
        "y": [lowest - 1.5] * len(steps),
        "text": [
            ngettext("%(count)s more", "%(count)s more", beyond[step]) % {"count": f"{beyond[step]:,}"}
            for step in steps
        ],
        "textposition": "middle right",
        "cliponaxis": False,
        "marker": {"symbol": "circle-open", "size": 14, "color": QUIET},
        "customdata": [["#csv"]] * len(steps),
        "hovertemplate": _("A click saves all of them as CSV.") + "<extra></extra>",
    }


def _short(link: Link) -> str:
    name = link.name if len(link.name) <= NAME_LENGTH else f"{link.name[: NAME_LENGTH - 1]}…"
    return f" {name}"


def _turn_word(turn: Turn) -> str:
    return {Turn.NEW: _("new"), Turn.GONE: _("gone")}.get(turn, "")


def _aside(link: Link) -> str:
    """Return what distinguishes a member from the others; empty for nothing."""
    return _turn_word(link.turn) or (_("there already") if link.already else "")


def _with_hints(says: str, shown: Sequence[Link]) -> str:
    """Return what is said above the chart, with how its marks are read."""
    if any(link.already for link in shown):
        says += " " + _("Open marks are on the target already.")
    if len(shown) > NAMED:
        says += " " + _("Point at a mark for its name.")
    return says


def _said(shown: Sequence[Link], beyond: Mapping[int, int], total: int) -> str:
    asked = sum(not link.because for link in shown)
    furthest = max([*beyond, *(len(link.chain) - 1 for link in shown)], default=0)
    if not furthest:
        return _("Nothing comes along: what was asked for moves by itself.")
    return ngettext(
        "%(asked)s of %(all)s was asked for; the others come along (longest chain: %(steps)s).",
        "%(asked)s of %(all)s were asked for; the others come along (longest chain: %(steps)s).",
        asked,
    ) % {"asked": f"{asked:,}", "all": f"{total:,}", "steps": furthest}
