"""Actions on something that was requested (a switch, a batch, a change): ``POST /<things>/<key>/<action>/``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api.idempotency import idempotent
from hadash.api.serializers.common import ReasonRequest
from hadash.api.views.common import KEY, View, address_of, browser, problems
from hadash.switching.approvals.workflow import Start, Workflow

Held = TypeVar("Held", bound=Any)

#: Carries out an action, with the values of its shape. Returns the thing as the action has left it; ``None`` when it
#: has to be looked up.
CarryOut = Callable[[Request, Held, dict[str, Any]], Held | None]


@dataclass(frozen=True, slots=True)
class Actions(Generic[Held]):
    """The actions on one kind of thing. Each answers with the thing as it has left it; 202 while workers go on."""

    #: The end of the operations' ids, as in ``approve_switch``.
    noun: str
    #: Returns the thing by user and key; raises Http404 when there is none that the user may see.
    look: Callable[[Any, str], Held]
    shape: type[s.Serializer]
    present: Callable[[Held], dict[str, Any]]
    #: Statuses in which workers continue it.
    going_on: Collection[Any]

    def action(
        self,
        name: str,
        summary: str,
        asked: type[s.Serializer],
        carry_out: CarryOut[Held],
        codes: Collection[int] = (200, 202, 412, 503),
    ) -> type[View]:
        """Return the view class of one action, which takes a body of the shape ``asked``.

        :param codes: its answers besides 400, 404, 409 and 422. With 202 but not 200, workers always continue it.
        """
        actions = self
        good = {code: actions.shape for code in codes if code < 300}
        bad = problems(400, 404, 409, 422, *(code for code in codes if code >= 300))

        class OneAct(View):
            @extend_schema(
                operation_id=f"{name.replace('-', '_')}_{actions.noun}",
                summary=summary,
                request=asked,
                parameters=[KEY],
                responses={**good, **bad},
            )
            @idempotent
            def post(self, request: Request, key: str) -> Response:
                values = self.validated(asked)
                held = carry_out(request, actions.look(request.user, key), values)
                if held is None:  # (otherwise not looked up again: a fast worker may have ended it already)
                    held = actions.look(request.user, key)
                return Response(actions.present(held), status=actions.code(held, codes))

        OneAct.__name__ = OneAct.__qualname__ = "".join(
            part.capitalize() for part in (*name.split("-"), *actions.noun.split("_"))
        )
        return OneAct

    def decisions(
        self,
        workflow: Workflow[Held],
        start: Start[Held],
        asked: type[s.Serializer],
        *,
        approve: str,
        decline: str,
        cancel: str,
        digest: str = "digest",
    ) -> dict[str, type[View]]:
        """Return the actions by which people decide on a request: approve, decline and cancel, each with its summary.

        :param start: hands what begins with the last approval to a worker.
        :param asked: the shape of an approval. :param digest: its field for the digest of what was shown.
        """

        def carry_out(request: Request, held: Held, values: dict[str, Any]) -> Held:
            seen, user = values.get("approvals"), request.user
            return workflow.approve(
                user, held, values[digest], start, address_of(request), seen, browser(request)
            )

        def with_reason(decide: Callable[[Any, Held, str, str | None], Held]) -> CarryOut[Held]:
            return lambda request, held, values: decide(
                request.user, held, values["reason"], address_of(request)
            )

        return {
            "approve": self.action("approve", approve, asked, carry_out),
            "decline": self.action(
                "decline", decline, ReasonRequest, with_reason(workflow.decline), codes=(200,)
            ),
            "cancel": self.action(
                "cancel", cancel, ReasonRequest, with_reason(workflow.cancel), codes=(200,)
            ),
        }

    def code(self, held: Held, codes: Collection[int]) -> int:
        """Return 202 while workers continue ``held``, else 200, if both are among ``codes``."""
        if 200 not in codes:
            return 202
        return 202 if 202 in codes and held.current in self.going_on else 200
