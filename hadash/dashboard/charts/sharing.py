"""Charts of how AppIDs are shared: how many clients they have, which have the most, and what moves with them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import INK, QUIET, SURFACE, Chart, Linked, LinkedCount, counting, height_of
from hadash.presentation.tables import Column

#: Most AppIDs of the ranking, and most points of the scatter plot with a name; the others are drawn in groups.
RANKED = 20
NAMED = 300


@dataclass(frozen=True, slots=True)
class Shared:
    """One AppID. ``href``: its page; empty when it has none."""

    pair: str
    appid: str
    clients: int
    applications: int
    hosts: int
    radius: int
    href: str = ""


#: Returns the address that lists the AppIDs with so many clients, at least and at most.
Listed = Callable[[tuple[int, int]], str]


def nowhere(_clients: tuple[int, int]) -> str:
    """A :data:`Listed` where there is no list."""
    return ""


def bins_of(counts: Mapping[int, int]) -> list[tuple[int, int, int]]:
    """Return bins whose width doubles, from 1 to the largest: (from, to, number of AppIDs).

    :param counts: number of clients → number of AppIDs.

    >>> bins_of({1: 5, 2: 3, 3: 1, 9: 2})
    [(1, 1, 5), (2, 3, 4), (4, 7, 0), (8, 15, 2)]
    """
    if not counts:
        return []
    found: Counter[int] = Counter()
    for clients, appids in counts.items():
        found[max(1, clients).bit_length() - 1] += appids
    return [(1 << power, (2 << power) - 1, found[power]) for power in range(max(found) + 1)]


def distribution(counts: Mapping[int, int], listed: Listed = nowhere) -> Chart:
    """Return the chart of how many AppIDs have how many clients; the axis of AppIDs is logarithmic.

    :param counts: number of clients → number of AppIDs.
    :param listed: where the AppIDs of a bar are listed.
    """
    bins = bins_of(counts)
    words = [f"{low}" if low == high else f"{low}–{high}" for low, high, _appids in bins]
    sizes = [appids for _low, _high, appids in bins]
    shared = sum(appids for clients, appids in counts.items() if clients > 1)
    all_of_them = sum(counts.values())
    return Chart(
        "distribution",
        _("Clients of one AppID"),
        (Column("clients", _("Clients")), Column("appids", _("AppIDs"), "number")),
        [
            (word, LinkedCount(appids, listed((low, high)) if appids else ""))
            for word, (low, high, appids) in zip(words, bins, strict=True)
        ],
        [
            {
                "type": "bar",
                "x": words,
                "y": [appids or None for appids in sizes],
                "text": [f"{appids:,}" if appids else "" for appids in sizes],
                "textposition": "outside",
                "cliponaxis": False,
                "customdata": [[listed((low, high))] for low, high, _appids in bins],
                "marker": {"color": INK},
                "hovertemplate": _("%(y)s AppIDs with %(x)s clients") % {"y": "%{y:,}", "x": "%{x}"}
                + "<extra></extra>",
            }
        ],
        {
            "xaxis": {"type": "category", "title": {"text": _("clients of one AppID")}},
            "yaxis": {
                "type": "log",
                "title": {"text": _("AppIDs")},
                "dtick": "D2",
                "range": [-0.3, _top(sizes)],
            },
        },
        says=ngettext(
            "%(shared)s of %(all)s AppID is used by several clients. A bar leads to the list of its AppIDs.",
            "%(shared)s of %(all)s AppIDs are used by several clients. A bar leads to the list of its AppIDs.",
            all_of_them,
        )
        % {"shared": f"{shared:,}", "all": f"{all_of_them:,}"},
        empty=_("No AppID has been seen within the days that count."),
    )


def _top(sizes: Sequence[int]) -> float:
    """Return the upper end of a logarithmic axis, with room for a number above the bars."""
    return log10(max([*sizes, 1])) + 0.35


def ranking(rows: Sequence[Shared]) -> Chart:
    """Return the chart of the AppIDs with the most clients.

    :param rows: those with the most clients first.
    """
    rows = rows[:RANKED]
    names = _told_apart(rows)
    return Chart(
        "ranking",
        _("Most clients"),
        (
            Column("pair", _("Pair")),
            Column("appid", _("AppID")),
            Column("clients", _("Clients"), "number"),
            Column("applications", _("Applications"), "number"),
            Column("hosts", _("Hosts"), "number"),
        ),
        [(row.pair, Linked(row.appid, row.href), row.clients, row.applications, row.hosts) for row in rows],
        [
            {
                "type": "bar",
                "orientation": "h",
                "y": names[::-1],
                "x": [row.clients for row in rows[::-1]],
                "text": [f"{row.clients:,}" for row in rows[::-1]],
                "textposition": "outside",
                "cliponaxis": False,
                "customdata": [[row.href, row.applications, row.hosts] for row in rows[::-1]],
                "marker": {"color": INK},
                "width": 0.7,
                "hovertemplate": "<b>%{y}</b><br>"
                + _("%(x)s clients, %(applications)s applications on %(hosts)s hosts")
                % {"x": "%{x:,}", "applications": "%{customdata[1]:,}", "hosts": "%{customdata[2]:,}"}
                + "<extra></extra>",
            }
        ],
        {
            "xaxis": counting(_("clients"), max((row.clients for row in rows), default=0)),
            "yaxis": {"type": "category"},
            "margin": {"l": 120, "r": 56, "t": 8, "b": 40},
        },
        says=_("A switch of one of these moves all of its clients at once, except those with an InstanceID."),
        empty=_("No AppID has been seen within the days that count."),
        height=height_of(len(rows)),
    )


def _told_apart(rows: Iterable[Shared | Change]) -> list[str]:
    """Return the AppIDs' names; with the pair where two have the same name."""
    rows = list(rows)
    times = Counter(row.appid for row in rows)
    return [f"{row.appid} ({row.pair})" if times[row.appid] > 1 else row.appid for row in rows]


@dataclass(frozen=True, slots=True)
class Crowd:
    """AppIDs that are drawn as one point: how many they are, with their approximate number of clients and radius.
    ``href``: the list of them.
    """

    clients: int
    radius: int
    appids: int
    href: str = ""


def against_radius(rows: Sequence[Shared], crowds: Sequence[Crowd]) -> Chart:
    """Return the chart of sharing against blast radius.

    :param rows: the AppIDs that are drawn by themselves.
    :param crowds: all others.
    """
    columns = (
        Column("pair", _("Pair")),
        Column("appid", _("AppID")),
        Column("clients", _("Clients"), "number"),
        Column("radius", _("Moves together"), "number"),
        Column("appids", _("AppIDs"), "number"),
    )
    twin: list[tuple[object, ...]] = [
        (row.pair, Linked(row.appid, row.href), row.clients, row.radius, 1) for row in rows
    ]
    twin += [("", "", crowd.clients, crowd.radius, LinkedCount(crowd.appids, crowd.href)) for crowd in crowds]
    axis = {"type": "log", "dtick": "D2"}
    return Chart(
        "sharing-radius",
        _("Sharing and blast radius"),
        columns,
        twin,
        [
            {
                "type": "scatter",
                "mode": "markers",
                "x": [crowd.clients for crowd in crowds],
                "y": [max(1, crowd.radius) for crowd in crowds],
                "customdata": [[crowd.href, crowd.appids] for crowd in crowds],
                "marker": {
                    "size": [6 + 7 * log10(1 + crowd.appids) for crowd in crowds],
                    "color": [QUIET, 0.25],
                    "line": {"width": 0},
                },
                "hovertemplate": _("%(n)s AppIDs of about %(x)s clients; about %(y)s things move together")
                % {"n": "%{customdata[1]:,}", "x": "%{x:,}", "y": "%{y:,}"}
                + "<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "markers",
                "x": [row.clients for row in rows],
                "y": [max(1, row.radius) for row in rows],
                "text": _told_apart(rows),
                "customdata": [[row.href] for row in rows],
                "marker": {"size": 9, "color": INK, "line": {"width": 1, "color": "@surface"}},
                "hovertemplate": "<b>%{text}</b><br>"
                + _("%(x)s clients; %(y)s things move together") % {"x": "%{x:,}", "y": "%{y:,}"}
                + "<extra></extra>",
            },
        ],
        {
            "xaxis": {**axis, "title": {"text": _("clients")}},
            "yaxis": {**axis, "title": {"text": _("things that move together")}},
        },
        says=_(
            "On the upper right is what is hardest to move: many clients, and much that comes along. A point "
            "leads to its AppID, a disc to the list of its AppIDs."
        ),
        empty=_("No AppID has been seen within the days that count."),
        height=360,
    )


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of registering the InstanceIDs of one AppID: how many things move together at most around it,
    before and after. ``clients``: how many are to be registered.
    """

    pair: str
    appid: str
    clients: int
    before: int
    after: int
    href: str = ""


def before_and_after(changes: Sequence[Change] | None) -> Chart:
    """Return the chart with a line per AppID, from how much moves together now to how much would; the largest gains
    only.

    :param changes: in the order of the work list; ``None`` while no run has made one.
    """
    empty = (
        _("No work list has been made yet: the job Advice has not run.")
        if changes is None
        else _("Nothing is left to do: registering more InstanceIDs would break up nothing more.")
    )
    changes = changes or ()
    rows = sorted(changes, key=lambda row: row.after - row.before)[:RANKED]
    names = _told_apart(rows)
    # (Plotly draws from below.)
    rows, names = rows[::-1], names[::-1]
    between: dict[str, list[Any]] = {"x": [], "y": []}
    for row, name in zip(rows, names, strict=True):
        between["x"] += [max(1, row.after), max(1, row.before), None]
        between["y"] += [name, name, None]

    def ends(values: list[int], word: str, symbol: str, colour: str) -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "markers",
            "name": word,
            "x": [max(1, value) for value in values],
            "y": names,
            "customdata": [
                [row.href, f"{row.before:,}", f"{row.after:,}", f"{row.clients:,}"] for row in rows
            ],
            "marker": {"size": 10, "symbol": symbol, "color": colour, "line": {"width": 1.5, "color": INK}},
            "hovertemplate": "<b>%{y}</b> %{customdata[1]} → %{customdata[2]}<br>"
            + _("to be registered: %(n)s") % {"n": "%{customdata[3]}"}
            + "<extra></extra>",
        }

    return Chart(
        "before-and-after",
        _("Before and after"),
        (
            Column("pair", _("Pair")),
            Column("appid", _("AppID")),
            Column("clients", _("To be registered"), "number"),
            Column("before", _("Before"), "number"),
            Column("after", _("After"), "number"),
        ),
        [(row.pair, Linked(row.appid, row.href), row.clients, row.before, row.after) for row in changes],
        [
            {
                "type": "scatter",
                "mode": "lines",
                **between,
                "line": {"color": QUIET, "width": 2},
                "hoverinfo": "skip",
            },
            ends([row.before for row in rows], _("Before"), "circle", SURFACE),
            ends([row.after for row in rows], _("After"), "diamond", INK),
        ]
        if rows
        else [],
        {
            "xaxis": {
                "type": "log",
                "dtick": "D2",
                "title": {"text": _("things that move together at most")},
            },
            "yaxis": {"type": "category"},
            "margin": {"l": 120, "r": 40, "t": 8, "b": 44},
        },
        says=_(
            "How much moves together around an AppID now (circle), and once its InstanceIDs are registered "
            "(diamond): step by step, as the work list has it."
        ),
        empty=empty,
        height=height_of(len(rows)),
    )
