"""Reads for pages and the API. Nothing here changes anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.contrib.auth.models import User
from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    FloatField,
    Max,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import RowNumber
from django.utils import timezone

from hadash.accounts import roles
from hadash.accounts.roles import DECIDE, OPERATE, REQUEST, on_pairs, pairs_where
from hadash.bindings.model import Binding, BindingDocument
from hadash.governance.models.published import Coverage
from hadash.governance.models.runs import Run
from hadash.identity.identity import Identity
from hadash.identity.resolve import resolve
from hadash.inventory.models import Access, AppID, Cluster, InstanceID, Pair
from hadash.inventory.selectors import access_since
from hadash.mirroring.models import Mirror
from hadash.percent import whole_percent
from hadash.presentation.engines import Engines
from hadash.switching.machines.retirements import Status as RetirementStatus
from hadash.switching.machines.switches import ENDED, Kind, Status
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Approval, Switch
from hadash.switching.retirement.services import open_of

#: Seconds after which a client that was seen no longer counts as present. Access is collected every few seconds.
SEEN_NOW_SECONDS = 60


def hues() -> dict[str, str]:
    """Return cluster name → ``first`` or ``second``: the only meaning of blue and orange."""
    found: dict[str, str] = {}
    for first, second in Pair.objects.values_list("first__name", "second__name"):
        found.setdefault(first, "first")
        found.setdefault(second, "second")
    return found


def generated_pairs(user: Any) -> list[str]:
    """Return the names of the generated pairs that ``user`` may see."""
    return list(pairs_where(user).filter(first__generated=True).values_list("name", flat=True))


# -- switches ----------------------------------------------------------------------------------------------------


def switches(user: Any) -> QuerySet[Switch]:
    """Return the switches that ``user`` may see, with all that a line about a switch shows; without bulky columns."""
    return with_relations(Switch.objects.filter(on_pairs(user))).defer(
        "traffic",
        "facts",
        "plan",
        "pauses",
        "restores__traffic",
        "restores__facts",
        "restores__plan",
        "restores__pauses",
    )


def with_relations(found: Any) -> QuerySet[Switch]:
    """Return switches with the related rows that a page about a switch shows."""
    shown: QuerySet[Switch] = found.select_related(
        "source", "target", "pair", "requested_by", "decided_by", "restores"
    )
    return shown


def waiting_for(user: User) -> QuerySet[Switch]:
    """Return the switches that wait for ``user``: to decide on, review, resume, or run again."""
    undecided = Q(status=Status.AWAITING_APPROVAL.value) & ~Q(requested_by=user)
    undecided &= ~Q(pk__in=Approval.objects.filter(user=user).values("switch"))
    reviewed = [kind.value for kind in Kind if kind.spec.reviewed]
    unreviewed = Q(kind__in=reviewed, reviewed_by=None, status__in=[s.value for s in ENDED])
    stuck = Q(status=Status.NEEDS_ATTENTION.value) | Q(retirement__status=RetirementStatus.FAILED.value)
    ready = Q(status=Status.PAUSED.value)
    return switches(user).filter(
        (undecided | (unreviewed & ~Q(requested_by=user))) & on_pairs(user, DECIDE)
        | stuck & on_pairs(user, OPERATE)
        | ready & on_pairs(user, REQUEST)
    )


def running(user: Any) -> QuerySet[Switch]:
    """Return the switches that are approved or running and that ``user`` may see."""
    return switches(user).filter(status__in=[Status.APPROVED.value, Status.RUNNING.value])


def recent(user: Any, count: int = 6) -> QuerySet[Switch]:
    """Return the last ended switches that ``user`` may see."""
    return switches(user).filter(status__in=[s.value for s in ENDED]).order_by("-ended_at")[:count]


def people_who(permission: str, pair: Pair | None, *besides: User | None) -> list[str]:
    """Return names of people with a permission on a pair, for a sentence that says whom to ask; at most 12.

    :param besides: people to leave out.
    """
    people = roles.people_who(permission, pair).exclude(
        pk__in=[user.pk for user in besides if user is not None]
    )
    return [name_of(person) for person in people.order_by("username")[:12]]


def name_of(user: Any) -> str:
    """Return a user's full name, or user name; ``hadash`` for hadash itself (``None``)."""
    if user is None:
        return "hadash"
    return user.get_full_name() or user.get_username()


def retirements(user: Any, appid: AppID | None = None) -> list[Retirement]:
    """Return the retirements that are not finished, the next one first; with ``appid`` only of switches that
    moved it.
    """
    found = open_of(pairs_where(user) if appid is None else [appid.pair_id])
    return [one for one in found if appid is None or appid.name in one.switch.the_plan().appids]


# -- what the overview shows -------------------------------------------------------------------------------------


#: Most mirrors of each pair in a list of pairs; all of them have a list of their own.
LISTED_MIRRORS = 20


def pairs(user: Any) -> Sequence[Pair]:
    """Return the pairs that ``user`` may see, with both clusters, ``the_mirrors`` (the first :data:`LISTED_MIRRORS`
    by name) and ``mirror_count``. Two queries.
    """
    found = list(
        pairs_where(user).select_related("first", "second", "default").annotate(mirror_count=Count("mirrors"))
    )
    place = Window(RowNumber(), partition_by="pair", order_by="name")
    first = mirrors(found).annotate(place=place).filter(place__lte=LISTED_MIRRORS)
    by_pair: dict[int, list[Mirror]] = defaultdict(list)
    for mirror in first:
        by_pair[mirror.pair_id].append(mirror)
    for pair in found:
        pair.the_mirrors = by_pair[pair.pk]  # type: ignore[attr-defined]
    return found


def mirrors(pairs: Sequence[Pair]) -> QuerySet[Mirror]:
    """Return the mirrors of some pairs, with all that a line about a mirror shows."""
    return Mirror.objects.filter(pair__in=pairs).select_related("source", "pair__first", "pair__second")


@dataclass(slots=True)
class Seen:
    """The clusters on which one client.id was seen: cluster → when last."""

    clusters: dict[str, datetime] = field(default_factory=dict)

    def add(self, cluster: str, at: datetime) -> None:
        if cluster not in self.clusters or self.clusters[cluster] < at:
            self.clusters[cluster] = at

    @property
    def last(self) -> datetime | None:
        return max(self.clusters.values(), default=None)

    @property
    def cluster(self) -> str:
        """The cluster on which it was seen last; empty for none."""
        return max(self.clusters, key=lambda name: self.clusters[name], default="")

    @property
    def now(self) -> bool:
        """Whether it was seen within the last :data:`SEEN_NOW_SECONDS`."""
        return self.last is not None and timezone.now() - self.last < timedelta(seconds=SEEN_NOW_SECONDS)


@dataclass(slots=True)
class BoundInstance:
    """One client.id of an AppID: registered, bound, observed, or all of it."""

    name: str
    registered: bool
    binding: Binding | None
    own: bool
    seen: Seen

    @property
    def astray(self) -> bool:
        """Whether it was seen lately, and last on another cluster than the one that it is bound to."""
        return bool(
            self.binding
            and self.binding.state == "forward"
            and self.seen.now
            and self.seen.cluster != self.binding.cluster
        )


@dataclass(slots=True)
class BoundAppID:
    """An AppID with its binding and its client.ids. ``binding`` is ``None`` when ZooKeeper does not answer."""

    appid: AppID
    binding: Binding | None
    own: bool
    instances: list[BoundInstance]
    observed: int
    covered: int

    @property
    def coverage(self) -> int | None:
        """Percent of the observed client.ids that are registered; ``None`` when none was observed."""
        return whole_percent(self.covered, self.observed) if self.observed else None


def bound_appids(appids: Iterable[AppID], engines: Engines) -> list[BoundAppID]:
    """Return AppIDs with their registered and observed client.ids and the bindings. Two queries."""
    wanted = list(appids)
    seen: dict[tuple[int, str], dict[str, Seen]] = defaultdict(lambda: defaultdict(Seen))
    facts = (
        Access.objects.filter(
            pair__in={a.pair_id for a in wanted},
            appid__in={a.name for a in wanted},
            last_seen__gte=access_since(),
        )
        .values_list("pair_id", "appid", "client_id", "cluster")
        .annotate(last=Max("last_seen"))
    )
    for pair_id, name, client_id, cluster, last in facts:
        seen[pair_id, name][client_id].add(cluster, last)
    return [_bound(appid, engines, seen[appid.pair_id, appid.name]) for appid in wanted]


def _bound(appid: AppID, engines: Engines, seen: dict[str, Seen]) -> BoundAppID:
    document = engines.documents.get(appid.name, BindingDocument(appid.name))
    default = Binding(appid.pair.default.name)
    registered = {instance.name for instance in appid.instances.all()}
    names = sorted(registered | set(seen) - {""} | set(document.instances))
    known = not engines.fault
    observed = set(seen) - {""}
    return BoundAppID(
        appid=appid,
        binding=resolve(document, "", default) if known else None,
        own=document.default is not None,
        instances=[
            BoundInstance(
                name=name,
                registered=name in registered,
                binding=resolve(document, name, default) if known else None,
                own=name in document.instances,
                seen=seen.get(name, Seen()),
            )
            for name in names
        ],
        observed=len(observed),
        covered=len(observed & registered),
    )


def appids(user: Any) -> QuerySet[AppID]:
    """Return the AppIDs that ``user`` may see."""
    return (
        AppID.objects.filter(on_pairs(user))
        .select_related("pair__first", "pair__second", "pair__default")
        .prefetch_related("instances")
    )


def listed_appids(user: Any) -> QuerySet[AppID]:
    """Return the AppIDs that ``user`` may see, for a list.

    Few pairs own many AppIDs, and their clusters have many columns: so pairs are read once, not with each AppID.
    """
    pairs = Prefetch("pair", Pair.objects.select_related("first", "second", "default"))
    return appids(user).select_related(None).prefetch_related(pairs)


def with_cluster(found: QuerySet[AppID], engines: Engines) -> QuerySet[AppID]:
    """Return AppIDs with ``bound``, the name of the cluster that each is bound to, so that they can be ordered by it.

    :param engines: a look that has succeeded. Few AppIDs have a binding of their own: the others follow their pair.
    """
    own: dict[str, list[str]] = defaultdict(list)
    for name, document in engines.documents.items():
        if document.default is not None:
            own[document.default.cluster].append(name)
    cases = [When(name__in=names, then=Value(cluster)) for cluster, names in own.items()]
    return found.annotate(bound=Case(*cases, default=F("pair__default__name"), output_field=CharField()))


def with_share(found: QuerySet[AppID], run: Run | None) -> QuerySet[AppID]:
    """Return AppIDs with ``share``, the registered share of their clients in a run of the job Coverage, so that they
    can be ordered by it: to count the clients of all AppIDs now would take seconds. ``None``: not in that run.
    """
    counted = Coverage.objects.filter(
        run=run, pair=OuterRef("pair__name"), appid=OuterRef("name"), clients__gt=0
    )
    share = counted.values(share=1.0 * F("registered") / F("clients"))[:1]
    return found.annotate(share=Subquery(share, output_field=FloatField()))


def fleet_coverage(user: Any) -> tuple[int, int]:
    """Return (observed client.ids, how many of them are registered) over all AppIDs that ``user`` may see.

    PostgreSQL counts them: every viewer's overview asks every two seconds, and there may be many thousands.
    """
    observed = (
        Access.objects.filter(on_pairs(user), last_seen__gte=access_since())
        .exclude(client_id="")
        .order_by()
        .values("pair_id", "appid", "client_id")
        .distinct()
    )
    registered = InstanceID.objects.filter(
        appid__pair=OuterRef("pair_id"), appid__name=OuterRef("appid"), name=OuterRef("client_id")
    )
    return observed.count(), observed.filter(Exists(registered)).count()


# -- one AppID ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ObservedClient:
    """The observed uses of one client.id."""

    client_id: str
    registered: bool
    uses: list[Access]

    @property
    def last(self) -> datetime:
        return max(use.last_seen for use in self.uses)

    @property
    def library(self) -> str:
        newest = max(self.uses, key=lambda use: use.last_seen)
        return f"{newest.library} {newest.version}".strip()


def observed_uses(appid: AppID, query: str = "") -> QuerySet[Access]:
    """Return the observed uses of an AppID's clients, by client.id (those without one last).

    :param query: a part of the client.id; empty for all.
    """
    found = Access.objects.filter(pair=appid.pair, appid=appid.name, last_seen__gte=access_since())
    if query:
        found = found.filter(client_id__icontains=query)
    return found.order_by(
        Case(When(client_id="", then=1), default=0), "client_id", "kind", "resource", "-last_seen", "pk"
    )


def by_client(appid: AppID, uses: Iterable[Access]) -> list[ObservedClient]:
    """Group observed uses that follow each other by client.id. No query besides the registered InstanceIDs."""
    registered = {instance.name for instance in appid.instances.all()}
    return [
        ObservedClient(name, name in registered, list(own))
        for name, own in groupby(uses, key=attrgetter("client_id"))
    ]


def observed_clients(appid: AppID) -> list[ObservedClient]:
    """Return all observed clients of an AppID. One query besides the registered InstanceIDs."""
    return by_client(appid, observed_uses(appid))


#: Most client.ids and InstanceIDs that a field suggests; other names have to be typed.
SUGGESTED_NAMES = 200


def unregistered(appid: AppID) -> list[str]:
    """Return the observed client.ids that are not registered: the first :data:`SUGGESTED_NAMES` by name."""
    names = (
        observed_uses(appid).exclude(client_id="").order_by("client_id").values_list("client_id", flat=True)
    )
    registered = InstanceID.objects.filter(appid=appid).order_by().values("name")
    return list(names.exclude(client_id__in=registered).distinct()[:SUGGESTED_NAMES])


def history_of(user: Any, appid: AppID) -> QuerySet[Switch]:
    """Return the switches that were requested for an AppID, and others that it moved along with, newest first."""
    key = Identity(appid.name).key
    # (A key ends after the AppID, or + or # and a name within the AppID follow: hadash.identity.identity.)
    moved = Q(moved__contains=f'"{key}"') | Q(moved__contains=f'"{key}+') | Q(moved__contains=f'"{key}#')
    found = switches(user).filter(pair=appid.pair).annotate(moved=KeyTextTransform("identities", "plan"))
    return found.filter(Q(appid=appid.name) | moved)


#: Most Topics that a field suggests; other names have to be typed.
SUGGESTED_TOPICS = 300


def topics(pair: Pair, appid: AppID | None = None) -> list[str]:
    """Return the Topics that a field suggests: those that an AppID has used; without one those that the pair's
    clients have used or its mirrors carry.
    """
    used = Access.objects.filter(pair=pair, last_seen__gte=access_since()).exclude(kind=Access.Kind.GROUP)
    if appid is not None:
        used = used.filter(appid=appid.name)
    names = used.order_by().values_list("resource", flat=True).distinct()[:SUGGESTED_TOPICS]
    if appid is not None:
        return sorted(names)
    carried = Mirror.objects.filter(pair=pair).order_by("name").values_list("topics", flat=True)
    mirrored = {topic for topics in carried[:SUGGESTED_TOPICS] for topic in topics}
    return sorted(mirrored | set(names))[:SUGGESTED_TOPICS]


def target_of(appid: AppID, instance_id: str | None, engines: Engines) -> tuple[Cluster, Cluster] | None:
    """Return (source, target) of a switch requested now; ``None`` when it is not known where the scope is bound."""
    if engines.fault:
        return None
    document = engines.documents.get(appid.name, BindingDocument(appid.name))
    bound = resolve(document, instance_id or "", Binding(appid.pair.default.name)).cluster
    by_name = {cluster.name: cluster for cluster in appid.pair.clusters}
    source = by_name.get(bound)
    return (source, appid.pair.other(source)) if source else None
