"""One search for everything that has a page: names that contain the text, those that begin with it first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Case, Model, Q, QuerySet, Value, When
from django.db.models.functions import Upper
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from hadash.accounts.roles import MANAGE_PEOPLE, MANAGE_REPORTS, VIEW, may, may_somewhere, pairs_where
from hadash.dashboard.graph.names import names_of
from hadash.dashboard.graph.nodes import Focus
from hadash.dashboard.groups.listing import named
from hadash.governance import selectors as governance
from hadash.governance.catalogue import CATALOGUE
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory.models import AppID, GatewaySample, InstanceID, Pair
from hadash.mirroring.models import Mirror
from hadash.notices.models import Channel
from hadash.pipeline.jobs import offered
from hadash.presentation import pools
from hadash.presentation.paging import first_of
from hadash.presentation.published_tables import runs_for
from hadash.radius.nodes import GROUP, TOPIC
from hadash.reports.reading import editions_for, schedules_for
from hadash.switching.models.batches import Batch
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch

T = TypeVar("T", bound=Model)

#: Most hits of each kind that are shown; that kind's own list has all of them.
SHOWN = 8

#: Rows that are read of each kind: one more than are shown, to know whether there are more.
READ = SHOWN + 1


@dataclass(frozen=True, slots=True)
class Hit:
    """One hit. ``more``, ``at``: what distinguishes it from others of the same name."""

    name: str
    href: str
    more: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits of one kind. ``all``: the page with all of them; empty when there is none."""

    kind: Any
    icon: str
    hits: list[Hit]
    left_out: bool
    all: str = ""


def search(user: Any, text: str) -> list[Hits]:
    """Return the hits that a user may see, without empty kinds. One query per kind, however large the fleet is."""
    pairs = list(pairs_where(user).select_related("first", "second"))
    found = []
    for kind, icon, look, whole in _KINDS:
        hits = sorted(look(user, pairs, text), key=lambda hit: _rank(hit.name, text))
        if hits:
            found.append(Hits(kind, icon, hits[:SHOWN], len(hits) > SHOWN, whole(text) if whole else ""))
    return found


def only(found: Iterable[Hits], text: str) -> str:
    """Return the address of the only hit whose name is exactly ``text``; empty when there are several or none. (What
    was made at a time, such as a report, has the name of what makes it: it does not count.)
    """
    named = (hit for hits in found for hit in hits.hits if hit.at is None)
    exact = [hit.href for hit in named if hit.name.casefold() == text.casefold()]
    return exact[0] if len(exact) == 1 else ""


def _rank(name: str, text: str) -> tuple[bool, bool, str]:
    folded, wanted = name.casefold(), text.casefold()
    return folded != wanted, not folded.startswith(wanted), folded


def _named(rows: QuerySet[T], text: str) -> list[T]:
    """Return rows whose ``folded_name`` contains a text: the first that begin with it, and others.

    Those that begin with it come from an index in its order, so the best of many is among them. The others come in any
    order: PostgreSQL stops as soon as there are enough of a common text. An order would make it visit all of them, or
    follow an index of the names, which for a rare text is the whole table in random order.
    """
    folded = Upper(Value(text))
    begins = rows.filter(folded_name__startswith=folded).order_by("folded_name").values_list("pk", flat=True)
    contains = rows.filter(folded_name__contains=folded).order_by().values_list("pk", flat=True)
    keys = set(begins[:READ].union(contains[:READ], all=True))
    return list(rows.order_by().in_bulk(keys).values())


def _appids(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    rows = AppID.objects.filter(pair__in=pairs).select_related("pair")
    return [Hit(row.name, reverse("appid", args=[row.pk]), row.pair.name) for row in _named(rows, text)]


def _instances(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    rows = InstanceID.objects.select_related("appid__pair")
    if not may(user, VIEW):
        rows = rows.filter(appid__pair__in=pairs)
    return [
        Hit(row.name, Focus(row.appid.pair.name, "instance", row.appid.name, row.name).href, row.appid.name)
        for row in _named(rows, text)
    ]


def _of_graph(kind: str) -> Callable[[Any, list[Pair], str], list[Hit]]:
    def look(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
        run = governance.published(Run.Job.TOPOLOGY)
        if run is None:
            return []
        fits = names_of(run.pk, kind).holding(text, {pair.name for pair in pairs})
        return [Hit(name, Focus(pair, kind, name=name).href, pair) for pair, name in islice(fits, READ)]

    return look


def _groups(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    """Return groups that the last run knows, and those of the newest snapshot, in which nobody may have been seen
    through a Gateway.
    """
    found = _of_graph(GROUP)(user, pairs, text)
    known = {(hit.more, hit.name) for hit in found}
    pair_of = {cluster.name: pair.name for pair in pairs for cluster in pair.clusters}
    others = (
        Hit(group, reverse("group", args=[cluster, group]), cluster)
        for cluster, group in named(pair_of, text)
        if (pair_of[cluster], group) not in known
    )
    return found + nsmallest(READ, others, key=lambda hit: _rank(hit.name, text))


def _owners(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    owners = AppID.objects.filter(pair__in=pairs, owner__icontains=text).order_by()
    names = owners.values_list("owner", flat=True).distinct()[:READ]
    return [Hit(name, _listed("appids")(name), str(_("owner of AppIDs"))) for name in names]


def _pairs(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    return [
        Hit(
            pair.name,
            f"{reverse('appids')}?{urlencode({'pair': pair.name})}",
            f"{pair.first} ⇄ {pair.second}",
        )
        for pair in pairs
        if text.casefold() in pair.name.casefold()
    ]


def _jobs(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    if not pairs:
        return []
    return [
        Hit(str(job.label), f"{reverse('pipeline')}?{urlencode({'job': job.value})}")
        for job in offered()
        if text.casefold() in f"{job.label} {job.value}".casefold()
    ]


def _reports(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    """Return the newest reports by the name of their schedule, their owner, or the switch that they are about."""
    wanted = (
        Q(issue__schedule__name__icontains=text)
        | Q(owner__icontains=text)
        | Q(issue__about__istartswith=text)
    )
    return [
        Hit(
            each.issue.schedule.name,
            reverse("report", args=[each.pk]),
            " · ".join(filter(None, (", ".join(each.pairs), each.issue.about, each.owner, each.language))),
            each.issue.due_at,
        )
        for each in editions_for(user).filter(wanted)[:READ]
    ]


def _schedules(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    rows = schedules_for(user).filter(name__icontains=text).order_by("name")
    return [
        Hit(row.name, reverse("report-schedule", args=[row.pk]), row.get_kind_display())
        for row in rows[:READ]
    ]


def _mirrors(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    begins = Case(When(name__istartswith=text, then=0), default=1)
    rows = (
        Mirror.objects.filter(pair__in=pairs, name__icontains=text)
        .select_related("pair")
        .order_by(begins, "name")
    )
    return [
        Hit(row.name, reverse("mirror", args=[row.pair.name, row.name]), row.pair.name) for row in rows[:READ]
    ]


def _clusters(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    return [
        Hit(cluster.name, reverse("cluster", args=[cluster.name]), pair.name)
        for pair in pairs
        for cluster in pair.clusters
        if text.casefold() in cluster.name.casefold()
    ]


def _gateways(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    if not may_somewhere(user, VIEW):
        return []
    names = (
        GatewaySample.objects.filter(gateway__icontains=text)
        .order_by("gateway")
        .values_list("gateway", flat=True)
    )
    return [Hit(name, reverse("gateway", args=[name])) for name in names.distinct()[:READ]]


def _switches(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    wanted = Q(key__istartswith=text) | Q(appid__icontains=text) | Q(reason__icontains=text)
    rows = (
        Switch.objects.filter(wanted, pair__in=pairs).order_by("-pk").only("key", "appid", "asked", "reason")
    )
    return [
        Hit(row.key, reverse("switch", args=[row.key]), f"{row.scope} · {row.reason}") for row in rows[:READ]
    ]


def _batches(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    rows = Batch.objects.filter(Q(key__istartswith=text) | Q(reason__icontains=text), pair__in=pairs)
    return [Hit(row.key, row.get_absolute_url(), row.reason) for row in rows.order_by("-pk")[:READ]]


def _binding_changes(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    wanted = Q(key__istartswith=text) | Q(appid__icontains=text) | Q(reason__icontains=text)
    rows = BindingChange.objects.filter(wanted, pair__in=pairs).order_by("-pk")
    return [
        Hit(row.key, reverse("binding-change", args=[row.key]), f"{row.appid} · {row.reason}")
        for row in rows.only("key", "appid", "reason")[:READ]
    ]


def _pools(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    if not pairs:
        return []
    return [
        Hit(row.name, reverse("pool", args=[row.name]), row.pair.name if row.pair is not None else "")
        for row in pools.look(user, text).pools
    ]


def _pool_changes(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    wanted = Q(key__istartswith=text) | Q(pool__icontains=text) | Q(reason__icontains=text)
    rows = pools.changes(user).filter(wanted).order_by("-pk")
    return [Hit(row.key, row.get_absolute_url(), f"{row.pool} · {row.reason}") for row in rows[:READ]]


def _runs(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    """Return the run of this number, which people write with or without "#"."""
    number = text.removeprefix("#")
    if not pairs or not (number.isascii() and number.isdecimal() and len(number) < 19):
        return []
    return [
        Hit(str(row.pk), reverse("run", args=[row.pk]), str(row.get_job_display()))
        for row in runs_for(user).filter(pk=int(number))
    ]


def _people(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    if not may(user, MANAGE_PEOPLE):
        return []
    rows = User.objects.filter(
        Q(username__icontains=text) | Q(first_name__icontains=text) | Q(last_name__icontains=text)
    ).order_by("username")
    return [
        Hit(row.username, _listed("people")(row.username), row.get_full_name())
        for row in rows.only("username", "first_name", "last_name")[:READ]
    ]


def _channels(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    if not may(user, MANAGE_REPORTS):
        return []
    rows = Channel.objects.filter(endpoint__name__icontains=text).select_related("endpoint")
    return [Hit(str(row), reverse("channel", args=[row.pk])) for row in rows[:READ]]


def _findings(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    from hadash.presentation.localized import sentence

    rows = governance.findings([pair.name for pair in pairs]).filter(state=Finding.State.OPEN)
    rows = rows.filter(Q(name__icontains=text) | Q(appid__icontains=text)).order_by(
        "-weight", "pair", "code", "appid", "name"
    )
    return [
        Hit(
            row.name or row.appid,
            reverse("finding", args=[row.pk]),
            sentence(row.entry.title) if row.entry else row.code,
        )
        for row in first_of(rows, READ)
    ]


def _rules(user: Any, pairs: list[Pair], text: str) -> list[Hit]:
    """Return the rules of findings, by their title in the reader's language or by their code."""
    from hadash.presentation.localized import sentence

    if not pairs:
        return []
    titles = {code: sentence(entry.title) for code, entry in CATALOGUE.items()}
    return [
        Hit(title, f"{reverse('catalogue')}#{code.value}", code.value)
        for code, title in titles.items()
        if text.casefold() in f"{title} {code.value}".casefold()
    ]


def _listed(name: str, parameter: str = "q") -> Callable[[str], str]:
    def address(text: str) -> str:
        return f"{reverse(name)}?{urlencode({parameter: text})}"

    return address


_KINDS: tuple[
    tuple[Any, str, Callable[[Any, list[Pair], str], list[Hit]], Callable[[str], str] | None], ...
] = (
    (_("AppIDs"), "appids", _appids, _listed("appids")),
    (_("InstanceIDs"), "appids", _instances, None),
    (_("Topics"), "graph", _of_graph(TOPIC), None),
    (_("Consumer groups"), "groups", _groups, _listed("groups")),
    (_("Consumer pools"), "pools", _pools, None),
    (_("Owners"), "appids", _owners, None),
    (_("Pairs"), "clusters", _pairs, None),
    (_("Mirrors"), "mirrors", _mirrors, _listed("mirrors")),
    (_("Clusters"), "clusters", _clusters, None),
    (_("Gateways"), "gateways", _gateways, None),
    (_("Switches"), "switches", _switches, _listed("switches")),
    (_("Batches"), "batches", _batches, None),
    (_("Changes of bindings"), "switches", _binding_changes, None),
    (_("Changes of consumer pools"), "pools", _pool_changes, None),
    (_("Findings"), "risks", _findings, _listed("findings")),
    (_("Rules"), "risks", _rules, None),
    (_("Jobs"), "pipeline", _jobs, None),
    (_("Runs"), "pipeline", _runs, None),
    (pgettext_lazy("mailed", "Reports"), "reports", _reports, None),
    (_("Schedules of reports"), "reports", _schedules, None),
    (_("Channels"), "notices", _channels, None),
    (_("People"), "people", _people, _listed("people")),
)
