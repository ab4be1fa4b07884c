"""A page for who visits the address of a button: somebody whose session had ended, and who signed in again,
is sent there.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render

_VISITS = ("GET", "HEAD")


class NotAllowedPage:
    """Middleware: Django's own answer has no body, and browsers show an error of their own."""

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
