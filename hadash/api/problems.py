"""Errors as ``application/problem+json`` (RFC 9457), with codes that say what happened.

======  ==========================================================================================
400     the request is not as the description says; ``errors`` names the fields
401     nobody is signed in, or the token is not valid (any more)
403     signed in, and not allowed
404     it does not exist, or may not be seen
409     it cannot be done as things are; ``reasons`` says why (``busy``: another switch holds the radius)
412     what was shown has changed: the plan, a document in ZooKeeper, or the number of approvals
413     the body is larger than what is read
422     an idempotency key was used for something else
429     too often
503     ZooKeeper, Kafka or Connect does not answer; ``unknown-outcome``: it is not known whether the change happened
======  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions
from rest_framework.response import Response

from hadash.accounts.people import PersonRefused
from hadash.accounts.tokens import TokenRefused
from hadash.bindings.errors import (
    BindingBusy,
    BindingConflict,
    BindingError,
    StoreUnavailable,
    UnknownOutcome,
)
from hadash.governance.accepting import NotAccepted
from hadash.governance.owners import OwnerRefused
from hadash.inventory.declarations import NotDeclared
from hadash.inventory.gateways import GatewaySilent
from hadash.inventory.services import NotRegistered
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.presentation.localized import sentence
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.planning.one_preview import PreviewRunning
from hadash.switching.recovery.gateways import NoSuchGateway
from hadash.switching.refusals import Busy, EnginesAway, PlanChanged

CONTENT_TYPE = "application/problem+json"

#: code → (the end of ``type``, title).
TITLES: dict[int, tuple[str, Any]] = {
    400: ("bad-request", _("The request is not as described")),
    401: ("not-signed-in", _("Nobody is signed in")),
    403: ("not-allowed", _("Not allowed")),
    404: ("not-found", _("Not found")),
    405: ("method-not-allowed", _("Not for this address")),
    406: ("not-acceptable", _("Only JSON is spoken here")),
    409: ("refused", _("It cannot be done as things are")),
    412: ("changed", _("What was shown has changed")),
    413: ("too-large", _("Too much at once")),
    415: ("media-type", _("Only JSON is understood")),
    422: ("key-used", _("The idempotency key was used")),
    429: ("too-often", _("Too often")),
    503: ("no-answer", _("A server does not answer")),
}


class Problem(Exception):
    """An error with a code of :data:`TITLES`."""

    def __init__(self, code: int, *reasons: Sentence, kind: str = "") -> None:
        super().__init__(" ".join(map(str, reasons)))
        self.code, self.reasons, self.kind = code, reasons, kind


#: (an exception of the services, code, kind or empty for the code's own). The first class that fits counts.
_CODES: list[tuple[type[Exception], int, str]] = [
    (NoSuchGateway, 404, ""),
    (PlanChanged, 412, ""),
    (BindingConflict, 412, ""),
    (Busy, 409, "busy"),
    (BindingBusy, 409, "busy"),
    (EnginesAway, 503, ""),
    (PreviewRunning, 429, ""),
    (UnknownOutcome, 503, "unknown-outcome"),
    (StoreUnavailable, 503, ""),
    (GatewaySilent, 503, ""),
    (KafkaError, 503, ""),
    (ConnectError, 503, ""),
    (BindingError, 409, ""),
    (Refused, 409, ""),
    (NotRegistered, 409, ""),
    (NotDeclared, 409, ""),
    (NotAccepted, 409, ""),
    (TokenRefused, 400, ""),
    (PersonRefused, 409, ""),
    (OwnerRefused, 400, ""),
]


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler. Return ``None`` for a bug of hadash itself: it is logged, and answered with 500."""
    match error:
        case Problem():
            return _problem(error.code, error.reasons, kind=error.kind)
        case exceptions.ValidationError():
            fields = _fields(error.detail)
            said = (
                f"{name}: {' '.join(faults)}" if name else " ".join(faults) for name, faults in fields.items()
            )
            return _problem(400, (), detail=" ".join(said), errors=fields)
        case exceptions.Throttled():
            response = _problem(429, [say("%(error)s", error=error.detail)])
            response["Retry-After"] = str(int(error.wait or 1))
            return response
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            response = _problem(401, [say("%(error)s", error=error.detail)])
            response["WWW-Authenticate"] = getattr(error, "auth_header", None) or "Bearer"
            return response
        case PermissionDenied() | exceptions.PermissionDenied():
            return _problem(403, [Sentence(str(error))] if str(error) else ())
        case RequestDataTooBig():
            most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            return _problem(413, [say("A body may have %(most)s bytes at most.", most=most)])
        case Http404() | exceptions.NotFound():
            return _problem(404, [Sentence(str(error))] if str(error) else ())
        case exceptions.APIException() if error.status_code in TITLES:
            return _problem(error.status_code, [say("%(error)s", error=error.detail)])
    for kind, code, name in _CODES:
        if isinstance(error, kind):
            return _problem(code, _reasons(error), kind=name)
    return None


def _reasons(error: Exception) -> Iterable[Sentence]:
    if isinstance(error, Refused | NotDeclared | NotAccepted):
        return error.reasons
    said = getattr(error, "sentence", None)
    return [said if isinstance(said, Sentence) else say("%(error)s", error=error)]


def _problem(code: int, reasons: Iterable[Sentence], kind: str = "", **more: Any) -> Response:
    body = {**details(code, reasons, kind), **more}
    return Response(body, status=code, content_type=CONTENT_TYPE)


def details(code: int, reasons: Iterable[Sentence], kind: str = "") -> dict[str, Any]:
    """Return the body of an error, in the language of the request."""
    name, title = TITLES[code]
    texts = [sentence(reason) for reason in reasons]
    return {
        "type": f"urn:hadash:problem:{kind or name}",
        "title": str(title),
        "status": code,
        "detail": " ".join(texts),
        "reasons": texts,
    }


def _fields(detail: Any, name: str = "") -> dict[str, list[str]]:
    """Return the faults of each field; the names of nested fields have dots.

    >>> _fields({"scope": {"kind": ["No such kind."]}, "reason": ["Missing."]})
    {'scope.kind': ['No such kind.'], 'reason': ['Missing.']}
    """
    if isinstance(detail, dict):
        found: dict[str, list[str]] = {}
        for field, inner in detail.items():
            found |= _fields(inner, f"{name}.{field}" if name else str(field))
        return found
    if isinstance(detail, list) and any(isinstance(entry, dict) for entry in detail):
        found = {}
        for index, inner in enumerate(detail):
            found |= _fields(inner, f"{name}.{index}") if inner else {}
        return found
    return {name: [str(entry) for entry in (detail if isinstance(detail, list) else [detail])]}
