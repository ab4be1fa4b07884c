"""A page for visits of an address that takes only POST: a person whose session had ended when they clicked a button
is sent there after signing in again.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render

_VISITS = ("GET", "HEAD")


class NotAllowedPage:
    """Middleware that adds a page to 405 answers: Django's have no body, so browsers show an error of their own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if not isinstance(response, HttpResponseNotAllowed) or request.method not in _VISITS:
            return response
        if request.path.startswith("/api/"):
            return response
        page = render(request, "405.html", status=405)
        page.headers["Allow"] = response.headers["Allow"]
        return page
