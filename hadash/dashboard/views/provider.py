"""Signing in by OpenID Connect: to the provider, and back from there."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from hadash.accounts import discovery
from hadash.accounts.claims import Refused
from hadash.sentences import Sentence, say

#: Characters that are shown of what the provider says against somebody.
_SHOWN_ERROR = 200


def offer() -> dict[str, Any] | None:
    """The sign-in page's button: its ``name``, and the ``fault`` (a Sentence) if it cannot be used; ``None``
    without one.
    """
    if not discovery.is_configured():
        return None
    try:
        discovery.provider()
    except discovery.Unavailable as error:
        return {"name": settings.OIDC_NAME, "fault": error.sentence}
    return {"name": settings.OIDC_NAME, "fault": None}


def refused(request: HttpRequest, sentence: Sentence, status: int) -> HttpResponse:
    return render(request, "session/refused.html", {"sentence": sentence, "status": status}, status=status)


def configured() -> None:
    """:raises Http404: without a provider."""
    if not discovery.is_configured():
        raise Http404


@method_decorator([login_not_required, never_cache], name="dispatch")
class ToProvider(OIDCAuthenticationRequestView):
    """Notes state, nonce and PKCE's verifier in the session and goes to the provider."""

    def __init__(self, **kwargs: Any) -> None:
        View.__init__(
            self, **kwargs
        )  # the library reads its settings here, before anybody can say that one is missing

    OIDC_RP_CLIENT_ID = property(lambda self: settings.OIDC_RP_CLIENT_ID)
    OIDC_OP_AUTH_ENDPOINT = property(lambda self: discovery.provider().authorization)

    def get(self, request: HttpRequest) -> HttpResponse:
        configured()
        if request.user.is_authenticated:
            return HttpResponseRedirect(resolve_url(settings.LOGIN_REDIRECT_URL))
        try:
            return super().get(request)
        except discovery.Unavailable as error:
            return refused(request, error.sentence, 503)


@method_decorator([login_not_required, never_cache], name="dispatch")
class FromProvider(OIDCAuthenticationCallbackView):
    """Back with a code, or with what the provider has against it."""

    def get(self, request: HttpRequest) -> HttpResponse:
        configured()
        started = request.session.get("oidc_states") or {}
        state = request.GET.get("state")
        if state not in started:
            return refused(
                request,
                say("This sign-in was begun elsewhere, was used already, or is too long ago. Start again."),
                400,
            )
        if "code" not in request.GET:
            # The library would sign out whoever is signed in.
            del started[state]
            request.session["oidc_states"] = started
            error = request.GET.get("error_description") or request.GET.get("error") or ""
            sentence = say(
                "%(provider)s has refused: %(error)s", provider=settings.OIDC_NAME, error=error[:_SHOWN_ERROR]
            )
            return refused(request, sentence, 403)
        answer: HttpResponse = super().get(request)
        return answer

    def login_failure(self) -> HttpResponse:
        refusal: Refused | None = getattr(self.request, "oidc_refusal", None)
        if refusal is None:  # the limit on failed sign-ins came first, and its page takes this one's place
            return HttpResponse(status=429)
        return refused(self.request, refusal.sentence, 403)
