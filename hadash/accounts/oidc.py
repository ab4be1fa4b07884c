"""The authentication backend for OpenID Connect. The flow itself is in :mod:`hadash.accounts.relying_party`."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from hadash.accounts import relying_party
from hadash.accounts.addresses import address_of
from hadash.accounts.admission import admit
from hadash.accounts.claims import Refused, Rules, person_of
from hadash.accounts.discovery import Unavailable, is_configured, provider
from hadash.accounts.journal import through_provider
from hadash.sentences import say

log = logging.getLogger(__name__)

#: The session's key for the ID token of its sign-in: at sign-out the provider needs it to know which session there
#: to end.
ID_TOKEN = "oidc_id_token"


def rules() -> Rules:
    """Return the rules for claims from the settings."""
    return Rules(
        settings.OIDC_USERNAME_CLAIM,
        settings.OIDC_GROUPS_CLAIM,
        settings.OIDC_ROLES,
        settings.OIDC_DEFAULT_ROLE,
    )


class ProviderBackend(ModelBackend):
    """Signs people in through the provider. After a refusal ``request.oidc_refusal`` (:class:`Refused`) says why."""

    def authenticate(  # type: ignore[override]
        self, request: HttpRequest | None, *, from_provider: bool = False
    ) -> User | None:
        """Return the user who comes back from the provider. Django does not call this backend with a password:
        the arguments do not fit.

        :raises PermissionDenied: the sign-in is refused; Django then reports it as failed, which counts for the limit.
        """
        if request is None or not from_provider or not is_configured():
            return None
        try:
            claims, token = relying_party.end(request)
            user = admit(person_of(claims, rules()), settings.OIDC_ISSUER, address_of(request))
        except Refused as error:
            refusal = error
        except Unavailable as error:
            refusal = Refused(error.sentence)
        except relying_party.FAULTS as error:
            log.warning("A sign-in by OpenID Connect failed: %s: %s", type(error).__name__, error)
            refusal = Refused(
                say("What %(provider)s answered could not be verified.", provider=settings.OIDC_NAME)
            )
        else:
            request.session[ID_TOKEN] = token
            return user
        request.oidc_refusal = refusal  # type: ignore[attr-defined]
        raise PermissionDenied

    def get_user(self, user_id: Any) -> User | None:
        """Return a session's user; none without a provider, and none for an account that was closed meanwhile."""
        return super().get_user(user_id) if is_configured() else None


def end_session_address(request: HttpRequest, back: str) -> str | None:
    """Return the address at which the provider ends its own session and sends people ``back``.

    ``None`` if there is no such session, or no such address.
    """
    if not through_provider(request):
        return None
    try:
        address = provider().end_session
    except Unavailable:
        return None
    query = {
        "id_token_hint": request.session.get(ID_TOKEN, ""),
        "client_id": settings.OIDC_RP_CLIENT_ID,
        "post_logout_redirect_uri": back,
    }
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}" if address else None
