"""Clusters: the list, and one cluster with its brokers, partitions, history, and differences from its twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, fields
from operator import attrgetter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.clusters.selectors import Change, ClusterRow, changes_of, charts_of, rows_for, states_of
from hadash.dashboard.clusters.survey import BrokerRow, Trouble, survey_of
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Keys, order_of, part_order
from hadash.dashboard.views.common import part_of, searched, user_of
from hadash.inventory.cluster_differences import Differing, differing_quotas
from hadash.kafka.errors import KafkaError
from hadash.mirroring.services import cluster_client
from hadash.presentation.localized import explained

#: Rows per page of each table of one cluster; the CSV has all of them.
ROWS_SHOWN = 25


def _newest(name: str) -> Callable[[ClusterRow], Any]:
    """Return the sort key for a value of the newest snapshot; ``None`` where there is none."""
    return lambda row: getattr(row.newest, name, None)


#: The sort keys of the list, and of the tables of one cluster.
KEYS: Keys = {
    "cluster": lambda row: row.cluster.name,
    "state": lambda row: str(row.state.word),
    "milliseconds": attrgetter("milliseconds"),
    "brokers": lambda row: len(row.cluster.brokers) if row.state.is_fine else None,
    "controller": _newest("controller"),
    "version": _newest("version"),
    "partitions": _newest("partitions"),
    "leaderless": _newest("leaderless"),
    "under_replicated": _newest("under_replicated"),
    "under_min_isr": _newest("under_min_isr"),
    "gateways": lambda row: " ".join(row.reached_by) or None,
    "missed_by": lambda row: " ".join(row.missed_by) or None,
    "looked_at": lambda row: row.cluster.looked_at,
}
TROUBLE_KEYS: Keys = {field.name: attrgetter(field.name) for field in fields(Trouble)}
BROKER_KEYS: Keys = {field.name: attrgetter(field.name) for field in fields(BrokerRow)}
CHANGE_KEYS: Keys = {field.name: attrgetter(field.name) for field in fields(Change)}
DIFFERING_KEYS: Keys = {field.name: attrgetter(field.name) for field in fields(Differing)}


@require_GET
def clusters(request: HttpRequest) -> HttpResponseBase:
    """List the clusters of the pairs that the user may see; ``?sort=``; ``?format=csv``. With htmx only the rows."""
    order = order_of(request, KEYS)
    rows = order.rows(rows_for(user_of(request)), KEYS)
    if request.GET.get("format") == "csv":
        return csv_response("clusters", ("pair", *KEYS), map(_csv_row, rows))
    template = "clusters/rows.html" if request.headers.get("HX-Request") else "clusters/list.html"
    return render(request, template, {"rows": rows, "order": order})


def _csv_row(row: ClusterRow) -> tuple[Any, ...]:
    return (row.pair.name, *(key(row) for key in KEYS.values()))


@require_GET
def cluster(request: HttpRequest, name: str) -> HttpResponseBase:
    """Render the page of a cluster; with htmx only its present state, or with ``?part=facts`` only what the newest
    snapshot has of it. ``?csv=`` names a chart or table.
    """
    row = next((each for each in rows_for(user_of(request)) if each.cluster.name == name), None)
    if row is None:
        raise Http404(_("There is no cluster %(name)s.") % {"name": name})
    only_a_part = bool(request.headers.get("HX-Request"))
    if only_a_part and searched(request, "part") != "facts":
        return render(request, "clusters/now.html", {"row": row})
    known = states_of(row.cluster)
    survey = survey_of(name, row.twin.name)
    charts = charts_of(row.cluster, known)
    if (asked := asked_csv(request, charts)) is not None:
        return asked
    if request.GET.get("csv") == "troubles":
        rows = (
            (t.topic, t.partitions, t.leaderless, t.under_min_isr, t.under_replicated, t.asked)
            for t in survey.troubles
        )
        columns = (
            "topic",
            "partitions",
            "leaderless",
            "under_min_isr",
            "under_replicated",
            "min_insync_replicas",
        )
        return csv_response("troubles", columns, rows)
    if request.GET.get("csv") == "changes":
        return csv_response("changes", list(CHANGE_KEYS), map(astuple, changes_of(known)))
    if request.GET.get("csv") == "differing":
        return csv_response(
            "differing",
            ("of", "setting", name, row.twin.name),
            ((d.of, d.setting, d.here, d.there) for d in survey.differing),
        )
    orders = {
        "troubles": part_order(request, "troubles", TROUBLE_KEYS),
        "brokers": part_order(request, "brokers", BROKER_KEYS),
        "differing": part_order(request, "differing", DIFFERING_KEYS),
        "changes": part_order(request, "changes", CHANGE_KEYS),
    }
    context = {
        "row": row,
        "survey": survey,
        "orders": orders,
        "brokers": orders["brokers"].rows(survey.brokers, BROKER_KEYS),
        "charts": charts,
        "snapshots": len(known),
        "changes": part_of(
            request,
            "changes",
            orders["changes"].rows(changes_of(known), CHANGE_KEYS),
            ROWS_SHOWN,
        ),
        "troubles": part_of(
            request, "troubles", orders["troubles"].rows(survey.troubles, TROUBLE_KEYS), ROWS_SHOWN
        ),
        "differing": part_of(
            request, "differing", orders["differing"].rows(survey.differing, DIFFERING_KEYS), ROWS_SHOWN
        ),
    }
    return render(request, "clusters/facts.html" if only_a_part else "clusters/page.html", context)


@require_GET
def quotas(request: HttpRequest, name: str) -> HttpResponseBase:
    """Render a part of a cluster's page: the quotas that differ from its twin's. Both clusters are asked, as snapshots
    have no quotas.
    """
    row = next((each for each in rows_for(user_of(request)) if each.cluster.name == name), None)
    if row is None:
        raise Http404(_("There is no cluster %(name)s.") % {"name": name})
    context: dict[str, Any] = {"row": row}
    try:
        found = differing_quotas(cluster_client(row.cluster).quotas(), cluster_client(row.twin).quotas())
        if request.GET.get("format") == "csv":
            rows = ((each.of, each.setting, each.here, each.there) for each in found)
            return csv_response(f"quotas-{name}", ("of", "quota", name, row.twin.name), rows)
        page = reverse("cluster", args=[name])
        order = part_order(request, "quotas", DIFFERING_KEYS, page)
        context["order"] = order
        context["differing"] = part_of(request, "quotas", order.rows(found, DIFFERING_KEYS), ROWS_SHOWN, page)
    except KafkaError as error:
        if request.GET.get("format") == "csv":
            return HttpResponse(explained(error), status=503, content_type="text/plain; charset=utf-8")
        context["fault"] = explained(error)
    return render(request, "clusters/quotas.html", context)
