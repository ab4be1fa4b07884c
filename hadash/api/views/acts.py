"""What people do to something that was asked for (a switch, a batch, a change of bindings): ``POST /<things>/<key>/<act>/``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api.idempotency import idempotent
from hadash.api.views.common import KEY, View, problems

Held = TypeVar("Held", bound=Any)

#: Carries an act out, with the values of its shape.
CarryOut = Callable[[Request, Held, dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Acts(Generic[Held]):
    """The acts on one kind of thing. Each answers with the thing as it is then: 202 while workers go on with it."""

    #: Ends the ids of the operations: ``approve_switch``.
    noun: str
    #: The thing by user and key; raises Http404 when there is none that they may see.
    look: Callable[[Any, str], Held]
    shape: type[s.Serializer]
    present: Callable[[Held], dict[str, Any]]
    #: Statuses in which workers go on with it.
    going_on: Collection[Any]

    def act(
        self, name: str, summary: str, asked: type[s.Serializer], carry_out: CarryOut[Held]
    ) -> type[View]:
        """The class of one act, that takes a body of the shape ``asked``."""
        acts = self

        class OneAct(View):
            @extend_schema(
                operation_id=f"{name.replace('-', '_')}_{acts.noun}",
                summary=summary,
                request=asked,
                parameters=[KEY],
                responses={200: acts.shape, 202: acts.shape, **problems(400, 404, 409, 412, 422, 503)},
            )
            @idempotent
            def post(self, request: Request, key: str) -> Response:
                values = self.validated(asked)
                carry_out(request, acts.look(request.user, key), values)
                held = acts.look(request.user, key)
                return Response(acts.present(held), status=202 if held.current in acts.going_on else 200)

        OneAct.__name__ = OneAct.__qualname__ = "".join(
            part.capitalize() for part in (*name.split("-"), *acts.noun.split("_"))
        )
        return OneAct
