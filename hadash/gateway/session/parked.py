"""A request that waits for a change of its binding."""

from __future__ import annotations

from typing import Any, Protocol

from hadash.bindings.model import Binding
from hadash.gateway.clients.members import Waits
from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.wire import Request
from hadash.gateway.rules.binding_resolver import BindingResolver
from hadash.gateway.rules.verdicts import Verdict
from hadash.gateway.waiting.purgatory import DelayedOperation


class Parking(Protocol):
    """The parts of a client that its parked request needs."""

    @property
    def signed(self) -> SignedIn: ...

    @property
    def resolver(self) -> BindingResolver: ...

    def judge(self, kind: ApiKey, binding: Binding | None) -> Verdict: ...

    def unparked(self, parked: Parked, *, in_time: bool) -> None: ...


class Parked(DelayedOperation):
    """A parked request. Everything behind it on its connection waits, too."""

    __slots__ = ("client", "message", "request", "waits")

    def __init__(self, client: Parking, request: Request, message: Any) -> None:
        super().__init__(client.signed.appid, len(request.frame))
        self.client = client
        self.request = request
        self.message = message
        #: The counter of the member whose request it is; set when it is parked.
        self.waits = Waits()

    def can_complete(self) -> bool:
        binding = self.client.resolver.of(self.request, self.message)
        return self.client.judge(self.request.kind, binding) is not Verdict.PARK

    def complete(self) -> None:
        self.client.unparked(self, in_time=True)

    def expire(self) -> None:
        self.client.unparked(self, in_time=False)


def is_unacknowledged(request: Request, message: Any) -> bool:
    """Whether the request is a write that is never acknowledged (acks=0): its client does not send it again."""
    return request.kind is ApiKey.PRODUCE and message.acks == 0
