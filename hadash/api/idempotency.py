"""Writes that may be sent again: with the header ``Idempotency-Key`` the second one gets the first one's answer.

The answer is kept in the transaction that makes the change. A process that dies in between leaves neither, so
whoever sends the request again has it carried out exactly once. Refusals are not kept: what stood against it
may be gone. When it is not known whether it was done, what the handler has written of that stays, and it may
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
    """A handler whose answer is kept under the request's key. One without a key is carried out each time."""

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
                # Raised only when the transaction has ended: the audit log's entry about it must not roll back.
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
    """With today's secret of the installation, then with those before it: the same write is known while the
    secret is changed.

    Keyed, since a body may hold a password, which nobody should be able to guess from a copy of the table.
    """
    # (What one token was answered is nothing for another one of the same person, which may read less.)
    token = request.auth.pk if request.auth is not None else "session"
    said = f"{request.method} {request.path}\n{token}\n".encode() + request.body
    return [
        salted_hmac("hadash.idempotency", said, secret=secret, algorithm="sha256").hexdigest()
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    ]


def forget_old_answers() -> int:
    """Delete what nobody sends again any more; how many."""
    before = timezone.now() - timedelta(hours=settings.API_IDEMPOTENCY_HOURS)
    deleted, _ = IdempotentAnswer.objects.filter(at__lt=before).delete()
    return deleted
