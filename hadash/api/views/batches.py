"""Handlers for batches and their plans."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api import batch_representations
from hadash.api.idempotency import idempotent
from hadash.api.pagination import Pages
from hadash.api.serializers import batches as serializers
from hadash.api.serializers.common import NothingRequest, ReasonRequest, window_of
from hadash.api.views.actions import Actions
from hadash.api.views.common import (
    KEY,
    PAGES,
    PagedView,
    View,
    address_of,
    browser,
    problems,
    the_cluster,
    the_pair,
)
from hadash.api.views.lists import LOG_LINES, InboxQuery, LogQuery, inbox
from hadash.presentation import batches
from hadash.presentation.batches import the_batch
from hadash.radius.closure import Dimension
from hadash.switching.batches import decisions, operations, requests
from hadash.switching.batches.plans import Names, Wanted, build_batch_plan
from hadash.switching.batches.waves import Line
from hadash.switching.handovers import handing_over
from hadash.switching.machines.batches import ItemStatus, Status
from hadash.switching.models.batches import Batch


def _wanted(user: Any, values: dict[str, Any]) -> Wanted:
    pair = the_pair(user, values["pair"])
    named = values.get("list")
    return Wanted(
        pair=pair,
        target=the_cluster(pair, values["target"]),
        lines=None if named is None else [Line(line["name"], line["wave"]) for line in named],
        names=Names(values["names"]),
        dimension=Dimension(values["dimension"]),
        **{n: values[n] for n in ("widen", "wave_size", "first_wave", "parallelism", "leave_out")},
    )


class BatchPlans(View):
    @extend_schema(
        operation_id="plan_batch",
        summary="The radii of a batch, their waves, and what blocks each. Changes nothing.",
        request=serializers.BatchPlanRequest,
        responses={200: serializers.BatchProposalSerializer, **problems(400, 404, 409, 503)},
    )
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.BatchPlanRequest)
        return Response(batch_representations.proposal(build_batch_plan(_wanted(request.user, values))))


class BatchQuery(InboxQuery):
    status = s.ChoiceField([status.value for status in Status], required=False)


class Batches(View):
    pagination_class = Pages

    @extend_schema(
        operation_id="list_batches",
        summary="Batches, newest first.",
        parameters=[BatchQuery, *PAGES],
        responses={200: serializers.BatchSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(BatchQuery, request.query_params.dict())
        found = inbox(request.user, asked, batches.batches, batches.waiting_for, "status")
        pages = Pages()
        rows = pages.paginate_queryset(found, request, view=self) or []
        waves = batches.progress_of(rows)
        return pages.get_paginated_response(
            [batch_representations.batch(row, waves.get(row.pk, [])) for row in rows]
        )

    @extend_schema(
        operation_id="request_batch",
        summary="Ask for a batch. Somebody else has to approve it.",
        request=serializers.BatchRequest,
        parameters=[KEY],
        responses={201: serializers.WholeBatchSerializer, **problems(400, 404, 409, 412, 422, 503)},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.BatchRequest)
        asked = requests.BatchRequest(
            request.user,
            _wanted(request.user, values),
            values["reason"],
            address_of(request),
            browser(request),
        )
        made = requests.request(asked, window_of(values), values["digest"])
        return Response(batch_representations.whole_batch(made), status=201)


class OneBatch(View):
    @extend_schema(
        operation_id="show_batch",
        summary="A batch with its approvals and how far each wave is.",
        responses={200: serializers.WholeBatchSerializer, **problems(404)},
    )
    def get(self, request: Request, key: str) -> Response:
        return Response(batch_representations.whole_batch(the_batch(request.user, key)))


class ItemQuery(s.Serializer):
    wave = s.IntegerField(required=False, min_value=0, max_value=serializers.MAX_WAVE)
    status = s.ChoiceField([status.value for status in ItemStatus], required=False)


class BatchItems(PagedView):
    @extend_schema(
        operation_id="batch_items",
        summary="The radii of a batch in the order in which they begin.",
        parameters=[ItemQuery, *PAGES],
        responses={200: serializers.BatchItemSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        asked = self.validated(ItemQuery, request.query_params.dict())
        found = the_batch(request.user, key).items.filter(**asked)
        return self.page(found.select_related("switch").defer("plan"), batch_representations.item)


class BatchLog(View):
    @extend_schema(
        operation_id="batch_log",
        summary=f"What was said and done, oldest first; at most {LOG_LINES} lines.",
        parameters=[LogQuery],
        responses={200: serializers.BatchLineSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        after = self.validated(LogQuery, request.query_params.dict())["after"]
        lines = the_batch(request.user, key).events.filter(pk__gt=after).select_related("actor")
        return Response([batch_representations.line(line) for line in lines[:LOG_LINES]])


actions = Actions(
    "batch", the_batch, serializers.WholeBatchSerializer, batch_representations.whole_batch, (Status.RUNNING,)
)


def _go_on(request: Request, batch: Batch, values: dict[str, Any]) -> Batch:
    return operations.resume(
        request.user, batch, handing_over.wake, values["without"], values["reason"], address_of(request)
    )


ACTIONS: dict[str, type[View]] = {
    **actions.decisions(
        decisions.BATCHES,
        lambda batch: handing_over.wake(batch),
        serializers.BatchApprovalRequest,
        approve="Approve a batch. With the last approval it runs (202), or waits for its window.",
        decline="Decline a batch, with a reason.",
        cancel="Take a batch back before it runs, with a reason.",
    ),
    "stop": actions.action(
        "stop",
        "Let nothing new start; what was started ends by itself.",
        NothingRequest,
        lambda request, batch, values: operations.stop(request.user, batch, address_of(request)),
        codes=(200,),
    ),
    "resume": actions.action(
        "resume",
        "Resume a stopped batch (202): with what failed again, or without it.",
        serializers.ResumeRequest,
        _go_on,
        codes=(202, 412, 503),
    ),
    "end": actions.action(
        "end",
        "End a stopped batch without the rest.",
        ReasonRequest,
        lambda request, batch, values: operations.end(
            request.user, batch, values["reason"], address_of(request)
        ),
        codes=(200,),
    ),
}
