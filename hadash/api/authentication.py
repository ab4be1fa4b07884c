"""Authentication by an API token. (People use their session, with CSRF as for the pages.)"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from hadash.accounts import tokens
from hadash.telemetry import ids

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """Authenticates ``Authorization: Bearer hadash_…``."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != SCHEME.lower().encode():
            return None
        if len(words) != 2:
            raise AuthenticationFailed(_("Send “Authorization: Bearer” and the token."))
        found = tokens.user_of_secret(words[1].decode("utf-8", "replace"))
        if found is None:
            raise AuthenticationFailed(_("This token is not known, has expired, or was revoked."))
        ids.add(person=found[0].get_username())
        return found

    def authenticate_header(self, request: Request) -> str:
        return SCHEME
