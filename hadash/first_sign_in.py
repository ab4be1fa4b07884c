"""People who were given a password choose their own before anything else."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse

from hadash.accounts.passwords import MUST_CHANGE
from hadash.sentences import say

#: Views allowed before that: choosing the password or another language, and signing out.
_ALLOWED = ("password", "sign-out", "set_language")


class ChoosePasswordFirst:
    """Middleware that sends such people to the password page. It needs sessions and languages before it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.session.get(MUST_CHANGE) or request.path in map(reverse, _ALLOWED):
            return self._get_response(request)
        if request.path.startswith("/api/"):
            return _problem()
        return HttpResponseRedirect(reverse("password"))


def _problem() -> JsonResponse:
    """The 403 for API requests, in the format of the API's other errors."""
    from hadash.api.problems import CONTENT_TYPE, details  # (the API depends on the accounts, not they on it)

    reason = say("Choose a password of your own first: sign in to hadash in a browser.")
    return JsonResponse(details(403, [reason]), status=403, content_type=CONTENT_TYPE)
