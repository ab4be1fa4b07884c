"""The chart of who uses what, from left to right: AppID, InstanceID, Topic, group, cluster. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import FIRST, HEIGHTS, INK, QUIET, SECOND, Chart, Linked
from hadash.presentation.tables import Column

#: Most names of one column; the others are drawn as one.
MOST_NAMED = 14

#: The columns, from left to right.
APPID, CLIENT, TOPIC, GROUP, CLUSTER = range(5)

GROUP_USE, PRODUCE = "group", "produce"


class Flow(NamedTuple):
    """One use of a Topic or a group by a client. ``is_own``: a use of the focus itself, not of its surroundings."""

    appid: str
    client_id: str
    kind: str
    resource: str
    cluster: str
    records: int
    last_seen: datetime
    is_own: bool = True


class Place(NamedTuple):
    """A node in a column. ``key``: its identity there; ``None``: all things that are not drawn by name."""

    column: int
    key: tuple[str, ...] | None


@dataclass
class _Link:
    """A link between two places: its uses, counted, and their kinds."""

    uses: int = 0
    records: int = 0
    is_own: bool = False
    kinds: set[str] = field(default_factory=set)
    clusters: set[str] = field(default_factory=set)


def flows(
    clusters: tuple[str, str],
    found: Sequence[Flow],
    focus: Place,
    says: str,
    href: Callable[[Place], str],
) -> Chart:
    """Return the chart.

    :param focus: the place that the page is about.
    :param href: returns the address of a place's own page; for a place without a key, of a page with all that it
        stands for; empty for none.
    """
    href = cache(href)  # (Thousands of rows name some hundred places.)
    steps = _steps(found)
    shown = _shown(steps, focus)
    links: dict[tuple[Place, Place], _Link] = defaultdict(_Link)
    for (one, other), link in steps.items():
        kept = links[_kept(one, shown), _kept(other, shown)]
        kept.uses += link.uses
        kept.records += link.records
        kept.is_own |= link.is_own
        kept.kinds |= link.kinds
        kept.clusters |= link.clusters
    places = sorted({place for pair in links for place in pair}, key=_order)
    numbers = {place: number for number, place in enumerate(places)}
    beyond = _beyond(steps, shown)
    rows = sorted(found, key=lambda f: (not f.is_own, f.appid, f.client_id, f.kind, f.resource))
    return Chart(
        "flows",
        _("Who uses what"),
        (
            Column("appid", _("AppID")),
            Column("client_id", _("InstanceID")),
            Column("kind", _("Does"), "use"),
            Column("resource", _("Topic or group")),
            Column("cluster", _("Cluster"), "cluster"),
            Column("records", _("Records"), "number"),
            Column("last_seen", _("Last seen"), "time"),
        ),
        [
            (
                Linked(f.appid, href(Place(APPID, (f.appid,)))),
                Linked(f.client_id, href(Place(CLIENT, (f.appid, f.client_id)))),
                f.kind,
                Linked(f.resource, href(Place(GROUP if f.kind == GROUP_USE else TOPIC, (f.resource,)))),
                f.cluster,
                f.records,
                f.last_seen,
            )
            for f in rows
        ],
        [
            {
                "type": "sankey",
                "arrangement": "snap",
                "domain": {"x": [0, 1], "y": [0, 0.94]},
                "node": {
                    "label": [_label(place, beyond) for place in places],
                    "color": [_colour(place, focus, clusters) for place in places],
                    "customdata": [
                        [href(place), ", ".join(beyond.get(place.column, ())[:30])] for place in places
                    ],
                    "pad": 12,
                    "thickness": 14,
                    "line": {"width": 0},
                    "hovertemplate": "<b>%{label}</b><br>%{customdata[1]}<extra></extra>",
                },
                "link": {
                    "source": [numbers[one] for one, _other in links],
                    "target": [numbers[other] for _one, other in links],
                    "value": [link.uses for link in links.values()],
                    "color": [_link_colour(link, clusters) for link in links.values()],
                    "customdata": [_of_link(link) for link in links.values()],
                    "hovertemplate": "%{source.label} → %{target.label}<br>%{customdata}<extra></extra>",
                },
            }
        ],
        {
            "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
            "annotations": _heads(links),
        },
        says=says,
        empty=_("Nobody has used it within the days that count."),
        height=_height(places),
        is_wide=True,
    )  # fmt: skip


def _steps(found: Iterable[Flow]) -> dict[tuple[Place, Place], _Link]:
    """Return the links from column to column. A Topic leads to the groups of its readers; a Topic that no group
    reads leads directly to its cluster.
    """
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for flow in found:
        if flow.kind == GROUP_USE:
            groups[flow.appid, flow.client_id].add(flow.resource)
    steps: dict[tuple[Place, Place], _Link] = defaultdict(_Link)

    def note(one: Place, other: Place, flow: Flow) -> None:
        link = steps[one, other]
        link.uses += 1
        link.records += flow.records
        link.is_own |= flow.is_own
        link.kinds.add(flow.kind)
        link.clusters.add(flow.cluster)

    reading = {(flow.appid, flow.client_id) for flow in found if flow.kind not in (GROUP_USE, PRODUCE)}
    read = {
        flow.resource
        for flow in found
        if flow.kind not in (GROUP_USE, PRODUCE) and groups[flow.appid, flow.client_id]
    }
    for flow in found:
        who = flow.appid, flow.client_id
        client = Place(CLIENT, who)
        if flow.kind == GROUP_USE:
            group = Place(GROUP, (flow.resource,))
            note(group, Place(CLUSTER, (flow.cluster,)), flow)
            if who not in reading:
                note(Place(APPID, (flow.appid,)), client, flow)
                note(client, group, flow)
            continue
        topic = Place(TOPIC, (flow.resource,))
        note(Place(APPID, (flow.appid,)), client, flow)
        note(client, topic, flow)
        if flow.kind != PRODUCE:
            for name in groups[who]:
                note(topic, Place(GROUP, (name,)), flow)
        if flow.resource not in read:
            note(topic, Place(CLUSTER, (flow.cluster,)), flow)
    return steps


def _shown(steps: Mapping[tuple[Place, Place], _Link], focus: Place) -> set[Place]:
    """Return the places that are drawn by name: the focus first, then its own ones, then those with the most uses."""
    weights: Counter[Place] = Counter()
    own: set[Place] = set()
    for pair, link in steps.items():
        for place in pair:
            weights[place] += link.uses
            if link.is_own:
                own.add(place)
    found: set[Place] = set()
    for column in range(5):
        here = [place for place in weights if place.column == column]
        here.sort(key=lambda p: (p != focus, p not in own, -weights[p], p.key or ()))
        # (With one too many, all are shown: the last would only become "1 more".)
        found.update(here if len(here) == MOST_NAMED + 1 else here[:MOST_NAMED])
    return found


def _kept(place: Place, shown: set[Place]) -> Place:
    return place if place in shown else Place(place.column, None)


def _beyond(steps: Iterable[tuple[Place, Place]], shown: set[Place]) -> dict[int, list[str]]:
    """Return by column the names of the places that are drawn as one."""
    found: dict[int, set[str]] = defaultdict(set)
    for pair in steps:
        for place in pair:
            if place not in shown:
                found[place.column].add(" › ".join(place.key or ()))
    return {column: sorted(names) for column, names in found.items()}


def _label(place: Place, beyond: Mapping[int, Sequence[str]]) -> str:
    if place.key is None:
        count = len(beyond[place.column])
        return ngettext("%(count)s more", "%(count)s more", count) % {"count": f"{count:,}"}
    if place.column == CLIENT:
        return place.key[1] or _("without a name")
    return place.key[0]


def _colour(place: Place, focus: Place, clusters: tuple[str, str]) -> Any:
    if place.column == CLUSTER and place.key:
        return {clusters[0]: FIRST, clusters[1]: SECOND}.get(place.key[0], QUIET)
    return INK if place == focus else QUIET


def _link_colour(link: _Link, clusters: tuple[str, str]) -> list[Any]:
    """Return the colour of the cluster on which all its uses are; the focus' own are stronger."""
    hues = {clusters[0]: FIRST, clusters[1]: SECOND}
    hue = hues.get(next(iter(link.clusters)), INK) if len(link.clusters) == 1 else INK
    return [hue, 0.4] if link.is_own else [hue, 0.12]


def _of_link(link: _Link) -> str:
    uses = ngettext("%(count)s use", "%(count)s uses", link.uses) % {"count": f"{link.uses:,}"}
    if link.kinds == {GROUP_USE}:
        return uses
    records = ngettext("%(count)s record", "%(count)s records", link.records) % {"count": f"{link.records:,}"}
    return f"{uses}, {records}"


def _heads(links: Iterable[tuple[Place, Place]]) -> list[dict[str, Any]]:
    """Return the words above the columns as they are drawn: a place stands one column to the right of what leads to
    it, and what leads nowhere stands last. So a column may be missing, or have two kinds.
    """
    words = _("AppID"), _("InstanceID"), _("Topic"), _("Group"), _("Cluster")
    depths: dict[Place, int] = defaultdict(int)
    for one, other in sorted(links, key=lambda pair: (pair[0].column, pair[1].column)):
        depths[other] = max(depths[other], depths[one] + 1)
    leading = {one for one, _other in links}
    last = max(depths.values(), default=0)
    kinds: dict[int, set[int]] = defaultdict(set)
    for place in {place for pair in links for place in pair}:
        kinds[depths[place] if place in leading else last].add(place.column)
    return [
        {
            "xref": "paper",
            "yref": "paper",
            "x": depth / last,
            "y": 1,
            "text": " · ".join(words[column] for column in sorted(here)),
            "yanchor": "top",
            "xanchor": "left" if depth == 0 else "right" if depth == last else "center",
        }
        for depth, here in sorted(kinds.items())
    ]


def _order(place: Place) -> tuple[int, bool, tuple[str, ...]]:
    return place.column, place.key is None, place.key or ()


def _height(places: Iterable[Place]) -> int:
    most = max(Counter(place.column for place in places).values(), default=1)
    return next((height for height in HEIGHTS[1:] if height >= 90 + 34 * most), HEIGHTS[-1])
