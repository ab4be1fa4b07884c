"""Which browser somebody sits at: a random name in a cookie, kept over sign-outs.

Four eyes are two people at two screens. Whoever knows a second account's password could otherwise request,
sign out, sign in as the other one, and approve; or issue a token as the other one there, and have a program
approve. The cookie can be deleted, so this stops haste, not fraud: against fraud stands the audit log, which
says for both acts where they came from.
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
    """The name of the browser that ``request`` comes from; empty for what is none, or comes for the first time."""
    return request.get_signed_cookie(COOKIE, default="", salt=COOKIE) or ""


class BrowserMiddleware(MiddlewareMixin):
    """A browser without a name gets one. Programs that come with a token are none."""

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
