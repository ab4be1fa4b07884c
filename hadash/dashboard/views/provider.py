"""Signing in by OpenID Connect: the way to the provider, and back."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from hadash.accounts import discovery, relying_party
from hadash.accounts.claims import Refused
from hadash.sentences import Sentence, say

#: Most characters that are shown of the provider's error.
_SHOWN_ERROR = 200

#: The session's key for the page to open after signing in.
_NEXT = "oidc_next"


def offer() -> dict[str, Any] | None:
    """Return the sign-in page's button: its ``name``, and the ``fault`` (a Sentence) if it cannot be used; ``None``
    without a provider.
    """
    if not discovery.is_configured():
        return None
    try:
        discovery.provider()
    except discovery.Unavailable as error:
        return {"name": settings.OIDC_NAME, "fault": error.sentence}
    return {"name": settings.OIDC_NAME, "fault": None}


def refused(request: HttpRequest, sentence: Sentence, status: int) -> HttpResponse:
    """Render the page of a sign-in that was refused, or cannot be made now."""
    return render(request, "session/refused.html", {"sentence": sentence, "status": status}, status=status)


def configured() -> None:
    """Check that there is a provider.

    :raises Http404: OpenID Connect is not configured.
    """
    if not discovery.is_configured():
        raise Http404


@never_cache
@login_not_required
@require_GET
def to_provider(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider; state, nonce and PKCE's verifier are kept in the session. ``?next=``: the page to open
    afterwards.
    """
    configured()
    if request.user.is_authenticated:
        return redirect(settings.LOGIN_REDIRECT_URL)
    request.session[_NEXT] = request.GET.get("next", "")
    try:
        return relying_party.begin(request, request.build_absolute_uri(reverse("oidc-return")))
    except discovery.Unavailable as error:
        return refused(request, error.sentence, 503)


@never_cache
@login_not_required
@require_GET
def from_provider(request: HttpRequest) -> HttpResponse:
    """End a sign-in: the provider sends people here, with a code or with an error."""
    configured()
    if not relying_party.was_begun(request):
        return refused(
            request,
            say("This sign-in was begun elsewhere, was used already, or is too long ago. Start again."),
            400,
        )
    if "code" not in request.GET:
        relying_party.forget(request)
        error = request.GET.get("error_description") or request.GET.get("error") or ""
        sentence = say(
            "%(provider)s has refused: %(error)s", provider=settings.OIDC_NAME, error=error[:_SHOWN_ERROR]
        )
        return refused(request, sentence, 403)
    wanted = request.session.pop(_NEXT, "")
    user = authenticate(request, from_provider=True)
    if user is None:
        refusal: Refused | None = getattr(request, "oidc_refusal", None)
        if refusal is None:  # the limit on failed sign-ins applies, and its page replaces this answer
            return HttpResponse(status=429)
        return refused(request, refusal.sentence, 403)
    login(request, user)
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return redirect(wanted if is_ours else settings.LOGIN_REDIRECT_URL)
