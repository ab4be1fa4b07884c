"""Gateways: the list, the page of one, and excluding one."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from hadash.accounts.roles import EXCLUDE_GATEWAY, VIEW, may, may_somewhere, pairs_where
from hadash.bindings.errors import UnknownOutcome
from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.gateways.selectors import WINDOWS, GatewayRow, charts_of, history_of, rows_of, said_of
from hadash.dashboard.sorting import Keys, order_of
from hadash.dashboard.views.common import address_of, denied, searched, typed, user_of
from hadash.presentation import engines, selectors
from hadash.refusals import Refused
from hadash.sentences import Sentence
from hadash.switching.recovery import gateways


@require_http_methods(["GET", "POST"])
def exclude(request: HttpRequest) -> HttpResponse:
    """Exclude a Gateway, or include it again. GET: ``?gateway=<id>``. POST: fields ``gateway``, ``typed`` and
    ``reason``; or ``include``.
    """
    if not may(user_of(request), EXCLUDE_GATEWAY):
        return denied(request, PermissionDenied("You may not exclude Gateways."), EXCLUDE_GATEWAY)
    if request.method == "GET":
        return _page(request, searched(request, "gateway"), [])
    name = typed(request, "gateway")
    try:
        if request.POST.get("include"):
            gateways.include(user_of(request), name, address_of(request))
            messages.success(request, _("Switches wait for this Gateway again."))
        else:
            confirmed, reason = typed(request, "typed"), typed(request, "reason")
            gateways.exclude(user_of(request), name, confirmed, reason, address_of(request))
            messages.success(request, _("Switches do not wait for this Gateway any more."))
    except Refused as refusal:
        return _page(request, name, refusal.reasons, 409)
    except UnknownOutcome:
        return _page(request, name, [], 503, unknown=True)
    return redirect("gateways")


def _page(
    request: HttpRequest, name: str, refusals: list[Sentence], status: int = 200, *, unknown: bool = False
) -> HttpResponse:
    """Render the form.

    :param unknown: whether the outcome of the change is unknown.
    """
    context = {
        "gateway": name,
        "typed": typed(request, "typed"),
        "reason": typed(request, "reason"),
        "refusals": refusals,
        "unknown": unknown,
    }
    return render(request, "gateways/exclude.html", context, status=status)


# -- what they do --------------------------------------------------------------------------------------------------


def _clusters(request: HttpRequest) -> set[str]:
    """Return the names of the clusters that the viewer may see."""
    pairs = pairs_where(user_of(request)).select_related("first", "second")
    return {cluster.name for pair in pairs for cluster in pair.clusters}


def _rate(name: str) -> Callable[[GatewayRow], Any]:
    """Return the sort key for a rate between the last two samples; ``None`` where it is unknown."""
    return lambda row: getattr(row.rate, name, None)


#: The sort keys of the list.
KEYS: Keys = {
    "gateway": attrgetter("id"),
    "state": lambda row: str(row.state.word),
    "epoch": lambda row: row.gateway.applied,
    "connections": attrgetter("connections"),
    "parked": _rate("parked"),
    "requests": attrgetter("requests"),
    "refused": attrgetter("refused"),
    "cpu": _rate("cpu"),
    "memory": _rate("memory_bytes"),
    "version": lambda row: row.gateway.version,
    "since": lambda row: row.gateway.since,
}


@require_GET
def list_of_gateways(request: HttpRequest) -> HttpResponseBase:
    """List all Gateways; ``?sort=``; ``?format=csv``. With htmx only the rows."""
    look = engines.look_at_gateways()
    may_see = may_somewhere(user_of(request), VIEW)
    order = order_of(request, KEYS)
    rows = order.rows(rows_of(look, _clusters(request)) if may_see and not look.fault else [], KEYS)
    if request.GET.get("format") == "csv":
        columns = (
            "gateway",
            "state",
            "version",
            "epoch",
            "connections",
            "parked",
            "requests_s",
            "refused_min",
            "cpu",
            "memory",
        )
        return csv_response("gateways", columns, map(_csv_row, rows))
    context = {
        "engines": look,
        "rows": rows,
        "order": order,
        "says": said_of(rows),
        "may_see": may_see,
    }
    template = "gateways/rows.html" if request.headers.get("HX-Request") else "gateways/list.html"
    return render(request, template, context)


def _csv_row(row: GatewayRow) -> tuple[Any, ...]:
    gateway, rate = row.gateway, row.rate
    return (
        row.id,
        row.state.word,
        gateway.version if gateway else "",
        gateway.applied if gateway else "",
        row.connections,
        rate.parked if rate else None,
        row.requests,
        row.refused,
        rate.cpu if rate else None,
        rate.memory_bytes if rate else None,
    )


@require_GET
def gateway(request: HttpRequest, name: str) -> HttpResponseBase:
    """Render the page of a Gateway; with htmx only its present state, or with ``?part=charts`` only these.
    ``?window=``: hour or day; ``?csv=`` names a chart.
    """
    clusters = _clusters(request)
    look = engines.look_at_gateways()
    row = next((each for each in rows_of(look, clusters) if each.id == name), None)
    window = searched(request, "window")
    window = window if window in WINDOWS else "hour"
    found, span = history_of(name, window, clusters)
    if not may_somewhere(user_of(request), VIEW) or (row is None and not found and not look.fault):
        raise Http404(_("There is no Gateway %(name)s.") % {"name": name})
    context: dict[str, Any] = {"name": name, "row": row, "engines": look}
    part = searched(request, "part")
    if request.headers.get("HX-Request") and part != "charts":
        return render(request, "gateways/now.html", context)
    charts = charts_of(found, span, selectors.hues())
    if (asked := asked_csv(request, charts)) is not None:
        return asked
    context |= {
        "charts": charts,
        "window": window,
        "windows": [(key, word) for key, (word, _l) in WINDOWS.items()],
    }
    template = "gateways/charts.html" if request.headers.get("HX-Request") else "gateways/page.html"
    return render(request, template, context)
