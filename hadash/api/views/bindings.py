"""Handlers for bindings by hand: what a change would write, and the changes themselves."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api.fields import Text
from hadash.api.idempotency import idempotent
from hadash.api.serializers import bindings as serializers
from hadash.api.views.actions import Actions
from hadash.api.views.common import (
    KEY,
    PAGES,
    PagedView,
    View,
    address_of,
    browser,
    problems,
    the_pair,
)
from hadash.api.views.lists import InboxQuery, inbox
from hadash.changes import Status
from hadash.inventory.models import AppID
from hadash.presentation import appid_rows, changes
from hadash.presentation.localized import sentence
from hadash.switching.approvals import four_eyes
from hadash.switching.binding_changes import decisions, requests
from hadash.switching.handovers import handing_over
from hadash.switching.models.binding_changes import BindingChange, digest_of


def shown(found: BindingChange) -> dict[str, Any]:
    """Return a change of bindings as ``ChangeSerializer``."""
    names: tuple[str, ...] = (
        "key",
        "appid",
        "digest",
        "registered",
        "status",
        "reason",
        "requested_at",
        "approvals_needed",
    )
    names += ("expires_at", "decided_at", "decision_note", "epoch", "ended_at")
    return {
        **{name: getattr(found, name) for name in names},
        "pair": found.pair.name,
        "edits": [{"identity": key, "cluster": cluster} for key, cluster in found.edits.items()],
        "requested_by": found.requested_by.get_username(),
        "decided_by": found.decided_by.get_username() if found.decided_by else None,
        "approvals": [{"by": given.user.get_username(), "at": given.at} for given in four_eyes.shown(found)],
        "outcome": [sentence(said) for said in found.outcome_sentences],
    }


def _the_appid(user: Any, values: dict[str, Any]) -> AppID:
    """Return the AppID that a request names.

    :raises Http404: the pair has no such AppID, or ``user`` may not see it.
    """
    pair = the_pair(user, values["pair"])
    found = appid_rows.appids(user).filter(pair=pair, name=values["appid"]).first()
    if found is None:
        raise Http404(_("Pair %(pair)s has no AppID %(name)s.") % {"pair": pair, "name": values["appid"]})
    return found


class Preview(View):
    @extend_schema(
        operation_id="preview_binding_change",
        summary="What a change would write, and what blocks it. Changes nothing.",
        request=serializers.BindingsRequest,
        responses={200: serializers.JudgementSerializer, **problems(400, 404, 409, 503)},
    )
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.BindingsRequest)
        appid = _the_appid(request.user, values)
        found = requests.look(appid, serializers.wanted_of(appid.name, values), register=values["register"])
        parts = ("client_id", "topic", "group", "before", "after")
        return Response(
            {
                "edits": [{"identity": i.key, "cluster": cluster} for i, cluster in found.edits.items()],
                "digest": digest_of(appid.pair.name, appid.name, found.edits),
                "blockers": [sentence(reason) for reason in found.blockers],
                "moves": [{name: getattr(move, name) for name in parts} for move in found.moves],
            }
        )


class ChangeQuery(InboxQuery):
    status = s.ChoiceField([status.value for status in Status], required=False)
    appid = Text(max_length=200, required=False, help_text="The exact name.")


class Changes(PagedView):
    @extend_schema(
        operation_id="list_binding_changes",
        summary="Changes of bindings by hand, newest first.",
        parameters=[ChangeQuery, *PAGES],
        responses={200: serializers.ChangeSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(ChangeQuery, request.query_params.dict())
        found = inbox(request.user, asked, changes.changes, changes.waiting_for, "status", "appid")
        return self.page(found.prefetch_related("approvals__user"), shown)

    @extend_schema(
        operation_id="request_binding_change",
        summary="Ask to bind and unbind by hand. Somebody else has to approve it; nobody moves by it.",
        request=serializers.ChangeRequest,
        parameters=[KEY],
        responses={201: serializers.ChangeSerializer, **problems(400, 404, 409, 412, 422, 503)},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.ChangeRequest)
        appid = _the_appid(request.user, values)
        made = requests.request(
            requests.ChangeRequest(
                request.user,
                appid,
                serializers.wanted_of(appid.name, values),
                values["reason"],
                address_of(request),
                browser(request),
                values["register"],
            ),
            values["digest"],
        )
        return Response(shown(made), status=201)


class OneChange(View):
    @extend_schema(
        operation_id="show_binding_change",
        summary="A change, with its approvals and what came of it.",
        responses={200: serializers.ChangeSerializer, **problems(404)},
    )
    def get(self, request: Request, key: str) -> Response:
        return Response(shown(changes.the_change(request.user, key)))


actions = Actions(
    "binding_change", changes.the_change, serializers.ChangeSerializer, shown, (Status.APPROVED,)
)


ACTIONS: dict[str, type[View]] = {
    **actions.decisions(
        decisions.BINDING_CHANGES,
        lambda change: handing_over.start_change(change),
        serializers.ChangeApprovalRequest,
        approve="Approve a change. With the last approval a worker writes it (202).",
        decline="Decline a change, with a reason.",
        cancel="Take a request back before it is approved, with a reason.",
    ),
}
