"""The observed uses of an AppID's clients, and the names that fields suggest of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from django.db.models import Case, QuerySet, When

from hadash.inventory.models import Access, AppID, InstanceID, Pair
from hadash.inventory.selectors import access_since
from hadash.mirroring.models import Mirror


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
