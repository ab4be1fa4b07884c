"""Sign-ins in the audit log: who, from where, how; never what was typed as a password."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from hadash.accounts.addresses import address_of
from hadash.accounts.claims import Refused
from hadash.audit.models import record

#: As which backend a session notes that the provider vouched for its user.
OIDC_BACKEND = "hadash.accounts.oidc.ProviderBackend"


def through_provider(request: HttpRequest) -> bool:
    """Whether this session was begun by OpenID Connect."""
    return bool(request.session.get(BACKEND_SESSION_KEY) == OIDC_BACKEND)


def subject_of(username: str) -> str:
    return f"account {username}"


@receiver(user_logged_in)
def signed_in(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    if request.method:  # a program (a test) may begin a session without a request: then nobody came in
        record(user, "sign in", subject_of(user.get_username()), address_of(request), how=_how(request))


@receiver(user_logged_out)
def signed_out(sender: Any, request: HttpRequest, user: User | None, **kwargs: Any) -> None:
    """Before the session is emptied. Somebody who was not signed in has not signed out."""
    if user is not None and request.method:
        record(user, "sign out", subject_of(user.get_username()), address_of(request), how=_how(request))


def failed(request: HttpRequest, username: str | None) -> None:
    """``username`` as it was typed; ``None`` for OpenID Connect."""
    record(None, "sign in failed", _attempted(request, username), address_of(request), **_details(request))


def locked(request: HttpRequest, username: str | None, wait: timedelta) -> None:
    """Once for each lock: what is tried while it holds is not recorded."""
    seconds = round(wait.total_seconds())
    details = {**_details(request), "seconds": seconds}
    record(None, "sign in locked", _attempted(request, username), address_of(request), **details)


def _how(request: HttpRequest) -> str:
    return "OIDC" if through_provider(request) else "local"


def _refusal(request: HttpRequest) -> Refused | None:
    """What the provider's backend has against somebody: it leaves that at the request."""
    return getattr(request, "oidc_refusal", None)


def _details(request: HttpRequest) -> dict[str, Any]:
    refusal = _refusal(request)
    return {"how": "OIDC", "reason": str(refusal.sentence)} if refusal else {"how": "local"}


def _attempted(request: HttpRequest, username: str | None) -> str:
    """The account, if there is one. Other names are left out: some people type their password in the wrong field."""
    refusal = _refusal(request)
    if refusal is not None:
        return subject_of(refusal.username) if refusal.username else "unknown account"
    known = User.objects.filter(username=username).values_list("username", flat=True).first()
    return subject_of(known) if known else "unknown account"
