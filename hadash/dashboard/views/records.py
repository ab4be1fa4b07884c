"""The record of an ended switch, for printing and sharing."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.views.common import the_switch, user_of
from hadash.presentation import badges
from hadash.presentation.record import PROOF_COLUMNS, proof_of, record_of


@require_GET
def record(request: HttpRequest, key: str) -> HttpResponseBase:
    """Render the record. ``?csv=proof`` returns the offsets of all partitions. A switch that is still open has no
    record: redirect to its page.
    """
    found = the_switch(user_of(request), key)
    if found.open:
        return redirect("switch", key=key)
    if request.GET.get("csv") == "proof":
        rows = (row.row for row in proof_of(found.facts, found.stages.all()))
        return csv_response(f"proof-{key}", PROOF_COLUMNS, rows)
    return render(request, "switches/record.html", {**record_of(found), "state": badges.of_row(found)})
