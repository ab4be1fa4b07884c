"""The clients that are connected through the Gateways now, of all AppIDs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from operator import attrgetter

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from hadash.accounts.roles import VIEW, may_somewhere, pairs_where
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Keys, order_of
from hadash.dashboard.views.common import paged, searched, user_of
from hadash.inventory.models import AppID
from hadash.presentation import engines

#: Rows of a page: they are short.
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class ClientRow:
    """The connections of one client.id of an AppID to one cluster. ``parked``: how many of them wait."""

    appid: str
    client_id: str
    cluster: str
    connections: int
    parked: int


#: The sort keys of the list, which are the columns of its CSV, too.
KEYS: Keys = {name: attrgetter(name) for name in (field.name for field in fields(ClientRow))}


@require_GET
def clients(request: HttpRequest) -> HttpResponseBase:
    """List the connected clients. ``?q=`` searches AppIDs and client.ids, ``?sort=``, ``?format=csv``. With htmx only
    the rows.
    """
    user = user_of(request)
    pairs = {
        cluster.name: pair.pk
        for pair in pairs_where(user).select_related("first", "second")
        for cluster in pair.clusters
    }
    look, connected = engines.look_at_gateways(), engines.look_at_connected()
    every = [
        ClientRow(*who, connections, connected.parked.get(who, 0))
        for who, connections in connected.connections.items()
        if who[2] in pairs
    ]
    query = searched(request, "q")
    order = order_of(request, KEYS)
    found = sorted(_named(every, query), key=astuple)
    rows = order.rows(found, KEYS)
    if request.GET.get("format") == "csv":
        return csv_response("clients", list(KEYS), map(astuple, rows))
    page = paged(request, rows, PAGE_SIZE, len(rows))
    known = _numbers(page.object_list, pairs)
    context = {
        "engines": look,
        "silent": connected.silent,
        "may_see": may_somewhere(user, VIEW),
        "clients": len({(row.appid, row.client_id) for row in every}),
        "order": order,
        "page": page,
        "rows": [(row, known.get((pairs[row.cluster], row.appid))) for row in page.object_list],
        "query": query,
    }
    template = "clients/rows.html" if request.headers.get("HX-Request") else "clients/list.html"
    return render(request, template, context)


def _named(rows: Iterable[ClientRow], query: str) -> list[ClientRow]:
    wanted = query.casefold()
    return [row for row in rows if wanted in row.appid.casefold() or wanted in row.client_id.casefold()]


def _numbers(rows: Iterable[ClientRow], pairs: dict[str, int]) -> dict[tuple[int, str], int]:
    """Return (pair, AppID) → the number of its page, for the AppIDs of these rows. One query."""
    names = {row.appid for row in rows}
    known = AppID.objects.filter(pair__in=set(pairs.values()), name__in=names)
    return {(pair, name): pk for pair, name, pk in known.values_list("pair", "name", "pk")}
