"""What the provider of OpenID Connect says about itself: where people sign in, where tokens and keys are."""

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

#: Where a provider's document stands, below its issuer.
_PATH = "/.well-known/openid-configuration"


class Unavailable(Exception):
    """The provider cannot be used at present."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Provider:
    """Addresses. ``userinfo`` and ``end_session`` are empty for a provider without them. ``token_auth_method``:
    how a client proves who it is when it asks for a token.
    """

    authorization: str
    token: str
    jwks: str
    userinfo: str = ""
    end_session: str = ""
    token_auth_method: str = "client_secret_basic"


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look at an issuer found, and when (monotonic seconds)."""

    issuer: str
    at: float
    found: Provider | Unavailable


_lock = threading.Lock()
_last: _Look | None = None


def is_configured() -> bool:
    return bool(settings.OIDC_ISSUER)


def provider() -> Provider:
    """The provider, as it was a few seconds ago (``OIDC_LOOK_SECONDS``).

    :raises Unavailable: with a sentence for the sign-in page. That is kept as long: visitors wait for the
        same look, and those who come later not at all.
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
    """The next question is asked of the provider itself."""
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
    """The addresses in a provider's document, which must be its own: another one's tokens would be believed."""
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
    # An https issuer that sends people or secrets elsewhere in the clear is not believed.
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
    """The secret in a header, which every provider takes that does not say something else; else in the form."""
    offered = document.get("token_endpoint_auth_methods_supported")
    in_form_only = isinstance(offered, list) and "client_secret_basic" not in offered
    return "client_secret_post" if in_form_only else "client_secret_basic"
