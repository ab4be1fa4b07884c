"""Save and discard drafts of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hadash.accounts.roles import REQUEST, may, on_pairs
from hadash.inventory.models import AppID, Pair
from hadash.radius.scope import ScopeKind
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.models.drafts import RequestDraft

#: The fields of the request form that are stored. Not among them: the plan that was shown, which is computed again,
#: and the name that is typed to confirm what cannot wait.
FIELDS = (
    "scope",
    "instance",
    "topics",
    "roots",
    "dimension",
    "widen",
    "target",
    "reason",
    "kind_of_switch",
    "restores",
    "retire_after_days",
    "pause_after_precheck",
    "start",
    "start_at",
    "start_until",
)


#: Scopes for which the requester chooses the direction.
_WAY_CHOSEN = (ScopeKind.PAIR, ScopeKind.SEVERAL)


def drafts_of(user: User) -> QuerySet[RequestDraft]:
    """The user's own drafts, the newest first, without those of pairs that the user may not see any more."""
    found = RequestDraft.objects.filter(on_pairs(user), owner=user)
    return found.select_related("pair__first", "pair__second", "pair__default", "appid__pair")


def save(
    user: User,
    pair: Pair,
    appid: AppID | None,
    fields: Mapping[str, Any],
    draft: RequestDraft | None = None,
) -> RequestDraft:
    """Store what was typed so far, however incomplete; ``draft`` is overwritten if it is given.

    :raises PermissionDenied: the user may not request. :raises Refused: it is too long, or one draft too many.
    """
    if not may(user, REQUEST, pair):
        raise PermissionDenied("You may not request switches.")
    kept = {name: str(fields[name]).replace("\0", "") for name in FIELDS if fields.get(name)}
    if kept.get("scope") not in _WAY_CHOSEN and "restores" not in kept:
        kept.pop(
            "target", None
        )  # the page proposed it: the other side than the clients' cluster at that time
    if sum(map(len, kept.values())) > settings.DRAFT_MAX_CHARACTERS:
        raise Refused(
            say(
                "A draft has %(most)s characters at most. Name fewer Topics, or say less.",
                most=settings.DRAFT_MAX_CHARACTERS,
            )
        )
    with transaction.atomic():
        # Two drafts that are saved at once must not both be the last one allowed.
        User.objects.select_for_update().get(pk=user.pk)
        own = RequestDraft.objects.filter(owner=user)
        kept_already = draft is not None and own.filter(pk=draft.pk).exists()
        if not kept_already and drafts_of(user).count() >= settings.DRAFTS_PER_USER:
            raise Refused(
                say(
                    "You have as many drafts as one person keeps: %(most)s. Discard one of them first.",
                    most=settings.DRAFTS_PER_USER,
                )
            )
        values = {"pair": pair, "appid": appid, "fields": kept, "saved_at": timezone.now()}
        # (A draft that was discarded a moment ago is created again.)
        if draft is not None and own.filter(pk=draft.pk).update(**values):
            return drafts_of(user).get(pk=draft.pk)
        return RequestDraft.objects.create(owner=user, **values)


def discard(draft: RequestDraft) -> None:
    """Delete a draft, because it is not needed or was submitted. Idempotent."""
    RequestDraft.objects.filter(pk=draft.pk).delete()
