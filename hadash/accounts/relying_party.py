"""hadash as a relying party of OpenID Connect: the authorization code flow with PKCE, carried out by Authlib, at
the addresses that :mod:`hadash.accounts.discovery` finds.
"""

from __future__ import annotations

import secrets
from typing import Any

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import DjangoOAuth2App, OAuth
from authlib.oidc.core import CodeIDToken
from django.conf import settings
from django.http import HttpRequest, HttpResponseRedirect
from joserfc.errors import JoseError

from hadash.accounts.discovery import provider

#: Seconds by which the provider's clock may differ from ours.
CLOCK_SECONDS = 30

#: The only accepted signature algorithm: a token must not choose how it is checked.
SIGNED_WITH = "RS256"

#: Sign-ins that one session may have under way at the same time (in different tabs): beyond that the oldest is
#: forgotten.
MOST_BEGUN = 20

#: Authlib's name for the provider, and the prefix of the session's keys for sign-ins under way.
_NAME = "provider"
_BEGUN = f"_state_{_NAME}_"

#: The exceptions that the libraries raise for a missing answer, an invalid token or a malformed answer.
FAULTS = (
    AuthlibBaseError,
    JoseError,
    requests.RequestException,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
)


class UnbelievableToken(ValueError):
    """The provider's answer does not prove who has signed in."""


def begin(request: HttpRequest, back: str) -> HttpResponseRedirect:
    """Begin a sign-in: return a redirect to the provider. State, nonce and PKCE's verifier are kept in the session.

    :param back: the address to which the provider sends people afterwards.
    :raises hadash.accounts.discovery.Unavailable: the provider cannot be used at present.
    """
    begun = [key for key, _ in request.session.items() if key.startswith(_BEGUN)]
    oldest_first = sorted(begun, key=lambda key: request.session[key]["exp"])
    for key in oldest_first[: max(len(begun) - MOST_BEGUN + 1, 0)]:
        del request.session[key]
    unguessable = {"state": secrets.token_urlsafe(32), "nonce": secrets.token_urlsafe(32)}
    answer: HttpResponseRedirect = _client().authorize_redirect(request, back, **unguessable)
    return answer


def was_begun(request: HttpRequest) -> bool:
    """Whether this session has begun, and not ended, the sign-in that the request comes back from."""
    return f"{_BEGUN}{request.GET.get('state', '')}" in request.session


def forget(request: HttpRequest) -> None:
    """Drop a sign-in that has failed from the session."""
    request.session.pop(f"{_BEGUN}{request.GET.get('state', '')}", None)


def end(request: HttpRequest) -> tuple[dict[str, Any], str]:
    """End a sign-in with the provider's code: return (the person's claims, the ID token).

    :raises UnbelievableToken, FAULTS: the provider's answer does not prove who has signed in.
    :raises hadash.accounts.discovery.Unavailable: the provider cannot be used at present.
    """
    client = _client()
    token = client.authorize_access_token(
        request,
        leeway=CLOCK_SECONDS,
        claims_cls=CodeIDToken,
        claims_options={"iss": {"essential": True, "value": settings.OIDC_ISSUER}},
    )
    claims = token.get("userinfo")
    if not claims:
        raise UnbelievableToken("The provider has sent no ID token.")
    # (A token for several clients names in azp the client it was issued to.)
    if claims.get("azp", settings.OIDC_RP_CLIENT_ID) != settings.OIDC_RP_CLIENT_ID:
        raise UnbelievableToken("The token was issued to another client.")
    said = dict(client.userinfo(token=token)) if provider().userinfo else {}
    if said and said.get("sub") != claims["sub"]:
        raise UnbelievableToken("The userinfo is another person's.")
    return {**claims, **said}, token["id_token"]


def _client() -> DjangoOAuth2App:
    """Return a new client for each sign-in: the provider's document may have changed since the last one."""
    there = provider()
    return OAuth().register(
        _NAME,
        client_id=settings.OIDC_RP_CLIENT_ID,
        client_secret=settings.OIDC_RP_CLIENT_SECRET,
        authorize_url=there.authorization,
        access_token_url=there.token,
        userinfo_endpoint=there.userinfo,
        jwks_uri=there.jwks,
        id_token_signing_alg_values_supported=[SIGNED_WITH],
        client_kwargs={
            "scope": settings.OIDC_RP_SCOPES,
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": there.token_auth_method,
            "default_timeout": settings.OIDC_TIMEOUT,
        },
    )
