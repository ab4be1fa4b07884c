"""AppIDs that are also used in another pair."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from hadash.inventory.models import Access, Declaration, InstanceID, Pair
from hadash.inventory.selectors import access_since


def used_elsewhere(pair: Pair, appids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each AppID that is also used elsewhere: the other pairs in which it was seen lately, has registered
    InstanceIDs, or is declared to use something.

    An AppID has one binding document for all pairs: Gateways there would read of a cluster that they do not have.
    """
    names = set(appids)
    found = {
        *Access.objects.filter(appid__in=names, last_seen__gte=access_since())
        .exclude(pair=pair)
        .order_by()
        .values_list("appid", "pair__name")
        .distinct(),
        *_of_those(InstanceID.objects.filter(appid__name__in=names), pair),
        *_of_those(Declaration.objects.filter(appid__name__in=names), pair),
    }
    return {
        appid: tuple(sorted({other for name, other in found if name == appid}))
        for appid in sorted({name for name, _ in found})
    }


def _of_those(rows: QuerySet[Any], pair: Pair) -> Iterable[tuple[str, str]]:
    others = rows.exclude(appid__pair=pair).order_by()
    return others.values_list("appid__name", "appid__pair__name").distinct()
