"""The jobs of the pipeline: their schedules, their runs, and the changes between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from hadash.accounts.roles import CHANGE_SCHEDULE, RUN_JOB
from hadash.dashboard.context import frame
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views.common import address_of, address_with, denied, paged, searched, typed, user_of
from hadash.governance import comparing, selectors
from hadash.governance.models.runs import Run
from hadash.pipeline import schedules
from hadash.pipeline.jobs import JOBS, Job
from hadash.presentation import badges
from hadash.presentation.localized import sentence
from hadash.presentation.published_tables import jobs_for, runs_for, seen_by, the_run, two_runs
from hadash.refusals import Refused
from hadash.sentences import Sentence
from hadash.switching.handovers import handing_over

#: The sort keys of the list of runs.
FIELDS: Fields = {"number": ("pk",), "job": ("job",), "state": ("state",), "began": ("began_at",)}


@require_GET
def pipeline(request: HttpRequest) -> HttpResponseBase:
    """List all jobs and the last runs; ``?job=`` filters the runs; ``?sort=``; ``?format=csv``. With htmx only the part
    that changes.
    """
    return _page(request)


def _page(
    request: HttpRequest,
    refusals: Sequence[Sentence] = (),
    edited: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponseBase:
    """Render the page.

    :param edited: the fields of a schedule that was refused.
    """
    user = user_of(request)
    every_job = schedules.overview()
    jobs = jobs_for(user, every_job)
    wanted = searched(request, "job")
    found = runs_for(user)
    if wanted in Job.values:
        found = found.filter(job=wanted)
    order = order_of(request, FIELDS)
    found = order.query(found, FIELDS, ("-pk",))
    if request.GET.get("format") == "csv":
        return csv_response("runs", _CSV, map(_csv_row, map(seen_by(user), found.iterator(chunk_size=500))))
    page = paged(request, found)
    context = {
        **frame(request, jobs=every_job),
        "order": order,
        "jobs": [(each, badges.of_run(each.under_way) if each.under_way else None) for each in jobs],
        "page": page,
        "runs": [(run, badges.of_run(run)) for run in map(seen_by(user), page.object_list)],
        "job": wanted if wanted in Job.values else "",
        "lake": settings.LAKE,
        "live": any(each.under_way for each in jobs),
        "refusals": refusals,
        "edited": edited or {},
    }
    template = "pipeline/live.html" if request.headers.get("HX-Request") else "pipeline/page.html"
    return render(request, template, context, status=status)


_CSV = ("number", "job", "state", "asked_by", "due_at", "began_at", "ended_at", "rows", "fault")


def _csv_row(run: Run) -> tuple[Any, ...]:
    return (
        run.pk,
        run.job,
        run.state,
        run.asked_by,
        run.due_at,
        run.began_at,
        run.ended_at,
        sum(run.rows.values()),
        sentence(run.fault),
    )


@require_GET
def run(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Render one run, or with htmx only the part that changes."""
    found = the_run(user_of(request), pk)
    others = Run.objects.filter(job=found.job, state=Run.State.PUBLISHED, pk__lt=pk).order_by("-pk")
    context = {
        "run": found,
        "state": badges.of_run(found),
        "about": JOBS[Job(found.job)],
        "live": found.state in schedules.UNDER_WAY,
        "made": [
            (name, found.rows.get(name), found.seconds.get(name))
            for name in dict.fromkeys([*found.rows, *found.seconds])
        ],
        "others": others if found.state == Run.State.PUBLISHED and Job(found.job) in selectors.TABLES else [],
    }
    template = "pipeline/run_live.html" if request.headers.get("HX-Request") else "pipeline/run.html"
    return render(request, template, context)


@require_GET
def compare(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show what has changed since the run ``?with=`` of the same job; without it, redirect to the run's page.

    With htmx, render only one ``?table=``: the database compares up to a million rows, and the page is shown meanwhile.
    ``?<table>=`` is the page of its rows. With ``?csv=``, return all differences of that table.
    """
    if "with" not in request.GET:
        return redirect("run", pk=pk)
    now = the_run(user_of(request), pk)
    asked = searched(request, "with")
    before, now = two_runs(now, int(asked) if asked.isdecimal() and len(asked) < 19 else None)
    pairs = selectors.pair_names(user_of(request))
    context: dict[str, Any] = {
        "before": before,
        "run": now,
        "tables": comparing.tables_of(now),
        "shown": comparing.SHOWN,
    }
    wanted_as_csv = searched(request, "csv")
    table = wanted_as_csv or searched(request, "table")
    if not (wanted_as_csv or request.headers.get("HX-Request")):
        return render(request, "pipeline/compare.html", context)
    if table not in context["tables"]:
        raise Http404(_("There is no table %(name)s.") % {"name": table})
    if wanted_as_csv:
        head, rows = comparing.every_difference(table, before, now, pairs)
        return csv_response(f"{now.job}-{table}-{before.pk}-{now.pk}", head, rows)
    page = searched(request, table)
    number = int(page) if page.isdecimal() and len(page) < 9 else 1
    found = comparing.difference(table, before, now, pairs, number)
    shown = min(max(number, 1), found.pages)
    context |= {
        "each": found,
        "number": shown,
        "before_page": _beside(request, table, shown - 1) if shown > 1 else "",
        "after_page": _beside(request, table, shown + 1) if shown < found.pages else "",
    }
    return render(request, "pipeline/difference.html", context)


def _beside(request: HttpRequest, table: str, page: int) -> str:
    """Return the address of the whole page with another page of one of its tables."""
    return request.path + address_with(request, **{table: str(page)}, table=None)


@require_POST
def run_now(request: HttpRequest, job: str) -> HttpResponseBase:
    try:
        made = schedules.run_now(user_of(request), _job(job), handing_over.start_run, address_of(request))
    except PermissionDenied as error:
        return denied(request, error, RUN_JOB)
    except Refused as refusal:
        return _page(request, refusal.reasons, status=409)
    return redirect("run", pk=made.pk)


@require_POST
def change_schedule(request: HttpRequest, job: str) -> HttpResponseBase:
    """Change the schedule of a job. Fields ``cron`` and ``enabled``."""
    wanted = _job(job)
    text, enabled = typed(request, "cron"), bool(request.POST.get("enabled"))
    try:
        schedules.change(user_of(request), wanted, text, enabled, address_of(request))
    except PermissionDenied as error:
        return denied(request, error, CHANGE_SCHEDULE)
    except Refused as refusal:
        edited = {"job": job, "cron": text, "enabled": "on" if enabled else ""}
        return _page(request, refusal.reasons, edited, 409)
    messages.success(request, _("The schedule of %(job)s is changed.") % {"job": wanted.label})
    return redirect("pipeline")


def _job(name: str) -> Job:
    if name not in Job.values:
        raise Http404(_("There is no job %(name)s.") % {"name": name})
    return Job(name)
