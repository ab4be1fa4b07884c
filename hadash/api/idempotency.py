"""Writes that may be sent again: with the header ``Idempotency-Key`` a repeated request gets the first one's answer.

The answer is kept in the transaction that makes the change. A process that dies in between leaves neither, so
a request that is sent again is carried out exactly once. Refusals are not kept: their reasons may be gone later.
When the outcome is not known, no answer is kept either: the handler's records of it stay, and the request may
be sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import wraps
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from rest_framework.request import Request
from rest_framework.response import Response

from hadash.api.models import MAX_KEY, IdempotentAnswer
from hadash.api.problems import Problem
from hadash.bindings.errors import UnknownOutcome
from hadash.sentences import say

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"

Handler = Callable[..., Response]


def idempotent(handler: Handler) -> Handler:
    """Decorate a handler so that its answer is kept under the request's key. A request without a key is carried
    out each time.
    """

    @wraps(handler)
    def answer(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER, "")
        if not key:
            return handler(view, request, *args, **kwargs)
        if len(key) > MAX_KEY or not key.isascii() or not key.isprintable():
            raise Problem(
                400, say("An idempotency key is at most %(most)s printable characters.", most=MAX_KEY)
            )
        fingerprints = _fingerprints(request)
        unknown: UnknownOutcome | None = None
        with transaction.atomic():
            # A second request with this key waits here until the first one has ended.
            held, new = IdempotentAnswer.objects.get_or_create(
                user=request.user, key=key, defaults={"fingerprint": fingerprints[0]}
            )
            if not new:
                return _again(held, fingerprints)
            try:
                response = handler(view, request, *args, **kwargs)
            except UnknownOutcome as error:
                # Raised after the transaction: the audit log's entry about it must not be rolled back.
                unknown = error
                held.delete()
            else:
                held.status_code, held.body = response.status_code, response.data
                held.save(update_fields=["status_code", "body"])
        if unknown is not None:
            raise unknown
        return response

    return answer


def _again(held: IdempotentAnswer, fingerprints: Sequence[str]) -> Response:
    if held.fingerprint not in fingerprints:
        raise Problem(
            422, say("This idempotency key was used for another request. Use a new key for each request.")
        )
    return Response(held.body, status=held.status_code, headers={REPLAYED: "true"})


def _fingerprints(request: Request) -> list[str]:
    """Return the request's fingerprints: with the installation's present secret, then with its fallbacks, so that
    a repeated write is recognised while the secret is being changed.

    They are keyed because a body may hold a password, which must not be guessable from a copy of the table.
    """
    # (The token is part of it: another token of the same person may read less, and must not get this answer.)
    token = request.auth.pk if request.auth is not None else "session"
    said = f"{request.method} {request.path}\n{token}\n".encode() + request.body
    return [
        salted_hmac("hadash.idempotency", said, secret=secret, algorithm="sha256").hexdigest()
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    ]


def forget_old_answers() -> int:
    """Delete answers that are older than ``API_IDEMPOTENCY_HOURS``. Return how many rows were deleted."""
    before = timezone.now() - timedelta(hours=settings.API_IDEMPOTENCY_HOURS)
    deleted, _ = IdempotentAnswer.objects.filter(at__lt=before).delete()
    return deleted
