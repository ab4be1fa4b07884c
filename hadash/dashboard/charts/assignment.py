"""The chart of how a group's partitions are spread over its members, now and after a change of the group. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from hadash.dashboard.charts.chart import INK, QUIET, Chart, counting, height_of
from hadash.presentation.tables import Column

#: Most members that are drawn: of more, those with the most and the fewest partitions.
MEMBERS = 26


def spread(words: Mapping[str, str], now: Mapping[str, int], then: Mapping[str, int] | None = None) -> Chart:
    """Return a chart with a bar per member: how many partitions it has.

    :param words: the members' names by id.
    :param now: the members' numbers of partitions by id.
    :param then: the same after a change; ``None`` without a change.
    """
    members = list(dict.fromkeys([*now, *(then or ())]))
    members.sort(
        key=lambda member: (-max(now.get(member, 0), (then or {}).get(member, 0)), words.get(member, member))
    )
    shown = members if len(members) <= MEMBERS else [*members[: MEMBERS // 2], *members[-MEMBERS // 2 :]]
    names = [words.get(member, member) for member in shown]
    traces = [
        _bars(names, [now.get(member) for member in shown], _("now"), QUIET if then is not None else INK)
    ]
    if then is not None:
        traces.append(_bars(names, [then.get(member) for member in shown], _("then"), INK))
    columns = [Column("member", _("Member")), Column("now", _("Now"), "number", none="–")]
    if then is not None:
        columns.append(Column("then", _("Then"), "number", none="–"))
    return Chart(
        "assignment",
        _("Partitions of each member"),
        tuple(columns),
        [
            (words.get(member, member), now.get(member), *([then.get(member)] if then is not None else []))
            for member in members
        ],
        traces,
        {
            "xaxis": counting(_("partitions"), max([*now.values(), *(then or {}).values()], default=0)),
            "yaxis": {"type": "category", "autorange": "reversed"},
            "barmode": "group",
            "margin": {"l": 160, "r": 56, "t": 8, "b": 40},
        },
        says=_said(now, then),
        empty=_("The group has no members now."),
        height=height_of(len(shown) * (2 if then is not None else 1)),
    )


def _bars(names: Sequence[str], sizes: Sequence[int | None], word: str, colour: str) -> dict[str, object]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": word,
        "y": list(names),
        "x": list(sizes),
        "text": [f"{size:,}" if size is not None else "" for size in sizes],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": colour},
        "hovertemplate": f"<b>%{{y}}</b> {word}: %{{x:,}}<extra></extra>",
    }


def _said(now: Mapping[str, int], then: Mapping[str, int] | None) -> str:
    before = _("Now the members have %(fewest)s to %(most)s partitions each.") % _ends(now)
    if then is None:
        return before if now else ""
    return before + " " + _("Then they would have %(fewest)s to %(most)s (the darker bars).") % _ends(then)


def _ends(sizes: Mapping[str, int]) -> dict[str, int]:
    return {"fewest": min(sizes.values(), default=0), "most": max(sizes.values(), default=0)}
