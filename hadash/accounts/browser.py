"""The identity of a browser: a random name in a cookie that survives sign-outs.

Four eyes are two people at two screens. A person who knows a second account's password could otherwise request a
switch, sign out, sign in as the other account, and approve; or issue a token as the other account, and let a
program approve. The cookie can be deleted, so this prevents haste, not fraud; fraud is visible in the audit log,
which records for both actions where they came from.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

COOKIE = "hadash_browser"

#: Random bytes of a browser's name.
NAME_BYTES = 16

#: Seconds for which a browser keeps its name: longer than any request for a switch stays open.
KEPT_SECONDS = 365 * 86400


def browser_of(request: HttpRequest) -> str:
    """Return the name of the request's browser; empty for a program, or a browser that comes for the first time."""
    return request.get_signed_cookie(COOKIE, default="", salt=COOKIE) or ""


class BrowserMiddleware(MiddlewareMixin):
    """Gives each browser a name. A program that sends a token is no browser."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not browser_of(request) and not request.headers.get("Authorization"):
            response.set_signed_cookie(
                COOKIE,
                secrets.token_hex(NAME_BYTES),
                salt=COOKIE,
                max_age=KEPT_SECONDS,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response
