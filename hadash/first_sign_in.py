"""Who was given a password chooses one before anything else."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse

from hadash.accounts.passwords import MUST_CHANGE
from hadash.sentences import say

#: What can be done without: to choose the password, or another language, or to leave.
_ALLOWED = ("password", "sign-out", "set_language")


class ChoosePasswordFirst:
    """Middleware, behind those of sessions and languages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.session.get(MUST_CHANGE) or request.path in map(reverse, _ALLOWED):
            return self._get_response(request)
        if request.path.startswith("/api/"):
            return _problem()
        return HttpResponseRedirect(reverse("password"))


def _problem() -> JsonResponse:
    """As every other error of the API."""
    from hadash.api.problems import CONTENT_TYPE, details  # (the API stands on the accounts, not they on it)

    reason = say("Choose a password of your own first: sign in to hadash in a browser.")
    return JsonResponse(details(403, [reason]), status=403, content_type=CONTENT_TYPE)
