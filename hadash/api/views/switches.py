"""Plans and switches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api import present
from hadash.api import serializers as shapes
from hadash.api.idempotency import idempotent
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
from hadash.dashboard import live, selectors
from hadash.switching import asking, deciding, directing, tails
from hadash.switching.machine import Kind, Status
from hadash.switching.models import Switch
from hadash.switching.planning import draft_for
from hadash.switching.retirement import services as retirement

#: Lines of a log that are answered at once; ``after`` has the next ones.
LOG_LINES = 500


class Plans(View):
    @extend_schema(
        operation_id="plan",
        summary="What would move, why, and what stands against it. Changes nothing.",
        request=shapes.PlanRequest,
        responses={200: shapes.DraftShape, **problems(400, 404, 409, 503)},
    )
    def post(self, request: Request) -> Response:
        values = self.validated(shapes.PlanRequest)
        pair = the_pair(request.user, values["pair"])
        scope, target = shapes.scope_of(values["scope"]), the_cluster(pair, values["target"])
        draft = draft_for(pair, scope, target, Kind(values["kind"]))
        return Response(present.draft(draft, pair))


class SwitchQuery(s.Serializer):
    """``?inbox=waiting&status=running``."""

    inbox = s.ChoiceField(
        ["all", "waiting", "mine"], default="all", help_text="Those that wait for you, or that you requested."
    )
    status = s.ChoiceField([status.value for status in Status], required=False)
    pair = s.SlugField(max_length=40, required=False)
    appid = s.CharField(max_length=200, required=False, help_text="The exact name of what was asked for.")
    topic = s.CharField(max_length=255, required=False, help_text="A Topic that moves.")


class Switches(PagedView):
    @extend_schema(
        operation_id="list_switches",
        summary="Switches, newest first.",
        parameters=[SwitchQuery, *PAGES],
        responses={200: shapes.SwitchShape(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(SwitchQuery, request.query_params.dict())
        user = request.user
        found = selectors.waiting_for(user) if asked["inbox"] == "waiting" else selectors.switches(user)
        wanted = Q(requested_by=user) if asked["inbox"] == "mine" else Q()
        for name, field in (("status", "status"), ("pair", "pair__name"), ("appid", "appid")):
            if name in asked:
                wanted &= Q(**{field: asked[name]})
        if "topic" in asked:
            wanted &= Q(plan__topics__contains=[asked["topic"]])
        return self.page(found.filter(wanted), present.switch)

    @extend_schema(
        operation_id="request_switch",
        summary="Ask for a switch. Rehearsals and emergencies run at once; the others have to be approved by somebody else.",
        request=shapes.SwitchRequest,
        parameters=[KEY],
        responses={201: shapes.WholeSwitchShape, **problems(400, 404, 409, 412, 422, 503)},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        values = self.validated(shapes.SwitchRequest)
        pair = the_pair(request.user, values["pair"])
        asked = asking.Asked(
            request.user,
            pair,
            shapes.scope_of(values["scope"]),
            the_cluster(pair, values["target"]),
            values["reason"],
            address_of(request),
            browser(request),
            Kind(values["kind"]),
            the_switch(request.user, values["restores"]) if values["restores"] else None,
            values.get("retire_after_days"),
        )
        return Response(present.whole_switch(_asked_for(asked, values)), status=201)


def _asked_for(asked: asking.Asked, values: dict[str, Any]) -> Switch:
    """The new switch, of the kind that was asked for."""
    from tasks.switching import start

    window = (values["start_at"], values["start_until"]) if "start_at" in values else None
    match asked.kind:
        case Kind.REHEARSAL:
            return asking.rehearse(asked, start, values["plan_digest"])
        case Kind.EMERGENCY:
            return asking.emergency(asked, values["confirm"], start, values["plan_digest"])
        case Kind.FORCED:
            return asking.force(asked, values["confirm"], window, values["plan_digest"])
        case _:
            return asking.request(asked, window, values["plan_digest"], values["ask_for_go"])


class OneSwitch(View):
    @extend_schema(
        operation_id="show_switch",
        summary="A switch with its plan, approvals and stages.",
        responses={200: shapes.WholeSwitchShape, **problems(404)},
    )
    def get(self, request: Request, key: str) -> Response:
        return Response(present.whole_switch(the_switch(request.user, key)))


class LogQuery(s.Serializer):
    after = s.IntegerField(min_value=0, max_value=2**62, default=0, help_text="Only lines with larger ids.")


class SwitchLog(View):
    @extend_schema(
        operation_id="switch_log",
        summary=f"What was said and done, oldest first; at most {LOG_LINES} lines.",
        parameters=[LogQuery],
        responses={200: shapes.LogLineShape(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        asked = self.validated(LogQuery, request.query_params.dict())
        lines = live.log_lines(the_switch(request.user, key), asked["after"])[:LOG_LINES]
        names = ("id", "at", "actor", "stage", "sentence")
        return Response([{name: line[name] for name in names} for line in lines])


class Approve(View):
    @extend_schema(
        operation_id="approve_switch",
        summary="Approve a plan. With the last approval the switch runs (202), or waits for its window.",
        request=shapes.ApprovalRequest,
        parameters=[KEY],
        responses={
            200: shapes.WholeSwitchShape,
            202: shapes.WholeSwitchShape,
            **problems(400, 404, 409, 412, 422, 503),
        },
    )
    @idempotent
    def post(self, request: Request, key: str) -> Response:
        from tasks.switching import start

        values = self.validated(shapes.ApprovalRequest)
        held = deciding.approve(
            request.user,
            the_switch(request.user, key),
            values["plan_digest"],
            start,
            address_of(request),
            values.get("approvals"),
            browser(request),
        )
        return _done(held)


def _done(held: Switch) -> Response:
    """202 while workers go on with it."""
    return Response(present.whole_switch(held), status=202 if held.current is Status.RUNNING else 200)


#: What an act does: (user, switch, values of its shape, address).
Act = Callable[[Any, Switch, dict[str, Any], str | None], Any]


def act(name: str, summary: str, shape: type[s.Serializer], carry_out: Act) -> type[View]:
    """The class of ``POST /switches/<key>/<act>/``."""

    class OneAct(View):
        @extend_schema(
            operation_id=f"{name}_switch",
            summary=summary,
            request=shape,
            parameters=[KEY],
            responses={
                200: shapes.WholeSwitchShape,
                202: shapes.WholeSwitchShape,
                **problems(400, 404, 409, 422, 503),
            },
        )
        @idempotent
        def post(self, request: Request, key: str) -> Response:
            values = self.validated(shape)
            found = the_switch(request.user, key)
            carry_out(request.user, found, values, address_of(request))
            return _done(the_switch(request.user, key))

    OneAct.__name__ = OneAct.__qualname__ = name.title().replace("_", "")
    return OneAct


def _retry(user: Any, switch: Switch, values: dict[str, Any], address: str | None) -> Switch:
    from tasks.switching import start

    return directing.retry(user, switch, start, address)


def _go(user: Any, switch: Switch, values: dict[str, Any], address: str | None) -> Switch:
    from tasks.switching import start

    return directing.go(user, switch, start, address)


def _rebuild(user: Any, switch: Switch, values: dict[str, Any], address: str | None) -> Any:
    from tasks.switching import rebuild

    return tails.ask_to_rebuild(user, switch, values["confirm"], values["note"], rebuild, address)


def _retire(user: Any, switch: Switch, values: dict[str, Any], address: str | None) -> None:
    from tasks.retirement import start

    retirement.retire_now(user, switch, values["confirm"], start, address)


def _put_off(user: Any, switch: Switch, values: dict[str, Any], address: str | None) -> None:
    retirement.put_off(user, switch, values["days"], values["reason"], address)


def _keep(user: Any, switch: Switch, values: dict[str, Any], address: str | None) -> None:
    retirement.keep(user, switch, values["reason"], address)


ACTS: dict[str, type[View]] = {
    "put-off": act(
        "put_off",
        "Let the old Topics of a migration stay for some days more.",
        shapes.PutOffRequest,
        _put_off,
    ),
    "keep": act("keep", "Let the old Topics of a migration stay for good.", shapes.ReasonRequest, _keep),
    "retire": act(
        "retire",
        "Delete the old Topics of a migration now. Workers go on with it; look at its ``retirement``.",
        shapes.RetireRequest,
        _retire,
    ),
    "decline": act(
        "decline",
        "Decline a request, with a reason.",
        shapes.ReasonRequest,
        lambda user, switch, values, address: deciding.decline(user, switch, values["reason"], address),
    ),
    "cancel": act(
        "cancel",
        "Take a request back before it runs.",
        shapes.NothingRequest,
        lambda user, switch, values, address: deciding.cancel(user, switch, address),
    ),
    "go": act(
        "go",
        "Let a switch go on that waits for it (202).",
        shapes.NothingRequest,
        _go,
    ),
    "review": act(
        "review",
        "Say afterwards what is to be said of an emergency.",
        shapes.ReasonRequest,
        lambda user, switch, values, address: deciding.review(user, switch, values["reason"], address),
    ),
    "abort": act(
        "abort",
        "Ask a running switch to return to the start (202).",
        shapes.NothingRequest,
        lambda user, switch, values, address: directing.abort(user, switch, address),
    ),
    "retry": act(
        "retry",
        "Run the stage again in which a switch asked for a person (202).",
        shapes.NothingRequest,
        _retry,
    ),
    "close": act(
        "close",
        "End a switch that needs attention, and leave everything as it is.",
        shapes.ReasonRequest,
        lambda user, switch, values, address: directing.close_as_it_is(
            user, switch, values["reason"], address
        ),
    ),
    "rebuild": act(
        "rebuild",
        "After a forced switch: delete the Topics of the side that was lost, with their tail, and mirror them there anew.",
        shapes.RebuildRequest,
        _rebuild,
    ),
    "comment": act(
        "comment",
        "Say something for all who look at it.",
        shapes.CommentRequest,
        lambda user, switch, values, address: deciding.comment(user, switch, values["text"], address),
    ),
}
