"""The AppIDs with unregistered clients, with the texts for their owners."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.owner_mails import addressed
from hadash.dashboard.views.common import paged, searched, user_of
from hadash.governance import selectors
from hadash.governance.models.runs import Run
from hadash.presentation.uncovered import COLUMNS, csv_rows, rows_of, with_clients


@require_GET
def uncovered(request: HttpRequest) -> HttpResponseBase:
    """List the AppIDs. ``?pair=``, ``?q=`` searches AppIDs; ``?format=csv`` returns a row per client."""
    pairs = selectors.pair_names(user_of(request))
    pair, query = searched(request, "pair"), searched(request, "q")
    pair = pair if pair in pairs else ""
    rows = rows_of([pair] if pair else pairs, query)
    if request.GET.get("format") == "csv":
        return csv_response("uncovered", COLUMNS, csv_rows(rows))
    page = paged(request, rows, 10, scans=True)
    context = {
        "page": page,
        "rows": addressed(with_clients(page.object_list)),
        "run": selectors.published(Run.Job.COVERAGE),
        "job_label": Run.Job.COVERAGE.label,
        "pairs": pairs,
        "pair": pair,
        "query": query,
    }
    return render(request, "governance/uncovered.html", context)
