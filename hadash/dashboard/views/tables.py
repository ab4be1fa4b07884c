"""The tables that jobs publish: one page for all of them, with a search, an order, and CSV."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.charts.of_tables import charts_of
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import order_of
from hadash.dashboard.views.common import address_with, paged, searched, user_of
from hadash.governance import selectors
from hadash.inventory.models import AppID
from hadash.presentation.published_tables import count_of, rows_of
from hadash.presentation.tables import TABLES, THING_WORDS, Range, Table, range_of

#: Rows of a page: they are short.
PAGE_SIZE = 50


@require_GET
def table(request: HttpRequest, name: str) -> HttpResponseBase:
    """Render a published table. ``?pair=``, ``?show=`` filters, ``?island=`` in a table of
    things, ``?clients=4-7`` and ``?radius=`` in that of sharing, ``?q=`` searches names, ``?sort=column`` or
    ``-column``, ``?format=csv``; ``?csv=`` names a chart.
    """
    found = TABLES.get(name)
    if found is None:
        raise Http404(_("There is no table %(name)s.") % {"name": name})
    pairs = selectors.pair_names(user_of(request))
    pair, query = searched(request, "pair"), searched(request, "q")
    pair = pair if pair in pairs else ""
    show = found.show(searched(request, "show"))
    exact = searched(request, found.exact) if found.exact else ""
    ranges = {name: each for name in found.ranges if (each := range_of(searched(request, name))) is not None}
    narrowed = found.narrowed(show.name if show else "", exact, ranges)
    order = order_of(request, [column.name for column in found.columns])
    run = selectors.published(found.job)
    shown = [pair] if pair else pairs
    charts = charts_of(found.name, run, shown, query)
    if (asked := asked_csv(request, charts)) is not None:
        return asked
    rows = rows_of(found, shown, query, order.text, narrowed)
    if request.GET.get("format") == "csv":
        names = [column.name for column in found.columns]
        return csv_response(found.name, names, rows.values_list(*names).iterator(chunk_size=2000))
    known = None if query else count_of(found.model, run, tuple(shown), narrowed)
    page = paged(request, rows, PAGE_SIZE, known)
    context = {
        "table": found,
        "charts": charts,
        "tables": TABLES,
        "order": order,
        "page": page,
        "rows": [_cells(row, found) for row in page.object_list],
        "appids": _pages(page.object_list, found),
        "pairs": pairs,
        "pair": pair,
        "query": query,
        "show": show,
        "exact": exact,
        "ranges": [_range(request, found, name, each) for name, each in ranges.items()],
        "run": run,
        "over_time": selectors.coverage_over_time([pair] if pair else pairs)
        if found.name == "coverage"
        else [],
    }
    return render(request, "governance/table.html", context)


def _range(request: HttpRequest, found: Table, name: str, shown: Range) -> dict[str, Any]:
    """What the page says of a range, with the address that shows all numbers of its column."""
    low, high = shown
    column = found.column(name)
    return {
        "name": name,
        "value": f"{low}-{high}",
        "word": column.word if column else name,
        "says": f"{low:,}" if low == high else f"{low:,}–{high:,}",
        "without": address_with(request, **{name: None, "page": None}),
    }


def _cells(row: Any, found: Table) -> list[tuple[Any, Any]]:
    """Return the cells of a row, each with its column."""
    return [(column, _cell(row, column.name, column.kind)) for column in found.columns]


def _cell(row: Any, name: str, kind: str) -> Any:
    value = getattr(row, name)
    return THING_WORDS.get(value, value) if kind == "kind" else value


def _pages(rows: Any, found: Table) -> dict[str, int]:
    """Return ``"<pair> <name>"`` → the number of the AppID's page, for the AppIDs among the rows."""
    names = {row.appid for row in rows if found.column("appid") and row.appid}
    known = AppID.objects.filter(name__in=names).values_list("pair__name", "name", "pk")
    return {f"{pair} {name}": pk for pair, name, pk in known}
