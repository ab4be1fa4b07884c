"""Sign-ins in the audit log: the account, the address and the method, never what was typed as a password."""

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

#: The authentication backend of sessions whose user the provider vouched for.
OIDC_BACKEND = "hadash.accounts.oidc.ProviderBackend"


def through_provider(request: HttpRequest) -> bool:
    """Whether this session was begun by OpenID Connect."""
    return bool(request.session.get(BACKEND_SESSION_KEY) == OIDC_BACKEND)


def subject_of(username: str) -> str:
    """Return the subject of an account's entries in the audit log."""
    return f"account {username}"


@receiver(user_logged_in)
def signed_in(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    if request.method:  # a program (a test) may begin a session without a request, which is no sign-in
        record(user, "sign in", subject_of(user.get_username()), address_of(request), how=_how(request))


@receiver(user_logged_out)
def signed_out(sender: Any, request: HttpRequest, user: User | None, **kwargs: Any) -> None:
    """Record a sign-out. Django calls this before it empties the session, and with no user if none was signed in."""
    if user is not None and request.method:
        record(user, "sign out", subject_of(user.get_username()), address_of(request), how=_how(request))


def failed(request: HttpRequest, username: str | None) -> None:
    """Record a failed sign-in.

    :param username: as it was typed; ``None`` for OpenID Connect.
    """
    record(None, "sign in failed", _attempted(request, username), address_of(request), **_details(request))


def locked(request: HttpRequest, username: str | None, wait: timedelta) -> None:
    """Record a lock, once: attempts while it holds are not recorded."""
    seconds = round(wait.total_seconds())
    details = {**_details(request), "seconds": seconds}
    record(None, "sign in locked", _attempted(request, username), address_of(request), **details)


def _how(request: HttpRequest) -> str:
    return "OIDC" if through_provider(request) else "local"


def _refusal(request: HttpRequest) -> Refused | None:
    """Return why the provider's backend refused the sign-in; it leaves the reason at the request."""
    return getattr(request, "oidc_refusal", None)


def _details(request: HttpRequest) -> dict[str, Any]:
    refusal = _refusal(request)
    return {"how": "OIDC", "reason": str(refusal.sentence)} if refusal else {"how": "local"}


def _attempted(request: HttpRequest, username: str | None) -> str:
    """Return the account as a subject. Unknown names are left out: some people type their password in that field."""
    refusal = _refusal(request)
    if refusal is not None:
        return subject_of(refusal.username) if refusal.username else "unknown account"
    known = User.objects.filter(username=username).values_list("username", flat=True).first()
    return subject_of(known) if known else "unknown account"
