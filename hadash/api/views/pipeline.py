"""Handlers for the jobs of the pipeline, their schedules and their runs."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.accounts.roles import VIEW, may_somewhere
from hadash.api.idempotency import idempotent
from hadash.api.serializers import governance as serializers
from hadash.api.views.common import KEY, PAGES, PagedView, View, address_of, problems
from hadash.governance import comparing, selectors
from hadash.governance.models.runs import Run
from hadash.pipeline import schedules
from hadash.pipeline.jobs import Job
from hadash.pipeline.schedules import Scheduled
from hadash.presentation.localized import sentence
from hadash.presentation.published_tables import jobs_for, runs_for, seen_by, the_run, two_runs
from hadash.switching.handovers import handing_over

_JOB = OpenApiParameter("job", str, OpenApiParameter.PATH, enum=Job.values)


def _run(run: Run | None) -> dict[str, Any] | None:
    return None if run is None else dict(serializers.RunSerializer(run).data)


def _job(each: Scheduled) -> dict[str, Any]:
    return {
        "job": each.about.job.value,
        "does": sentence(each.about.does),
        "cron": each.schedule.cron,
        "enabled": each.schedule.enabled,
        "next_at": each.next_at,
        "under_way": _run(each.under_way),
        "published": _run(each.published),
        "alarm": sentence(each.alarm) if each.alarm else "",
    }


def _the_job(name: str) -> Job:
    if name not in Job.values:
        raise Http404(_("There is no job %(name)s.") % {"name": name})
    return Job(name)


class Jobs(View):
    @extend_schema(
        operation_id="list_jobs",
        summary="The jobs of the pipeline: when they run, and how they are.",
        responses={200: serializers.JobSerializer(many=True), **problems()},
    )
    def get(self, request: Request) -> Response:
        found = jobs_for(request.user, schedules.overview()) if may_somewhere(request.user, VIEW) else []
        return Response([_job(each) for each in found])


class OneJob(View):
    @extend_schema(
        operation_id="change_schedule",
        summary="Change when a job runs; what is missing stays.",
        request=serializers.ScheduleRequest,
        parameters=[_JOB, KEY],
        responses={200: serializers.JobSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def patch(self, request: Request, job: str) -> Response:
        wanted, values = _the_job(job), self.validated(serializers.ScheduleRequest)
        schedules.change(request.user, wanted, values.get("cron"), values.get("enabled"), address_of(request))
        (found,) = (each for each in jobs_for(request.user, schedules.overview()) if each.about.job is wanted)
        return Response(_job(found))


class RunNow(View):
    @extend_schema(
        operation_id="run_job",
        summary="Run a job as soon as a worker has time.",
        request=None,
        parameters=[_JOB, KEY],
        responses={202: serializers.RunSerializer, **problems(404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, job: str) -> Response:
        made = schedules.run_now(request.user, _the_job(job), handing_over.start_run, address_of(request))
        return Response(_run(made), status=202)


class Runs(PagedView):
    @extend_schema(
        operation_id="list_runs",
        summary="Runs of jobs, the newest first.",
        parameters=[serializers.RunQuery, *PAGES],
        responses={200: serializers.RunSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(serializers.RunQuery, request.query_params.dict())
        found = runs_for(request.user)
        wanted = found.filter(job=asked["job"]) if "job" in asked else found
        seen = seen_by(request.user)
        return self.page(wanted, lambda each: _run(seen(each)))


class OneRun(View):
    @extend_schema(
        operation_id="show_run",
        summary="One run; while it goes on, how far it is.",
        responses={200: serializers.RunSerializer, **problems(404)},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(_run(the_run(request.user, pk)))


class Changes(View):
    @extend_schema(
        operation_id="compare_runs",
        summary="What has changed in the tables of a job since an earlier run.",
        parameters=[serializers.ChangesQuery],
        responses={200: serializers.ChangesSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, pk: int) -> Response:
        run = the_run(request.user, pk)
        asked = self.validated(serializers.ChangesQuery, request.query_params.dict())
        before, now = two_runs(run, asked["since"])
        found = comparing.differences(before, now, selectors.pair_names(request.user))
        return Response(serializers.ChangesSerializer([_changes(each) for each in found], many=True).data)


def _changes(found: comparing.Difference) -> dict[str, Any]:
    names = ("table", "columns", "added", "gone", "added_count", "gone_count", "changed_count")
    changed = [
        {"key": each.key, "values": {name: [then, now] for name, then, now in each.values}}
        for each in found.changed
    ]
    return {**{name: getattr(found, name) for name in names}, "changed": changed}
