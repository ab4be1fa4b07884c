"""AppIDs with their bindings and clients, for lists and pages. Nothing here changes anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    Case,
    CharField,
    F,
    FloatField,
    Max,
    OuterRef,
    Prefetch,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.utils import timezone

from hadash.accounts.roles import on_pairs
from hadash.bindings.model import Binding, BindingDocument
from hadash.governance.models.published import Coverage
from hadash.governance.models.runs import Run
from hadash.identity.resolve import resolve
from hadash.inventory.models import Access, AppID, Cluster, Pair
from hadash.inventory.selectors import access_since, without_access
from hadash.percent import whole_percent
from hadash.presentation.engines import Engines

#: Seconds after which a client that was seen no longer counts as present. Access is collected every few seconds.
SEEN_NOW_SECONDS = 60


def appids(user: Any) -> QuerySet[AppID]:
    """Return the AppIDs that ``user`` may see."""
    found = AppID.objects.filter(on_pairs(user)).prefetch_related("instances")
    clusters = ("pair__first", "pair__second", "pair__default")
    return without_access(found.select_related(*clusters), *clusters)


def listed_appids(user: Any) -> QuerySet[AppID]:
    """Return the AppIDs that ``user`` may see, for a list.

    Few pairs own many AppIDs, and their clusters have many columns: so pairs are read once, not with each AppID.
    """
    clusters = ("first", "second", "default")
    pairs = Prefetch("pair", without_access(Pair.objects.select_related(*clusters), *clusters))
    return AppID.objects.filter(on_pairs(user)).prefetch_related("instances", pairs)


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


def target_of(appid: AppID, instance_id: str | None, engines: Engines) -> tuple[Cluster, Cluster] | None:
    """Return (source, target) of a switch requested now; ``None`` when it is not known where the scope is bound."""
    if engines.fault:
        return None
    document = engines.documents.get(appid.name, BindingDocument(appid.name))
    bound = resolve(document, instance_id or "", Binding(appid.pair.default.name)).cluster
    by_name = {cluster.name: cluster for cluster in appid.pair.clusters}
    source = by_name.get(bound)
    return (source, appid.pair.other(source)) if source else None
