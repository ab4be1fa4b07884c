"""Parts of an AppID's page that are loaded later: each reads another table of a large fleet, and none waits for
another.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from hadash.dashboard import appid_csv, appid_parts
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.graph.surroundings import INTERNAL_PREFIX
from hadash.dashboard.sorting import Keys, Order, part_order
from hadash.dashboard.views.common import address_with, searched, the_appid, user_of
from hadash.inventory.models import AppID

TOPIC_KEYS: Keys = {
    "topic": attrgetter("topic"),
    "clients": attrgetter("clients"),
    "mirror": lambda use: use.mirror.name if use.mirror else None,
    "lag": lambda use: use.mirror.lag_seconds if use.mirror else None,
}
RIGHT_KEYS: Keys = {
    "resource": lambda right: (right.resource_type, right.resource),
    "operation": attrgetter("operation"),
    "first": attrgetter("first"),
    "second": attrgetter("second"),
}


def _order(request: HttpRequest, found: AppID, part: str, keys: Keys) -> Order:
    """Return the order of a part's table. Its headings lead to the whole page, which passes the order on to its
    parts.
    """
    return part_order(request, part, keys, reverse("appid", args=[found.pk]))


def _asks_csv(request: HttpRequest) -> bool:
    return request.GET.get("format") == "csv"


@require_GET
def moving(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Render the AppID's surroundings, what would move with it, its clients to be registered, and its findings."""
    found = the_appid(user_of(request), pk)
    return render(request, "appids/moving.html", {"appid": found, **appid_parts.moving_section(found)})


@require_GET
def uses(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Render the AppID's Topics with their mirrors, and its groups; with ``?internal=1`` internal Topics as well.
    ``?format=csv`` returns all Topics.
    """
    found = the_appid(user_of(request), pk)
    topics, groups = appid_parts.uses_of(found)
    order = _order(request, found, "topics", TOPIC_KEYS)
    topics = order.rows(topics, TOPIC_KEYS)
    if _asks_csv(request):
        return csv_response(f"{found.name}-topics", appid_csv.TOPICS.head, appid_csv.TOPICS.rows(topics))
    with_internal = searched(request, "internal") == "1"
    shown = [use for use in topics if with_internal or not use.topic.startswith(INTERNAL_PREFIX)]
    context = {
        "appid": found,
        "topic_uses": shown,
        "internal_left_out": len(topics) - len(shown),
        "with_internal": reverse("appid", args=[found.pk]) + address_with(request, internal="1"),
        "topic_order": order,
        "group_uses": groups,
        "at": timezone.now(),
    }
    return render(request, "appids/uses.html", context)


@require_GET
def rights(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Render the rules that name the AppID on both clusters; ``?format=csv``."""
    found = the_appid(user_of(request), pk)
    told = appid_parts.rights_of(found)
    order = _order(request, found, "rights", RIGHT_KEYS)
    told = replace(told, rows=order.rows(told.rows, RIGHT_KEYS))
    if _asks_csv(request):
        table = appid_csv.rights(*(cluster.name for cluster in found.pair.clusters))
        return csv_response(f"{found.name}-rules", table.head, table.rows(told.rows))
    return render(request, "appids/rights.html", {"appid": found, "rights": told, "right_order": order})


@require_GET
def lags(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Render how far the AppID's groups are behind, by asking their clusters; ``?format=csv``."""
    found = the_appid(user_of(request), pk)
    rows, left_out = appid_parts.lags_of(found)
    if _asks_csv(request):
        return csv_response(f"{found.name}-groups", appid_csv.LAGS.head, appid_csv.LAGS.rows(rows))
    context = {"appid": found, "lags": rows, "left_out": left_out, "at": timezone.now()}
    return render(request, "appids/lags.html", context)
