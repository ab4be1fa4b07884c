"""hadash as a relying party of OpenID Connect: the authorization code flow with PKCE, as Authlib carries it out, at
the addresses that :mod:`hadash.accounts.discovery` has found.
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

#: The only way in which a token may be signed: it must not choose how it is checked.
SIGNED_WITH = "RS256"

#: Sign-ins that one session has under way at the same time, in as many tabs: the oldest is forgotten.
MOST_BEGUN = 20

#: What Authlib calls the provider, and what the session's entries of sign-ins under way begin with.
_NAME = "provider"
_BEGUN = f"_state_{_NAME}_"

#: What a provider can make the libraries raise: no answer, a token that does not hold, an answer of another shape.
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
    """What the provider has sent does not say who somebody is."""


def begin(request: HttpRequest, back: str) -> HttpResponseRedirect:
    """To the provider; state, nonce and PKCE's verifier are in the session.

    :param back: where it sends people then. :raises hadash.accounts.discovery.Unavailable:
    """
    begun = [key for key, _ in request.session.items() if key.startswith(_BEGUN)]
    oldest_first = sorted(begun, key=lambda key: request.session[key]["exp"])
    for key in oldest_first[: max(len(begun) - MOST_BEGUN + 1, 0)]:
        del request.session[key]
    unguessable = {"state": secrets.token_urlsafe(32), "nonce": secrets.token_urlsafe(32)}
    answer: HttpResponseRedirect = _client().authorize_redirect(request, back, **unguessable)
    return answer


def was_begun(request: HttpRequest) -> bool:
    """Whether this session has begun the sign-in that somebody comes back from, and not yet ended it."""
    return f"{_BEGUN}{request.GET.get('state', '')}" in request.session


def forget(request: HttpRequest) -> None:
    """It came to nothing."""
    request.session.pop(f"{_BEGUN}{request.GET.get('state', '')}", None)


def end(request: HttpRequest) -> tuple[dict[str, Any], str]:
    """Back with a code: (claims of whoever has signed in, the token that says so).

    :raises UnbelievableToken, FAULTS: the provider has not said who it is, or somebody else has.
    :raises hadash.accounts.discovery.Unavailable:
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
    # (A provider that issues one token to several clients says to whom it was given.)
    if claims.get("azp", settings.OIDC_RP_CLIENT_ID) != settings.OIDC_RP_CLIENT_ID:
        raise UnbelievableToken("The token was issued to another client.")
    said = dict(client.userinfo(token=token)) if provider().userinfo else {}
    if said and said.get("sub") != claims["sub"]:
        raise UnbelievableToken("The userinfo is another person's.")
    return {**claims, **said}, token["id_token"]


def _client() -> DjangoOAuth2App:
    """Made for each sign-in: the provider may have said something else about itself since the last one."""
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
