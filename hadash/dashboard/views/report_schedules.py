"""Schedules of reports: creating and changing them, their issues, and the owners' mail addresses."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from hadash.accounts.roles import MANAGE_REPORTS, ROLES, may
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.report_forms import USUAL_TIMES, OwnerAddressForm, ScheduleForm
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views.common import address_of, denied, faults_of, paged, part_of, searched, user_of
from hadash.dashboard.views.deliveries import CSV, csv_row
from hadash.inventory.models import AppID, Pair
from hadash.outbox.models import STATES
from hadash.outbox.states import State
from hadash.pipeline.cron import NoSuchTime, validated
from hadash.presentation import badges
from hadash.presentation.localized import sentence
from hadash.reports import addressing, reading, schedules, times
from hadash.reports.issues import awaits_figures
from hadash.reports.models import OwnerAddress, ReportIssue, ReportRecipient, ReportSchedule
from hadash.reports.schedules import ScheduleRefused
from hadash.reports.times import NoSuchZone
from hadash.sentences import Sentence

#: How many of a schedule's next times are shown.
TIMES_SHOWN = 5
#: How many weeks the calendar of these times has.
WEEKS_SHOWN = 6
#: Most issues on the page of a schedule.
ISSUES_SHOWN = 20
#: Owners on a page.
OWNERS_SHOWN = 50
#: Most names that the form suggests.
NAMES_OFFERED = 500


def _denied(request: HttpRequest, error: PermissionDenied | None = None) -> HttpResponse:
    return denied(request, error or PermissionDenied("You may not change reports."), MANAGE_REPORTS)


def _the_schedule(pk: int) -> ReportSchedule:
    found = ReportSchedule.objects.select_related("pair", "created_by").filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no schedule with number %(pk)s.") % {"pk": pk})
    return found


@require_http_methods(["GET", "POST"])
def new_schedule(request: HttpRequest) -> HttpResponse:
    return _edit(request, None)


@require_http_methods(["GET", "POST"])
def edit_schedule(request: HttpRequest, pk: int) -> HttpResponse:
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    return _edit(request, _the_schedule(pk))


def _edit(request: HttpRequest, schedule: ReportSchedule | None) -> HttpResponse:
    """Create or change a schedule. POST: the fields of :class:`ScheduleForm`."""
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    pairs = Pair.objects.order_by("name")
    form = ScheduleForm(request.POST if request.method == "POST" else None, pairs=pairs, schedule=schedule)
    refusals: list[Sentence] = []
    if request.method == "POST":
        if form.is_valid():
            enabled = schedule.enabled if schedule is not None else True
            try:
                saved = schedules.save(user_of(request), form.wanted(enabled), schedule, address_of(request))
            except ScheduleRefused as refused:
                refusals = refused.reasons
            else:
                messages.success(request, _("The schedule is saved."))
                return redirect("report-schedule", pk=saved.pk)
        else:
            refusals = faults_of(form)
    context = {
        "form": form,
        "schedule": schedule,
        "refusals": refusals,
        "ways": ReportRecipient.Way.choices,
        "languages": settings.LANGUAGES,
        "people": User.objects.filter(is_active=True).order_by("username")[:NAMES_OFFERED],
        "roles": ROLES,
        "pair_names": [pair.name for pair in pairs],
        "owners": _owners()[:NAMES_OFFERED],
        "usual_times": {kind.value: cron for kind, cron in USUAL_TIMES.items()},
        **_times(str(form["cron"].value() or ""), str(form["zone"].value() or "")),
    }
    return render(request, "reports/edit.html", context, status=409 if refusals else 200)


def _owners() -> Any:
    return AppID.objects.exclude(owner="").order_by("owner").values_list("owner", flat=True).distinct()


@require_GET
def schedule_times(request: HttpRequest) -> HttpResponse:
    """Render the next times for ``?cron=`` and ``?zone=``, while they are typed."""
    context = _times(searched(request, "cron"), searched(request, "zone"))
    return render(request, "reports/times.html", context)


def _times(cron: str, zone: str) -> dict[str, Any]:
    """Return the context for the next times, or for what is wrong."""
    zone = zone or settings.REPORT_ZONE
    if not cron.strip():
        return {"times": [], "time_fault": None, "times_zone": zone}
    now = timezone.now()
    try:
        known = times.zone_named(zone)
        every = times.next_times(validated(cron), known, now, TIMES_SHOWN)
        weeks = times.weeks(validated(cron), known, now, WEEKS_SHOWN)
    except (NoSuchTime, NoSuchZone) as error:
        return {"times": [], "time_fault": error.sentence, "times_zone": zone}
    # (Without their zone: a template would convert them to the reader's.)
    shown = [(at, at.astimezone(known).replace(tzinfo=None)) for at in every]
    return {"times": shown, "time_fault": None, "times_zone": zone, "weeks": weeks}


@require_GET
def schedule(request: HttpRequest, pk: int) -> HttpResponse:
    """Render one schedule with its next times, and its issues with the states of their mail."""
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    found = _the_schedule(pk)
    issues = list(found.issues.select_related("asked_by").prefetch_related("editions")[:ISSUES_SHOWN])
    counts = reading.delivery_counts(issues)
    context = {
        "schedule": found,
        "recipients": found.recipients.select_related("user"),
        "issues": [(issue, badges.of(issue.shown), _counted(counts.get(issue.pk, {}))) for issue in issues],
        "awaiting": [issue.pk for issue in issues if awaits_figures(issue, timezone.now())],
        "mail_goes": bool(settings.SMTP_HOST),
        **(_times(found.cron, found.zone) if found.enabled else {"times": [], "times_zone": found.zone}),
    }
    template = "reports/issues.html" if request.headers.get("HX-Request") else "reports/schedule.html"
    return render(request, template, context)


def _counted(counts: Any) -> list[tuple[Any, int]]:
    return [(badges.of(STATES[state]), count) for state in State if (count := counts.get(state, 0))]


@require_POST
def pause_schedule(request: HttpRequest, pk: int) -> HttpResponse:
    """Pause a schedule, or resume it. Field ``enabled``: ``yes`` resumes it."""
    found = _the_schedule(pk)
    try:
        schedules.pause(
            user_of(request), found, enabled=request.POST.get("enabled") == "yes", address=address_of(request)
        )
    except PermissionDenied as error:
        return _denied(request, error)
    return redirect("report-schedule", pk=pk)


@require_POST
def send_schedule_now(request: HttpRequest, pk: int) -> HttpResponse:
    found = _the_schedule(pk)
    try:
        schedules.send_now(user_of(request), found, address_of(request))
    except PermissionDenied as error:
        return _denied(request, error)
    except ScheduleRefused as refused:
        for reason in refused.reasons:
            messages.error(request, sentence(reason))
        return redirect("report-schedule", pk=pk)
    messages.success(
        request, _("It is being made: a row for it stands below, with what becomes of each mail.")
    )
    return redirect("report-schedule", pk=pk)


@require_POST
def delete_schedule(request: HttpRequest, pk: int) -> HttpResponse:
    found = _the_schedule(pk)
    try:
        schedules.delete(user_of(request), found, address_of(request))
    except PermissionDenied as error:
        return _denied(request, error)
    messages.success(request, _("The schedule %(name)s is deleted.") % {"name": found.name})
    return redirect("reports")


#: The sort keys of an issue's mails.
MAIL_FIELDS: Fields = {
    "address": ("address",),
    "state": ("state",),
    "tries": ("tries",),
    "since": ("settled_at", "queued_at"),
}


@require_GET
def issue(request: HttpRequest, pk: int) -> HttpResponseBase:
    """List every mail of one issue; ``?state=`` filters, ``?sort=`` orders; ``?format=csv``."""
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    found = _the_issue(pk)
    every = reading.deliveries_of(found)
    wanted = searched(request, "state")
    chosen = every.filter(state=wanted) if wanted in set(State) else every
    order = order_of(request, MAIL_FIELDS)
    chosen = order.query(chosen.select_related("content", "user"), MAIL_FIELDS)
    if request.GET.get("format") == "csv":
        return csv_response(f"issue-{pk}", CSV, map(csv_row, chosen.iterator(chunk_size=500)))
    page = paged(request, chosen)
    counts = reading.delivery_counts([found]).get(found.pk, Counter())
    context = {
        "issue": found,
        "state": badges.of(found.shown),
        "editions": found.editions.defer("report"),
        "page": page,
        "order": order,
        "deliveries": [(each, badges.of(STATES[each.current])) for each in page.object_list],
        "counts": [
            (state, badges.of(STATES[state]), counts.get(state, 0)) for state in State if counts.get(state)
        ],
        "chosen": wanted if wanted in set(State) else "",
        "labels": {state: each.label for state, each in STATES.items()},
    }
    return render(request, "reports/issue.html", context)


def _the_issue(pk: int) -> ReportIssue:
    found = ReportIssue.objects.select_related("schedule", "asked_by").filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no issue with number %(pk)s.") % {"pk": pk})
    return found


OWNER_COLUMNS = ("owner", "address", "language", "zone")


def _owner_row(owner: str, known: OwnerAddress | None) -> tuple[str, str, str, str]:
    return (owner, known.address, known.language, known.zone) if known else (owner, "", "", "")


@require_http_methods(["GET", "POST"])
def owners(request: HttpRequest) -> HttpResponseBase:
    """List the owners' mail addresses; ``?format=csv`` returns all of them. POST: the fields of
    :class:`OwnerAddressForm`.
    """
    if not may(user_of(request), MANAGE_REPORTS):
        return _denied(request)
    refusals: list[Sentence] = []
    form = OwnerAddressForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if form.is_valid():
            values = form.cleaned_data
            addressing.set_owner(
                user_of(request),
                values["owner"],
                values["address"],
                values["language"],
                values["zone"],
                address_of(request),
            )
            messages.success(request, _("Saved: %(owner)s") % {"owner": values["owner"]})
            return redirect("report-owners")
        refusals = faults_of(form)
    query = searched(request, "q")
    every = _owners()
    if query:
        every = every.filter(owner__icontains=query)
    if request.GET.get("format") == "csv":
        addresses = {each.owner: each for each in OwnerAddress.objects.all()}
        return csv_response(
            "owners", OWNER_COLUMNS, (_owner_row(o, addresses.get(o)) for o in every.iterator())
        )
    part = part_of(request, "page", every, OWNERS_SHOWN)
    known = {each.owner: each for each in OwnerAddress.objects.filter(owner__in=part.page.object_list)}
    context = {
        "part": part,
        "rows": [(owner, known.get(owner)) for owner in part.page.object_list],
        "query": query,
        "form": form,
        "refusals": refusals,
        "languages": settings.LANGUAGES,
        "report_zone": settings.REPORT_ZONE,
    }
    return render(request, "reports/owners.html", context, status=409 if refusals else 200)
