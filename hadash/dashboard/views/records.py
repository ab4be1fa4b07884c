"""The record of an ended switch, for printing and sharing."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.views.decorators.http import require_GET

from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.charts.of_switch import pauses_of, stages_of
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.report_pdf import pdf_response
from hadash.dashboard.views.common import the_switch, user_of
from hadash.presentation import badges
from hadash.presentation.record import PROOF_COLUMNS, proof_of, record_of
from hadash.reports import reading
from hadash.reports.kinds import moved, whole_record
from hadash.reports.recipients import View
from hadash.switching.execution.pauses import kept_pauses
from hadash.switching.models.switches import Switch


@require_GET
def record(request: HttpRequest, key: str) -> HttpResponseBase:
    """Render the record. ``?format=pdf`` returns it as a file, in the user's language and time zone of mail;
    ``?csv=proof`` the offsets of all partitions, ``?csv=`` with the name of a chart its table. A switch that is still
    open has no record: redirect to its page.
    """
    found = the_switch(user_of(request), key)
    if found.open:
        return redirect("switch", key=key)
    if request.GET.get("format") == "pdf":
        return _pdf(request, found)
    records = list(found.stages.all())
    if request.GET.get("csv") == "proof":
        rows = (row.row for row in proof_of(found.facts, records))
        return csv_response(f"proof-{key}", PROOF_COLUMNS, rows)
    charts = [chart for chart in (pauses_of(found, records), stages_of(found, records)) if chart is not None]
    if (asked := asked_csv(request, charts)) is not None:
        return asked
    record = record_of(found)
    drawn = moved.section_of(found, record, kept_pauses(found))
    context = {**record, "state": badges.of_row(found), "charts": charts, "drawn": drawn}
    return render(request, "switches/record.html", context)


def _pdf(request: HttpRequest, switch: Switch) -> HttpResponseBase:
    language = translation.get_language() or settings.LANGUAGE_CODE
    zone = reading.zone_of(user_of(request))
    with timezone.override(ZoneInfo(zone)):
        report = whole_record.build(View(language, zone, (switch.pair.name,)), timezone.now(), switch.key)
    return pdf_response(report, language, zone, f"hadash-switch-{switch.key}")
