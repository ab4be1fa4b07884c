"""Handler for how work reaches the workers."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.accounts.roles import VIEW, may_somewhere
from hadash.api.serializers import handovers as serializers
from hadash.api.views.common import View, problems
from hadash.switching.handovers import counting


class Handovers(View):
    @extend_schema(
        operation_id="list_handovers",
        summary="How often work was handed over to the workers, and how often beat had to pick it up, and why.",
        parameters=[serializers.HandoverQuery],
        responses={200: serializers.HandoverSerializer(many=True), **problems(400)},
    )
    def get(self, request: Request) -> Response:
        asked = self.validated(serializers.HandoverQuery, request.query_params.dict())
        if not may_somewhere(request.user, VIEW):
            return Response([])
        found = counting.counts(asked["days"])
        return Response(
            [
                {"work": each.work, "way": each.way, "count": each.count, "last_at": each.last_at}
                for each in found
            ]
        )
