"""Read-only queries of the inventory that several apps use."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeVar

from django.conf import settings
from django.db.models import Model, QuerySet
from django.utils import timezone

from hadash.inventory.models import Access, AppID, Cluster, Declaration, Pair
from hadash.inventory.relations import Relation

M = TypeVar("M", bound=Model)


def access_since() -> datetime:
    """Return the start of the access window: uses last seen before it no longer count."""
    return timezone.now() - timedelta(days=settings.ACCESS_WINDOW_DAYS)


def declared(pair: Pair, appid: AppID | None = None, query: str = "") -> dict[Relation, str]:
    """Return the declared relations of a pair with their notes; only of one AppID, or of AppIDs with ``query``
    in their names.
    """
    found = Declaration.objects.filter(appid__pair=pair)
    if appid is not None:
        found = found.filter(appid=appid)
    if query:
        found = found.filter(appid__name__icontains=query)
    rows = found.order_by().values_list("appid__name", "instance_id", "kind", "resource", "note")
    return {Relation(*relation): note for *relation, note in rows}


def seen(pair: Pair, appid: AppID | None = None, query: str = "") -> dict[Relation, datetime]:
    """Return the relations that were seen within the access window, and when last; chosen as in :func:`declared`."""
    found = Access.objects.filter(pair=pair, last_seen__gte=access_since())
    if appid is not None:
        found = found.filter(appid=appid.name)
    if query:
        found = found.filter(appid__icontains=query)
    newest: dict[Relation, datetime] = {}  # a relation can have been seen on both clusters
    for *relation, at in found.order_by().values_list("appid", "client_id", "kind", "resource", "last_seen"):
        key = Relation(*relation)
        newest[key] = max(at, newest.get(key, at))
    return newest


def without_access(found: QuerySet[M], *clusters: str) -> QuerySet[M]:
    """Return rows without the fields of their clusters that are only needed to connect to them: pages show many rows of
    few clusters. (Who connects after all reads them then: :attr:`hadash.inventory.models.Cluster.access`.)

    :param clusters: the ways from a row to its clusters, such as ``pair__first``.
    """
    return found.defer(*(f"{way}__{field}" for way in clusters for field in Cluster.ACCESS_FIELDS))
