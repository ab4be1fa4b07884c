"""Parts of the page of an AppID that come after the rest: each reads another table of a large estate, and none waits for another."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from hadash.dashboard import meeting
from hadash.dashboard.sorting import Keys, Order, part_order
from hadash.dashboard.views.common import the_appid, user_of
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
    """Its headings lead to the page, which hands the order on to its parts."""
    return part_order(request, part, keys, reverse("appid", args=[found.pk]))


@require_GET
def moving(request: HttpRequest, pk: int) -> HttpResponse:
    """What surrounds it and would move with it, which of its clients are to be registered, and its findings."""
    found = the_appid(user_of(request), pk)
    return render(request, "appids/moving.html", {"appid": found, **meeting.moving_section(found)})


@require_GET
def uses(request: HttpRequest, pk: int) -> HttpResponse:
    """Its Topics with their mirrors, and its groups."""
    found = the_appid(user_of(request), pk)
    topics, groups = meeting.uses_of(found)
    order = _order(request, found, "topics", TOPIC_KEYS)
    context = {
        "appid": found,
        "topic_uses": order.rows(topics, TOPIC_KEYS),
        "topic_order": order,
        "group_uses": groups,
    }
    return render(request, "appids/uses.html", context)


@require_GET
def rights(request: HttpRequest, pk: int) -> HttpResponse:
    """The rules that name it on both clusters."""
    found = the_appid(user_of(request), pk)
    told = meeting.rights_of(found)
    order = _order(request, found, "rights", RIGHT_KEYS)
    told = replace(told, rows=order.rows(told.rows, RIGHT_KEYS))
    return render(request, "appids/rights.html", {"appid": found, "rights": told, "right_order": order})


@require_GET
def lags(request: HttpRequest, pk: int) -> HttpResponse:
    """How far its groups are behind. Their clusters are asked."""
    found = the_appid(user_of(request), pk)
    rows, left_out = meeting.lags_of(found)
    return render(request, "appids/lags.html", {"appid": found, "lags": rows, "left_out": left_out})
