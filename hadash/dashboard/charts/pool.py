"""The chart of a pool: how many partitions each member has, and how many it is to start and to stop. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from hadash.dashboard.charts.chart import BAD, INK, UNKNOWN, WAITING, Chart, counting, height_of
from hadash.presentation.pools import TopicRow
from hadash.presentation.tables import Column

#: Most members that are drawn: of more, those with the most and the fewest partitions.
MEMBERS = 26


@dataclass(slots=True)
class Load:
    """Partitions of a member: those that it has and keeps, those it is to start, and those it is to stop."""

    keeps: int = 0
    starts: int = 0
    stops: int = 0

    @property
    def all(self) -> int:
        return self.keeps + self.starts + self.stops


def loads(members: Iterable[str], topics: Iterable[TopicRow]) -> tuple[dict[str, Load], int]:
    """Return member → its partitions of these Topics, and the number of partitions that nobody has or gets."""
    found = {member: Load() for member in members}
    of_nobody = 0
    for topic in topics:
        to_start = {(who, each) for who, own in topic.to_start.items() for each in own}
        getting = {each for _who, each in to_start}
        for partition, who in topic.members.items():
            if not who:
                of_nobody += partition not in getting
                continue
            load = found.setdefault(who, Load())
            if (who, partition) in to_start:
                load.starts += 1
            else:
                load.keeps += 1
        for who, partition in to_start:
            if topic.members.get(partition) != who:
                found.setdefault(who, Load()).starts += 1
        for who, own in topic.to_close.items():
            found.setdefault(who, Load()).stops += sum(topic.members.get(each) != who for each in own)
    return found, of_nobody


def assignment(members: Iterable[str], topics: Iterable[TopicRow]) -> Chart:
    """Return a chart with a bar for each member."""
    found, of_nobody = loads(members, topics)
    order = sorted(found, key=lambda name: (-found[name].all, name))
    shown = order if len(order) <= MEMBERS else [*order[: MEMBERS // 2], *order[-MEMBERS // 2 :]]
    parts: list[tuple[str, str, str, Mapping[str, int]]] = [
        (_("has"), INK, "", {name: found[name].keeps for name in shown}),
        (_("is to start"), WAITING, "/", {name: found[name].starts for name in shown}),
        (_("is to stop"), UNKNOWN, "x", {name: found[name].stops for name in shown}),
    ]
    names = list(shown)
    if of_nobody:
        nobody = _("nobody")
        names.append(nobody)
        parts.append((_("nobody has"), BAD, ".", {nobody: of_nobody}))
    traces = [_bars(names, *part) for part in parts if any(part[3].values())]
    return Chart(
        "assignment",
        _("Partitions of each member"),
        (
            Column("member", _("Member")),
            Column("has", _("Has"), "number"),
            Column("starts", _("Is to start"), "number"),
            Column("stops", _("Is to stop"), "number"),
        ),
        [(name, found[name].keeps, found[name].starts, found[name].stops) for name in order],
        traces,
        {
            "xaxis": counting(_("partitions"), max([of_nobody, *(each.all for each in found.values())])),
            "yaxis": {"type": "category", "autorange": "reversed", "categoryarray": names},
            "barmode": "stack",
            "showlegend": len(traces) > 1,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
            "margin": {"l": 160, "r": 56, "t": 32, "b": 40},
        },
        says=_said(found, of_nobody),
        empty=_("The pool has no members, and nothing to read."),
        height=height_of(len(names)),
    )


def _bars(names: list[str], word: str, colour: str, pattern: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    values = [sizes.get(name) or None for name in names]
    return {
        "type": "bar",
        "orientation": "h",
        "name": word,
        "y": names,
        "x": values,
        "text": [f"{size:,}" if size else "" for size in values],
        "textposition": "auto",
        "marker": {"color": colour, "pattern": {"shape": pattern}},
        "hovertemplate": f"<b>%{{y}}</b> {word}: %{{x:,}}<extra></extra>",
    }


def _said(found: Mapping[str, Load], of_nobody: int) -> str:
    if not found:
        return ""
    counts = [load.keeps + load.starts for load in found.values()]
    said = _("The members have %(fewest)s to %(most)s partitions each.") % {
        "fewest": min(counts),
        "most": max(counts),
    }
    moving = sum(load.starts for load in found.values())
    if moving:
        said += " " + _("%(count)s are being moved (hatched).") % {"count": moving}
    if of_nobody:
        said += " " + _("Nobody has %(count)s.") % {"count": of_nobody}
    return said
