"""The discovery document of the OpenID Connect provider: the addresses for sign-in, tokens and keys."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from hadash.sentences import Sentence, say

log = logging.getLogger(__name__)

#: The path of a provider's document, below its issuer.
_PATH = "/.well-known/openid-configuration"


class Unavailable(Exception):
    """The provider cannot be used at present."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Provider:
    """The provider's addresses. ``userinfo`` and ``end_session`` are empty for a provider without them.

    :param token_auth_method: how a client authenticates when it asks for a token.
    """

    authorization: str
    token: str
    jwks: str
    userinfo: str = ""
    end_session: str = ""
    token_auth_method: str = "client_secret_basic"


@dataclass(frozen=True, slots=True)
class _Look:
    """The result of one look at an issuer, and when it was (monotonic seconds)."""

    issuer: str
    at: float
    found: Provider | Unavailable


_lock = threading.Lock()
_last: _Look | None = None


def is_configured() -> bool:
    return bool(settings.OIDC_ISSUER)


def provider() -> Provider:
    """Return the provider, looked up at most ``OIDC_LOOK_SECONDS`` ago.

    :raises Unavailable: with a sentence for the sign-in page. A failure is cached as long as a success: visitors
        at the same time wait for one look, and later ones do not wait.
    """
    global _last
    issuer = settings.OIDC_ISSUER
    with _lock:
        look = _last
        if look is None or look.issuer != issuer or time.monotonic() - look.at >= settings.OIDC_LOOK_SECONDS:
            found = _look_at(issuer)
            look = _last = _Look(issuer, time.monotonic(), found)
    if isinstance(look.found, Unavailable):
        raise Unavailable(look.found.sentence)
    return look.found


def forget() -> None:
    """Drop the cached provider: the next call looks it up again."""
    global _last
    with _lock:
        _last = None


def _look_at(issuer: str) -> Provider | Unavailable:
    try:
        answer = httpx.get(issuer.rstrip("/") + _PATH, timeout=settings.OIDC_TIMEOUT)
        answer.raise_for_status()
        document = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        log.warning("The provider %s does not answer: %s", issuer, error or type(error).__name__)
        return Unavailable(say("%(provider)s does not answer.", provider=settings.OIDC_NAME))
    found = read(document, issuer)
    if isinstance(found, Unavailable):
        log.warning("The provider %s cannot be used: %s", issuer, found)
    return found


def read(document: Any, issuer: str) -> Provider | Unavailable:
    """Read the addresses from a provider's document.

    Its issuer must be the configured one: otherwise tokens of another provider would be believed.
    """
    document = document if isinstance(document, dict) else {}
    name = settings.OIDC_NAME
    if document.get("issuer") != issuer:
        return Unavailable(
            say(
                "%(provider)s calls itself %(is)s, but HADASH_OIDC_ISSUER is %(wanted)s.",
                provider=name,
                **{"is": document.get("issuer"), "wanted": issuer},
            )
        )
    wanted = {
        "authorization_endpoint": True,
        "token_endpoint": True,
        "jwks_uri": True,
        "userinfo_endpoint": False,
        "end_session_endpoint": False,
    }
    addresses = {key: document.get(key) or "" for key in wanted}
    # An https issuer must not send people or secrets to unencrypted addresses.
    schemes = {"https"} if urlsplit(issuer).scheme == "https" else {"https", "http"}
    for key, needed in wanted.items():
        given = addresses[key]
        if (needed or given) and not (isinstance(given, str) and urlsplit(given).scheme in schemes):
            return Unavailable(say("%(provider)s does not give its %(key)s.", provider=name, key=key))
    return Provider(
        authorization=addresses["authorization_endpoint"],
        token=addresses["token_endpoint"],
        jwks=addresses["jwks_uri"],
        userinfo=addresses["userinfo_endpoint"],
        end_session=addresses["end_session_endpoint"],
        token_auth_method=_auth_method(document),
    )


def _auth_method(document: dict[str, Any]) -> str:
    """Return how the client secret is sent: in a header, the default of the standard, or in the form if the
    provider does not offer the header.
    """
    offered = document.get("token_endpoint_auth_methods_supported")
    in_form_only = isinstance(offered, list) and "client_secret_basic" not in offered
    return "client_secret_post" if in_form_only else "client_secret_basic"
