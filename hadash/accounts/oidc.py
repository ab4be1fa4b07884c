"""Signing in by OpenID Connect: mozilla-django-oidc with what it leaves to its user.

It carries out the authorization code flow. Here are added: the provider's addresses from its own document,
that a token is for us, from this provider and not expired, that the userinfo is the same person's, and who
gets in with what.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlencode

import jwt
import requests
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest
from mozilla_django_oidc.auth import OIDCAuthenticationBackend

from hadash.accounts.addresses import address_of
from hadash.accounts.admission import admit
from hadash.accounts.claims import Refused, Rules, person_of
from hadash.accounts.discovery import Unavailable, is_configured, provider
from hadash.accounts.journal import through_provider
from hadash.sentences import say

log = logging.getLogger(__name__)

#: Seconds by which the provider's clock may differ from ours.
CLOCK_SECONDS = 30

#: What a provider can make the library raise: no answer, a token that does not hold, an answer of another shape.
_FAULTS = (
    SuspiciousOperation,
    requests.RequestException,
    jwt.PyJWTError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
)


def rules() -> Rules:
    return Rules(
        settings.OIDC_USERNAME_CLAIM,
        settings.OIDC_GROUPS_CLAIM,
        settings.OIDC_ROLES,
        settings.OIDC_DEFAULT_ROLE,
    )


class ProviderBackend(OIDCAuthenticationBackend):
    """``request.oidc_refusal`` (:class:`Refused`) says afterwards why somebody did not get in."""

    OIDC_RP_IDP_SIGN_KEY = None

    def __init__(self) -> None:
        # The library reads all settings here, but Django makes a backend for each question about a permission, and the
        # provider may be away or not configured at all.
        self.UserModel = get_user_model()
        self.OIDC_RP_CLIENT_ID = settings.OIDC_RP_CLIENT_ID
        self.OIDC_RP_CLIENT_SECRET = settings.OIDC_RP_CLIENT_SECRET
        self.OIDC_RP_SIGN_ALGO = settings.OIDC_RP_SIGN_ALGO

    @property
    def OIDC_OP_TOKEN_ENDPOINT(self) -> str:
        return provider().token

    @property
    def OIDC_OP_USER_ENDPOINT(self) -> str:
        return provider().userinfo

    @property
    def OIDC_OP_JWKS_ENDPOINT(self) -> str:
        return provider().jwks

    def authenticate(
        self, request: HttpRequest | None, nonce: str | None = None, code_verifier: str | None = None
    ) -> User | None:
        """Of a password Django does not ask us: it does not fit these arguments.

        :raises PermissionDenied: for whoever is refused; Django tells the limit on failed sign-ins.
        """
        if request is None or not is_configured() or not nonce:
            return None
        refusal: Refused | None = None
        try:
            user: User | None = super().authenticate(request, nonce=nonce, code_verifier=code_verifier)
        except Refused as error:
            user, refusal = None, error
        except Unavailable as error:
            user, refusal = None, Refused(error.sentence)
        except _FAULTS as error:
            log.warning("A sign-in by OpenID Connect failed: %s: %s", type(error).__name__, error)
            user = None
        if user is None:
            request.oidc_refusal = refusal or Refused(  # type: ignore[attr-defined]
                say("What %(provider)s answered could not be verified.", provider=settings.OIDC_NAME)
            )
            raise PermissionDenied
        return user

    def _verify_jws(self, payload: str, key: Any) -> dict[str, Any]:
        """The library looks at the signature only."""
        claims: dict[str, Any] = jwt.decode(
            payload,
            key,
            algorithms=[self.OIDC_RP_SIGN_ALGO],
            audience=self.OIDC_RP_CLIENT_ID,
            issuer=settings.OIDC_ISSUER,
            leeway=CLOCK_SECONDS,
            options={"require": ["exp", "iat", "iss", "aud", "sub"]},
        )
        if claims.get("azp", self.OIDC_RP_CLIENT_ID) != self.OIDC_RP_CLIENT_ID:
            raise jwt.InvalidTokenError("The token was issued to another client.")
        return claims

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> User:
        """:raises Refused:"""
        said = self.get_userinfo(access_token, id_token, payload) if self.OIDC_OP_USER_ENDPOINT else {}
        if said and said.get("sub") != payload["sub"]:
            raise jwt.InvalidTokenError("The userinfo is another person's.")
        person = person_of({**payload, **said}, rules())
        return admit(person, settings.OIDC_ISSUER, address_of(self.request))

    def get_user(self, user_id: Any) -> User | None:
        """Of a session: none for an account that was closed meanwhile (the library lets it in), or without a
        provider.
        """
        return ModelBackend.get_user(self, user_id) if is_configured() else None


def end_session_address(request: HttpRequest, back: str) -> str | None:
    """Where the provider ends its own session and sends people ``back``; ``None`` if there is nothing to end."""
    if not through_provider(request):
        return None
    try:
        address = provider().end_session
    except Unavailable:
        return None
    query = {
        "id_token_hint": request.session.get("oidc_id_token", ""),
        "client_id": settings.OIDC_RP_CLIENT_ID,
        "post_logout_redirect_uri": back,
    }
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}" if address else None
