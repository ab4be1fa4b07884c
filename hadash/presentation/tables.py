"""The tables that jobs publish, as pages show them: their columns with words, their order, and the searched columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any, TypeAlias

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from hadash.governance.models.published import (
    AdviceStep,
    Coverage,
    Edge,
    Island,
    LagDay,
    Node,
    SharedBy,
    Sharing,
)
from hadash.governance.models.runs import Run


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    :param kind: text, name (of an AppID, with a link), number, percent (a share, 0 to 1), time, day, cluster,
        names, seconds, kind (of a thing) or use.
    :param hint: what is counted.
    :param none: the text for a missing value.
    """

    name: str
    word: Any
    kind: str = "text"
    hint: Any = ""
    none: str = ""

    @property
    def is_number(self) -> bool:
        """Whether its values are aligned as numbers."""
        return self.kind in ("number", "seconds", "percent")

    @property
    def classes(self) -> str:
        """The CSS classes of the column's head."""
        return "num" if self.is_number else ""


@dataclass(frozen=True, slots=True)
class Show:
    """A filter of a table by its name in addresses; ``rows``: the rows that it leaves. Figures lead to those that
    they count.
    """

    name: str
    word: Any
    rows: Callable[[], Q]


#: The least and the most of a number.
Range: TypeAlias = tuple[int, int]


def range_of(text: str) -> Range | None:
    """Read a range of an address; ``None`` if it is none.

    >>> range_of("4-7"), range_of("7-4"), range_of("four")
    ((4, 7), None, None)
    """
    found = re.fullmatch(r"(\d{1,18})-(\d{1,18})", text, re.ASCII)
    if found is None:
        return None
    low, high = int(found[1]), int(found[2])
    return (low, high) if low <= high else None


@dataclass(frozen=True, slots=True)
class Table:
    """One table. ``sort``: the columns of its default order, "-" before one reverses it. ``searched``: the columns
    that are searched for a part of a name. ``shows``: its filters. ``exact``: the number column of which addresses
    may ask for one value; ``ranges``: those of which they may ask for a range, as ``4-7``.
    """

    name: str
    job: Run.Job
    model: Any
    title: Any
    says: Any
    columns: tuple[Column, ...]
    sort: tuple[str, ...]
    searched: tuple[str, ...] = ("appid",)
    shows: tuple[Show, ...] = ()
    exact: str = ""
    ranges: tuple[str, ...] = ()

    def show(self, name: str) -> Show | None:
        return next((each for each in self.shows if each.name == name), None)

    def narrowed(
        self, show: str = "", exact: str = "", ranges: Mapping[str, Range] | None = None
    ) -> Q | None:
        """Return the rows that a filter, one value of the column :attr:`exact` and ranges of numbers leave; ``None``
        for all rows. What the table does not know is ignored.
        """
        found = Q()
        if (filtered := self.show(show)) is not None:
            found &= filtered.rows()
        if self.exact and exact.isdecimal() and len(exact) < 19:
            found &= Q(**{self.exact: int(exact)})
        for name, (low, high) in (ranges or {}).items():
            if name in self.ranges:
                found &= Q(**{f"{name}__gte": low, f"{name}__lte": high})
        return found or None

    def column(self, name: str) -> Column | None:
        return next((each for each in self.columns if each.name == name), None)


_PAIR = Column("pair", _("Pair"))
_APPID = Column("appid", _("AppID"), "name")
_CLUSTER = Column("cluster", _("Cluster"), "cluster")
_CRITICAL = _(
    "Topics and groups that move together at most when a critical AppID of the island is among them"
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            "coverage",
            Run.Job.COVERAGE,
            Coverage,
            _("Coverage"),
            _(
                "How well the clients of each AppID are known: only those with an InstanceID can move by themselves."
            ),
            (
                _PAIR,
                _APPID,
                Column("clients", _("Clients"), "number", _("client.ids that were seen")),
                Column(
                    "registered",
                    pgettext_lazy("count", "Registered"),
                    "number",
                    _("of these are registered as InstanceIDs"),
                ),
                Column("nameless", _("Without name"), "number", _("have no client.id")),
                Column("new_clients", _("New"), "number", _("were seen on one day only, and lately")),
                Column(
                    "duplicates", _("Twice at once"), "number", _("ran on several hosts at the same time")
                ),
                Column("bypassing", _("Bypassing"), "number", _("were seen by brokers, and by no Gateway")),
                Column("topics", _("Topics"), "number", _("that its clients use")),
                Column("mirrored", _("Mirrored"), "number", _("of these are copied by a mirror")),
            ),
            ("pair", "-clients"),
            shows=(
                Show("under-ha", _("All Topics mirrored"), lambda: Q(mirrored__gte=F("topics"))),
                Show("not-mirrored", _("A Topic is not mirrored"), lambda: Q(mirrored__lt=F("topics"))),
                Show("unregistered", _("Not all registered"), lambda: Q(registered__lt=F("clients"))),
                Show("twice", _("Twice at once"), lambda: Q(duplicates__gt=0)),
                Show("bypassing", _("Bypassing"), lambda: Q(bypassing__gt=0)),
            ),
        ),
        Table(
            "radii",
            Run.Job.TOPOLOGY,
            Node,
            _("What moves together"),
            _(
                "How many things would move with each, by InstanceIDs and by whole AppIDs: as the plan of a switch "
                "counts them."
            ),
            (
                _PAIR,
                Column("kind", _("What"), "kind"),
                _APPID,
                Column("names", _("Name"), "names"),
                _CLUSTER,
                Column("radius_instance", _("By InstanceIDs"), "number"),
                Column("radius_appid", _("By AppIDs"), "number"),
                Column("island", _("Island"), "number", _("things with the same number hang together")),
            ),
            ("-radius_instance", "pair", "kind", "appid"),
            ("appid", "names"),
            exact="island",
        ),
        Table(
            "islands",
            Run.Job.TOPOLOGY,
            Island,
            _("Islands"),
            _("What hangs together: a switch can move all of an island, and never anything of another."),
            (
                _PAIR,
                Column(
                    "names",
                    _("Around"),
                    "names",
                    _("the Topic, group or InstanceID that hangs together with most others"),
                ),
                _APPID,
                Column("things", _("Things"), "number", _("identities, Topics and groups")),
                Column("appids", _("AppIDs"), "number"),
                Column("topics", _("Topics"), "number"),
                Column("groups", _("Groups"), "number"),
                Column("cluster", _("Cluster"), "cluster", none="–"),
                Column("radius_instance", _("By InstanceIDs"), "number"),
                Column("radius_appid", _("By AppIDs"), "number"),
                Column("island", _("Island"), "number", _("things with the same number hang together")),
            ),
            ("-things", "pair", "island"),
            ("appid", "names"),
        ),
        Table(
            "sharing",
            Run.Job.TOPOLOGY,
            Sharing,
            _("Sharing"),
            _("How many use one AppID: the more, the more has to move at once."),
            (
                _PAIR,
                _APPID,
                Column("clients", _("Clients"), "number"),
                Column("hosts", _("Hosts"), "number"),
                Column("libraries", _("Libraries"), "number"),
                Column("groups", _("Groups"), "number"),
                Column("topics", _("Topics"), "number"),
                Column(
                    "applications",
                    _("Applications"),
                    "number",
                    _("that their names, hosts and groups tell apart"),
                ),
                Column(
                    "radius",
                    _("Moves, by InstanceIDs"),
                    "number",
                    _("things that move together with one of its clients at most"),
                ),
                Column(
                    "radius_by_appid",
                    _("Moves, by AppIDs"),
                    "number",
                    _("things that move together with the whole AppID"),
                ),
            ),
            ("-clients", "pair", "appid"),
            ranges=("clients", "radius"),
            shows=(
                Show("shared", _("Used by several clients"), lambda: Q(clients__gt=1)),
                Show("applications", _("Used by several applications"), lambda: Q(applications__gt=1)),
            ),
        ),
        Table(
            "applications",
            Run.Job.TOPOLOGY,
            SharedBy,
            _("Applications of shared AppIDs"),
            _(
                "Which applications share one AppID, where several do: their clients have no name, no host and no "
                "group in common."
            ),
            (
                _PAIR,
                _APPID,
                Column("application", _("Application")),
                Column("clients", _("Clients"), "number"),
                Column("client_ids", _("client.ids"), "names"),
                Column("hosts", _("Hosts"), "number"),
                Column("host_names", _("They run on"), "names"),
            ),
            ("pair", "appid", "application"),
            ("appid", "application", "client_ids", "host_names"),
        ),
        Table(
            "edges",
            Run.Job.TOPOLOGY,
            Edge,
            _("Who uses what"),
            _("What was seen of each client within the days that count."),
            (
                _PAIR,
                _APPID,
                Column("client_id", _("InstanceID")),
                Column("kind", _("Does"), "use"),
                Column("resource", _("Topic or group")),
                _CLUSTER,
                Column("hosts", _("Hosts"), "number"),
                Column("records", _("Records"), "number"),
                Column("last_seen", _("Last seen"), "time"),
            ),
            ("pair", "appid", "client_id", "kind", "resource"),
            ("appid", "client_id", "resource"),
        ),
        Table(
            "advice",
            Run.Job.ADVICE,
            AdviceStep,
            _("Work list"),
            _(
                "Whose InstanceIDs to register first: each line says how many Topics and groups move together at "
                "most on an island, before and after; and how many with one of its critical AppIDs."
            ),
            (
                _PAIR,
                Column("place", pgettext_lazy("column", "No."), "number"),
                _APPID,
                Column("before", _("Before"), "number"),
                Column("after", _("After"), "number"),
                Column("critical_before", _("Critical, before"), "number", _CRITICAL, none="–"),
                Column("critical_after", _("Critical, after"), "number", _CRITICAL, none="–"),
                Column("clients", _("To be registered"), "names"),
                Column("hosts", _("They run on"), "names"),
            ),
            ("pair", "place"),
        ),
        Table(
            "lag",
            Run.Job.LAG,
            LagDay,
            _("Lag by day"),
            _("How late each mirror was on each day (UTC), and how often beyond the RPO of its pair."),
            (
                _PAIR,
                Column("mirror", _("Mirror")),
                Column("date", _("Day"), "day"),
                Column("samples", _("Samples"), "number"),
                Column("unknown", _("Not known"), "number", _("samples that nobody could take")),
                Column("over_rpo", _("Over the RPO"), "number"),
                Column("seconds_p50", _("Median"), "seconds"),
                Column("seconds_p95", _("95 %"), "seconds", _("19 of 20 samples were not later")),
                Column("seconds_most", _("Most"), "seconds"),
                Column("records_most", _("Most records"), "number"),
            ),
            ("pair", "-date", "mirror"),
            ("mirror",),
            shows=(
                Show("today", _("Today"), lambda: Q(date=timezone.now().astimezone(UTC).date())),
                Show("over-rpo", _("Over the RPO"), lambda: Q(over_rpo__gt=0)),
            ),
        ),
    )
}

#: The words for the kinds of things that move (:mod:`hadash.radius.nodes`).
THING_WORDS: dict[str, Any] = {
    "topic": _("Topic"),
    "group": _("group"),
    "appid": _("AppID"),
    "instance": _("InstanceID"),
    "bound topics": _("Topics of an AppID"),
    "bound group": _("group of an AppID"),
}


def column_words() -> dict[str, str]:
    """Return the words for the columns of all tables, by name."""
    return {column.name: str(column.word) for table in TABLES.values() for column in table.columns} | {
        "code": str(_("Rule")),
        "name": str(_("What")),
        "libraries": str(_("Libraries")),
    }
