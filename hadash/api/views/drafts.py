"""Handlers for the user's own drafts of requests. To submit a draft, a program requests the switch
(``request_switch``) and then discards the draft.
"""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.accounts.roles import REQUEST, may
from hadash.api import representations
from hadash.api.idempotency import idempotent
from hadash.api.serializers import drafts as serializers
from hadash.api.views.common import KEY, PAGES, PagedView, View, problems, the_appid, the_pair
from hadash.inventory.models import AppID, Pair
from hadash.switching.drafts import services
from hadash.switching.models.drafts import RequestDraft


class Drafts(PagedView):
    @extend_schema(
        operation_id="list_drafts",
        summary="Your drafts of requests, the newest first. Nobody else sees them.",
        parameters=PAGES,
        responses={200: serializers.DraftSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request) -> Response:
        return self.page(services.drafts_of(request.user), representations.request_draft)

    @extend_schema(
        operation_id="keep_draft",
        summary="Keep a request that is not asked yet.",
        request=serializers.DraftRequest,
        parameters=[KEY],
        responses={201: serializers.DraftSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        values = self.validated(serializers.DraftRequest)
        pair, appid = _subject(request, values["pair"], values["appid"])
        kept = services.save(request.user, pair, appid, values["typed"])
        return Response(representations.request_draft(kept), status=201)


class OneDraft(View):
    @extend_schema(
        operation_id="show_draft",
        summary="One of your drafts.",
        responses={200: serializers.DraftSerializer, **problems(404)},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(representations.request_draft(_own(request, pk)))

    @extend_schema(
        operation_id="change_draft",
        summary="Keep something else in its place.",
        request=serializers.DraftRequest,
        parameters=[KEY],
        responses={200: serializers.DraftSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def put(self, request: Request, pk: int) -> Response:
        draft = _own(request, pk)
        values = self.validated(serializers.DraftRequest)
        pair, appid = _subject(request, values["pair"], values["appid"])
        kept = services.save(request.user, pair, appid, values["typed"], draft)
        return Response(representations.request_draft(kept))

    @extend_schema(
        operation_id="discard_draft",
        summary="Give a draft up.",
        responses={204: None, **problems(403, 404)},
    )
    def delete(self, request: Request, pk: int) -> Response:
        draft = _own(request, pk)
        # (A token that may only read discards nothing. At a browser people discard their own drafts, even when
        # they may no longer request switches.)
        if request.auth is not None and not may(request.user, REQUEST, draft.pair):
            raise PermissionDenied("You may not request switches.")
        services.discard(draft)
        return Response(status=204)


def _own(request: Request, pk: int) -> RequestDraft:
    found = services.drafts_of(request.user).filter(pk=pk).first()
    if found is None:
        raise Http404(_("You have no such draft: it was discarded, or asked for."))
    return found


def _subject(request: Request, pair: str, appid: int | None) -> tuple[Pair, AppID | None]:
    found = the_pair(request.user, pair)
    if appid is None:
        return found, None
    whose = the_appid(request.user, appid)
    if whose.pair_id != found.pk:
        raise Http404(_("Pair %(pair)s has no AppID %(name)s.") % {"pair": found, "name": whose.name})
    return found, whose
