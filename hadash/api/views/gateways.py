"""Handlers for Gateways, and for whether switches wait for them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.accounts.roles import VIEW, may_somewhere
from hadash.api import representations
from hadash.api.idempotency import idempotent
from hadash.api.serializers import inventory as serializers
from hadash.api.serializers.common import NothingRequest
from hadash.api.views.common import KEY, View, address_of, problems
from hadash.inventory.gateways import gateway_members
from hadash.switching.recovery import gateways


class Gateways(View):
    @extend_schema(
        operation_id="list_gateways",
        summary="All Gateways, as ZooKeeper knows them.",
        responses={200: serializers.GatewaySerializer(many=True), **problems(503)},
    )
    def get(self, request: Request) -> Response:
        if not may_somewhere(request.user, VIEW):
            return Response([])
        return Response([representations.gateway(each) for each in gateway_members()])


class Exclude(View):
    @extend_schema(
        operation_id="exclude_gateway",
        summary="Let switches go on without a Gateway whose process is gone.",
        request=serializers.ExcludeRequest,
        parameters=[KEY],
        responses={204: None, **problems(400, 404, 409, 422, 503)},
    )
    @idempotent
    def post(self, request: Request, gateway: str) -> Response:
        values = self.validated(serializers.ExcludeRequest)
        gateways.exclude(request.user, gateway, values["confirm"], values["reason"], address_of(request))
        return Response(status=204)


class Include(View):
    @extend_schema(
        operation_id="include_gateway",
        summary="Let switches wait for it again.",
        request=NothingRequest,
        parameters=[KEY],
        responses={204: None, **problems(400, 404, 409, 422, 503)},
    )
    @idempotent
    def post(self, request: Request, gateway: str) -> Response:
        gateways.include(request.user, gateway, address_of(request))
        return Response(status=204)
