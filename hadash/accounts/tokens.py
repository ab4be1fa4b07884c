"""API tokens: issued once, shown once, kept as a digest."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.models import SHOWN_CHARACTERS, ApiToken
from hadash.accounts.passwords import is_temporary
from hadash.accounts.roles import SCOPES, Limit, limit_of
from hadash.audit.models import record
from hadash.inventory.models import Pair
from hadash.sentences import Sentence, say

#: The prefix of every token, so that scanners for leaked secrets can find it.
PREFIX = "hadash_"

#: Random bytes of a token.
SECRET_BYTES = 32

#: The least time between two updates of a token's last use, which is shown to people and not audited.
USED_EVERY = timedelta(minutes=1)

#: Most characters of a name, as in the table's column.
MAX_NAME = 100


class TokenRefused(Exception):
    """A token cannot be issued. ``sentence`` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def issue(
    user: User,
    name: str,
    scopes: Iterable[str],
    days: int,
    pair: Pair | None = None,
    address: str | None = None,
    browser: str = "",
    by: str = "",
) -> tuple[ApiToken, str]:
    """Issue a token. Return it and its secret, which cannot be read again.

    :param days: until it expires; at most ``TOKEN_MAX_DAYS``.
    :param browser: the name of the browser in which it is issued.
    :param by: the command that issues it, at which nobody is signed in; empty when ``user`` issues it.
    :raises TokenRefused: the name is missing or too long, a scope is unknown, ``days`` is out of range, or
        ``user`` has a temporary password, which another person knows.
    :raises PermissionDenied: the request itself came with a token: tokens cannot issue tokens.
    """
    if limit_of(user) is not None:
        raise PermissionDenied("Tokens are issued to people at a browser, not to other tokens.")
    if is_temporary(user):
        raise TokenRefused(
            say(
                "%(person)s has a temporary password. Before a token can be issued, %(person)s has to sign "
                "in to hadash in a browser "
                "and choose another one.",
                person=user.get_username(),
            )
        )
    name, wanted = name.strip(), sorted(set(scopes) | {"read"})
    unknown = sorted(set(wanted) - set(SCOPES))
    if not name or len(name) > MAX_NAME:
        raise TokenRefused(say("Give the token a name of at most %(most)s characters.", most=MAX_NAME))
    if unknown:
        raise TokenRefused(
            say("There is no scope %(scopes)s; there are %(known)s.", scopes=unknown, known=list(SCOPES))
        )
    if not 1 <= days <= settings.TOKEN_MAX_DAYS:
        raise TokenRefused(say("A token lives for 1 to %(most)s days.", most=settings.TOKEN_MAX_DAYS))
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=name,
            digest=digest_of(secret),
            beginning=secret[: len(PREFIX) + SHOWN_CHARACTERS],
            scopes=wanted,
            pair=pair,
            issued_in=browser,
            expires_at=timezone.now() + timedelta(days=days),
        )
        record(
            None if by else user,
            "token issued",
            f"token {name} of {user.get_username()}",
            address,
            scopes=wanted,
            pair=pair.name if pair is not None else None,
            expires=token.expires_at.isoformat(),
            beginning=token.beginning,
            **({"by": by} if by else {}),
        )
    return token, secret


def revoke(actor: Any, token: ApiToken, address: str | None = None) -> None:
    """Revoke a token for good. Idempotent."""
    with transaction.atomic():
        held = ApiToken.objects.select_for_update(of=("self",)).select_related("user").get(pk=token.pk)
        if held.revoked_at is None:
            held.revoked_at = timezone.now()
            held.save(update_fields=["revoked_at"])
            subject = f"token {held.name} of {held.user.get_username()}"
            record(actor, "token revoked", subject, address, beginning=held.beginning)


def user_of_secret(secret: str) -> tuple[User, ApiToken] | None:
    """Return the owner of ``secret``, limited to what the token allows, and the token; ``None`` when it is invalid.

    A token is invalid when it is unknown, revoked or expired, or when its owner's account is closed.
    """
    token = ApiToken.objects.select_related("user").filter(digest=digest_of(secret)).first()
    if token is None or not token.usable or not token.user.is_active:
        return None
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > USED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    user: Any = token.user
    user.token_limit = Limit.of(token.scopes, token.pair_id)
    user.token_name = token.name  # for the audit log
    return user, token


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a secret, in hexadecimal.
    >>> len(digest_of("hadash_abc"))
    64
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
