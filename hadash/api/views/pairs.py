"""Handlers for pairs with their clusters and mirrors, their rules and their blackouts."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api import representations
from hadash.api.idempotency import idempotent
from hadash.api.serializers import inventory as serializers
from hadash.api.views.common import KEY, PAGES, PagedView, View, address_of, problems, the_pair
from hadash.inventory.models import Pair
from hadash.presentation import selectors
from hadash.switching import policy
from hadash.switching.models.policies import Blackout


class Pairs(View):
    @extend_schema(
        operation_id="list_pairs",
        summary="The pairs that you may see, with clusters and mirrors.",
        responses={200: serializers.PairSerializer(many=True), **problems()},
    )
    def get(self, request: Request) -> Response:
        return Response([representations.pair(pair) for pair in selectors.pairs(request.user)])


class Mirrors(PagedView):
    @extend_schema(
        operation_id="list_mirrors",
        summary="The mirrors of a pair, by name.",
        parameters=PAGES,
        responses={200: serializers.MirrorSerializer(many=True), **problems(404)},
    )
    def get(self, request: Request, pair: str) -> Response:
        found = selectors.mirrors([the_pair(request.user, pair)]).order_by("name")
        return self.page_together(found, representations.mirrors)


class Rules(View):
    @extend_schema(
        operation_id="show_rules",
        summary="The rules of a pair.",
        responses={200: serializers.RulesSerializer, **problems(404)},
    )
    def get(self, request: Request, pair: str) -> Response:
        return self._shown(the_pair(request.user, pair))

    @extend_schema(
        operation_id="change_rules",
        summary="Change the rules that are named; the others stay.",
        request=serializers.RulesSerializer,
        parameters=[KEY],
        responses={200: serializers.RulesSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def patch(self, request: Request, pair: str) -> Response:
        found = the_pair(request.user, pair)
        serializer = serializers.RulesSerializer(policy.policy_of(found), data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        policy.set_policy(request.user, found, serializer.validated_data, address_of(request))
        return self._shown(found)

    @staticmethod
    def _shown(pair: Pair) -> Response:
        return Response(serializers.RulesSerializer(policy.policy_of(pair)).data)


class Blackouts(PagedView):
    @extend_schema(
        operation_id="list_blackouts",
        summary="Times in which no switch of the pair starts: those that are not over.",
        parameters=PAGES,
        responses={200: serializers.BlackoutSerializer(many=True), **problems(400, 404)},
    )
    def get(self, request: Request, pair: str) -> Response:
        return self.page(_open(the_pair(request.user, pair)), _blackout)

    @extend_schema(
        operation_id="add_blackout",
        summary="Announce a time in which no switch starts; one that runs goes on.",
        request=serializers.BlackoutRequest,
        parameters=[KEY],
        responses={201: serializers.BlackoutSerializer, **problems(400, 404, 409, 422)},
    )
    @idempotent
    def post(self, request: Request, pair: str) -> Response:
        found, values = the_pair(request.user, pair), self.validated(serializers.BlackoutRequest)
        made = policy.add_blackout(request.user, found, **values, address=address_of(request))
        return Response(_blackout(made), status=201)


class OneBlackout(View):
    @extend_schema(
        operation_id="end_blackout",
        summary="Take a blackout back.",
        responses={204: None, **problems(404)},
    )
    def delete(self, request: Request, pair: str, pk: int) -> Response:
        found = _open(the_pair(request.user, pair)).filter(pk=pk).select_related("pair").first()
        if found is None:
            raise Http404(_("There is no such blackout."))
        policy.end_blackout(request.user, found, address_of(request))
        return Response(status=204)


def _open(pair: Pair) -> QuerySet[Blackout]:
    return Blackout.objects.filter(pair=pair, ends__gt=timezone.now())


def _blackout(found: Blackout) -> dict[str, object]:
    return {"id": found.pk, "begins": found.begins, "ends": found.ends, "reason": found.reason}
