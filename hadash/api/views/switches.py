"""Handlers for plans and switches."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api import representations
from hadash.api.fields import Text
from hadash.api.idempotency import idempotent
from hadash.api.serializers import switches as serializers
from hadash.api.serializers.common import CommentRequest, NothingRequest, ReasonRequest, window_of
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
    the_switch,
)
from hadash.api.views.lists import LOG_LINES, InboxQuery, LogQuery, inbox
from hadash.presentation import live, selectors
from hadash.switching import requests
from hadash.switching.approvals import decisions
from hadash.switching.execution import operations
from hadash.switching.handovers import handing_over
from hadash.switching.machines.switches import KINDS, Kind, Status
from hadash.switching.models.switches import Switch
from hadash.switching.planning.one_preview import one_preview
from hadash.switching.planning.proposals import proposal_for
from hadash.switching.previews import preview_of
from hadash.switching.recovery import lost_target, unreplicated
from hadash.switching.retirement import services as retirement

#: The kinds of switches that run as soon as they are requested, for the schema.
AT_ONCE = " or ".join(kind for kind, spec in KINDS.items() if spec.at_once)


class Plans(View):
    @extend_schema(
        operation_id="plan",
        summary="What would move, why, and the blockers to it: a request of this moment would be refused for the "
        "same. Changes nothing.",
        request=serializers.PlanRequest,
        responses={200: serializers.ProposalSerializer, **problems(400, 404, 409, 429, 503)},
    )
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.PlanRequest)
        pair = the_pair(request.user, values["pair"])
        scope, target = serializers.scope_of(values["scope"]), the_cluster(pair, values["target"])
        restores = the_switch(request.user, values["restores"]) if values["restores"] else None
        with one_preview(request.user, pair):
            proposal = proposal_for(pair, scope, target, Kind(values["kind"]))
            preview = preview_of(proposal, restores)
        return Response(representations.proposal(preview, pair))


class SwitchQuery(InboxQuery):
    status = s.ChoiceField([status.value for status in Status], required=False)
    appid = Text(max_length=200, required=False, help_text="The exact name of what was asked for.")
    topic = Text(max_length=255, required=False, help_text="A Topic that moves.")


class Switches(PagedView):
    @extend_schema(
        operation_id="list_switches",
        summary="Switches, newest first.",
        parameters=[SwitchQuery, *PAGES],
        responses={200: serializers.SwitchSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(SwitchQuery, request.query_params.dict())
        found = inbox(request.user, asked, selectors.switches, selectors.waiting_for, "status", "appid")
        if "topic" in asked:
            found = found.filter(plan__topics__contains=[asked["topic"]])
        return self.page(found, representations.switch)

    @extend_schema(
        operation_id="request_switch",
        summary=f"Ask for a switch. It runs at once if it is of kind {AT_ONCE}; others have to be approved by somebody "
        "else.",
        request=serializers.SwitchRequest,
        parameters=[KEY],
        responses={201: serializers.WholeSwitchSerializer, **problems(400, 404, 409, 412, 422, 503)},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.SwitchRequest)
        pair = the_pair(request.user, values["pair"])
        asked = requests.SwitchRequest(
            request.user,
            pair,
            serializers.scope_of(values["scope"]),
            the_cluster(pair, values["target"]),
            values["reason"],
            address_of(request),
            browser(request),
            Kind(values["kind"]),
            the_switch(request.user, values["restores"]) if values["restores"] else None,
            values.get("retire_after_days"),
        )
        return Response(representations.whole_switch(_asked_for(asked, values)), status=201)


def _asked_for(asked: requests.SwitchRequest, values: dict[str, Any]) -> Switch:
    """Submit the request and return the new switch."""
    return requests.submit(
        asked,
        handing_over.start_switch,
        window_of(values),
        values["plan_digest"],
        confirmed=values["confirm"],
        pause_after_precheck=values["pause_after_precheck"],
    )


class OneSwitch(View):
    @extend_schema(
        operation_id="show_switch",
        summary="A switch with its plan, approvals and stages.",
        responses={200: serializers.WholeSwitchSerializer, **problems(404)},
    )
    def get(self, request: Request, key: str) -> Response:
        return Response(representations.whole_switch(the_switch(request.user, key)))


class SwitchLog(View):
    @extend_schema(
        operation_id="switch_log",
        summary=f"What was said and done, oldest first; at most {LOG_LINES} lines.",
        parameters=[LogQuery],
        responses={200: serializers.LogLineSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        asked = self.validated(LogQuery, request.query_params.dict())
        lines = live.log_lines(the_switch(request.user, key), asked["after"])[:LOG_LINES]
        names = ("id", "at", "actor", "stage", "sentence")
        return Response([{name: line[name] for name in names} for line in lines])


actions = Actions(
    "switch", the_switch, serializers.WholeSwitchSerializer, representations.whole_switch, (Status.RUNNING,)
)


def _retry(request: Request, switch: Switch, values: dict[str, Any]) -> Switch:
    return operations.retry(request.user, switch, handing_over.start_switch, address_of(request))


def _resume(request: Request, switch: Switch, values: dict[str, Any]) -> Switch:
    return operations.resume(request.user, switch, handing_over.start_switch, address_of(request))


def _rebuild(request: Request, switch: Switch, values: dict[str, Any]) -> None:
    unreplicated.ask_to_rebuild(
        request.user, switch, values["confirm"], values["note"], handing_over.rebuild, address_of(request)
    )


def _retire(request: Request, switch: Switch, values: dict[str, Any]) -> None:
    retirement.retire_now(
        request.user, switch, values["confirm"], handing_over.start_removal, address_of(request)
    )


def _abandon(request: Request, switch: Switch, values: dict[str, Any]) -> Switch:
    return lost_target.abandon(request.user, switch, values["confirm"], values["reason"], address_of(request))


def _postpone(request: Request, switch: Switch, values: dict[str, Any]) -> None:
    retirement.postpone(request.user, switch, values["days"], values["reason"], address_of(request))


def _keep(request: Request, switch: Switch, values: dict[str, Any]) -> None:
    retirement.keep(request.user, switch, values["reason"], address_of(request))


ACTIONS: dict[str, type[View]] = {
    **actions.decisions(
        decisions.SWITCHES,
        lambda switch: handing_over.start_switch(switch),
        serializers.ApprovalRequest,
        approve="Approve a plan. With the last approval the switch runs (202), or waits for its window.",
        decline="Decline a request, with a reason.",
        cancel="Take a request back before it runs, with a reason.",
        digest="plan_digest",
    ),
    "postpone": actions.action(
        "postpone",
        "Let the old Topics of a migration stay for some days more.",
        serializers.PostponeRequest,
        _postpone,
        codes=(200,),
    ),
    "keep": actions.action(
        "keep",
        "Let the old Topics of a migration stay for good.",
        ReasonRequest,
        _keep,
        codes=(200,),
    ),
    "retire": actions.action(
        "retire",
        "Delete the old Topics of a migration now. Workers go on with it; look at its ``retirement``.",
        serializers.RetireRequest,
        _retire,
        codes=(202,),
    ),
    "pause": actions.action(
        "pause",
        "Let a switch that has not moved anybody yet pause when its checks hold (202).",
        NothingRequest,
        lambda request, switch, values: operations.pause(request.user, switch, address_of(request)),
        codes=(202,),
    ),
    "resume": actions.action(
        "resume",
        "Resume a paused switch (202).",
        NothingRequest,
        _resume,
        codes=(202,),
    ),
    "review": actions.action(
        "review",
        "Say afterwards what is to be said of an emergency.",
        ReasonRequest,
        lambda request, switch, values: decisions.review(
            request.user, switch, values["reason"], address_of(request), browser(request)
        ),
        codes=(200,),
    ),
    "abort": actions.action(
        "abort",
        "Ask a running switch to return to the start (202).",
        NothingRequest,
        lambda request, switch, values: operations.abort(request.user, switch, address_of(request)),
        codes=(202,),
    ),
    "retry": actions.action(
        "retry",
        "Run the stage again in which a switch asked for a person (202).",
        NothingRequest,
        _retry,
        codes=(202, 503),
    ),
    "close": actions.action(
        "close",
        "End a switch that needs attention, and leave everything as it is.",
        ReasonRequest,
        lambda request, switch, values: operations.close_as_it_is(
            request.user, switch, values["reason"], address_of(request)
        ),
        codes=(200, 503),
    ),
    "abandon": actions.action(
        "abandon",
        "End a switch whose target was lost before its mirror was turned: a forced switch can take the "
        "clients back then.",
        serializers.AbandonRequest,
        _abandon,
        codes=(200,),
    ),
    "rebuild": actions.action(
        "rebuild",
        "After a forced switch: delete the Topics of the side that was lost, with what was never mirrored, and mirror "
        "them there again.",
        serializers.RebuildRequest,
        _rebuild,
        codes=(202,),
    ),
    "comment": actions.action(
        "comment",
        "Add a comment for everybody who looks at the switch.",
        CommentRequest,
        lambda request, switch, values: decisions.comment(
            request.user, switch, values["text"], address_of(request)
        ),
        codes=(200, 202),
    ),
}
