"""Write an approved change to ZooKeeper. Idempotent: it may be killed anywhere and called again."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from hadash.audit.models import record, stored
from hadash.bindings.dialect import Dialect
from hadash.bindings.editing import BY_HAND_STAGE
from hadash.bindings.errors import (
    BindingConflict,
    BindingError,
    StaleWriter,
    StoreUnavailable,
    UnknownOutcome,
)
from hadash.bindings.model import Binding, BindingDocument, Journal
from hadash.bindings.store import Edit
from hadash.changes import Event, Status
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import AppID
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.binding_changes.requests import look_at
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.handovers import Way
from hadash.telemetry import ids

log = logging.getLogger(__name__)

#: The stage in the journal, and in the bindings that are written.
STAGE = BY_HAND_STAGE


#: Seconds for a worker to take a change before beat picks it up: a free worker needs some hundredths.
TAKE_SECONDS = 1.0


def waiting() -> list[int]:
    """Keys of approved rows that are not written: no worker took them, or a worker or ZooKeeper was lost."""
    approved = BindingChange.objects.filter(status=Status.APPROVED.value)
    late = timezone.now() - timedelta(seconds=TAKE_SECONDS)
    return list(approved.filter(Q(token__gt=0) | Q(decided_at__lt=late)).values_list("pk", flat=True))


def why_waiting(pk: int) -> Way:
    """Why beat has to pick a change up. (Each worker that takes it increments its token.)"""
    taken = BindingChange.objects.filter(pk=pk, token__gt=0).exists()
    return Way.RETRIED if taken else Way.NEVER_TAKEN


def apply(pk: int) -> None:
    """Write an approved change once, and wait until the engines have put it into effect.

    The journal, which is part of the same transaction, says whether it was written: after a lost answer it is not
    written twice. No other process touches the bindings meanwhile, because an overlapping switch is refused
    (:func:`hadash.switching.requests.submit`).
    """
    if not BindingChange.objects.filter(pk=pk, status=Status.APPROVED.value).update(token=F("token") + 1):
        return  # another worker has done it
    change = BindingChange.objects.select_related("pair__first", "pair__second", "pair__default").get(pk=pk)
    with ids.bound(change=change.key):
        _apply(change)


def _apply(change: BindingChange) -> None:
    try:
        dialect = dialect_of(change.pair)
        epoch = _write(change, dialect)
    except StaleWriter as error:
        log.warning("change %s: %s", change.key, error)
        return
    except (StoreUnavailable, UnknownOutcome, BindingConflict) as error:
        log.warning("change %s could not be written, and is tried again: %s", change.key, error)
        said = [say("%(error)s It is tried again.", error=error).to_json()]
        BindingChange.objects.filter(pk=change.pk, status=Status.APPROVED.value).update(outcome=said)
        return
    except BindingError as error:
        _fail(change, say("%(error)s", error=error))
        return
    if epoch is not None:
        _say(change, _in_effect(dialect, epoch))


def _write(change: BindingChange, dialect: Dialect) -> int | None:
    """Write the change, and return its epoch; ``None`` if it cannot be made any more. The row says which."""
    dialect.take_over(change.key, STAGE, change.token)
    journal = dialect.journal(change.key)
    written = journal is not None and journal.epoch > 0
    if not written and _late(change):
        _fail(change, say("It could not be written in time, and what people agreed to may be true no more."))
        return None
    document = dialect.document(change.appid)
    if not written:
        against = _against(change, dialect, document)
        if against:
            _fail(change, *against)
            return None
        before = {i.key: _shown(document.binding_of(i)) for i in change.the_edits}
        BindingChange.objects.filter(pk=change.pk).update(before=before)
    edits = [
        Edit(identity, _bound(change, cluster), stays=True)
        for identity, cluster in change.the_edits.items()
        # When it was written before, write again only identities that are still bound so, which completes an engine's
        # copy: a binding that somebody has changed since is newer.
        if not written or _stands(change, cluster, document.binding_of(identity))
    ]
    if edits:
        epoch = dialect.change(edits, Journal(change.key, STAGE, change.token), seen=[document])
        document = dialect.document(change.appid)
    else:
        assert journal is not None
        epoch = journal.epoch
    _applied(change, epoch, document)
    return epoch


def _stands(change: BindingChange, cluster: str | None, held: Binding | None) -> bool:
    """Whether an identity is still bound as this change bound it."""
    if held is None or cluster is None:
        return held is None and cluster is None
    return held.switch == change.key


def _late(change: BindingChange) -> bool:
    """Whether its approval is so old that a switch would not begin any more."""
    late = timezone.now() - timedelta(seconds=settings.SWITCH_BEGIN_SECONDS)
    return change.decided_at is not None and change.decided_at < late


def _bound(change: BindingChange, cluster: str | None) -> Binding | None:
    return None if cluster is None else Binding(cluster, switch=change.key, stage=STAGE)


def _against(change: BindingChange, dialect: Dialect, document: BindingDocument) -> list[Sentence]:
    """Why it must not be written any more: what people agreed to is no longer true."""
    appid = AppID.objects.select_related("pair__default").filter(pair=change.pair, name=change.appid).first()
    if appid is None:
        return [say("AppID %(appid)s does not exist any more.", appid=change.appid)]
    found = look_at(appid, change.wanted, dialect, document)
    if found.blockers or found.edits != change.the_edits:
        return [
            say("What is bound or used has changed since the approval. Nothing was changed."),
            *found.blockers,
        ]
    return []


def _applied(change: BindingChange, epoch: int, document: BindingDocument) -> None:
    with transaction.atomic():
        try:
            held = change.locked_and_moved(Event.APPLY)
        except Refused:
            return  # another worker has noted it
        held.epoch = epoch
        held.ended_at = timezone.now()
        held.conclude(say("Written with epoch %(epoch)s.", epoch=epoch))
        held.save()
        after = {identity.key: _shown(document.binding_of(identity)) for identity in held.the_edits}
        record(None, "bindings changed", held.subject, before=held.before, after=stored(after), epoch=epoch)


def _fail(change: BindingChange, *reasons: Sentence) -> None:
    log.warning("change %s is not made: %s", change.key, " ".join(map(str, reasons)))
    with transaction.atomic():
        try:
            held = change.locked_and_moved(Event.FAIL)
        except Refused:
            return
        held.ended_at = timezone.now()
        held.conclude(*reasons)
        held.save()
        record(None, "bindings not changed", held.subject, reasons=list(map(str, reasons)))


def _in_effect(dialect: Dialect, epoch: int) -> Sentence:
    """Wait for the engines, and return the result."""
    seconds = settings.BINDING_APPLY_SECONDS
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = dialect.waiting_for(epoch)
        except BindingError as error:
            return say(
                "Written with epoch %(epoch)s. Whether it is in effect is not known: %(error)s",
                epoch=epoch,
                error=error,
            )
        if not found.late:
            return say("In effect since epoch %(epoch)s. Nobody has moved.", epoch=epoch)
        if time.monotonic() > deadline:
            return say(
                "Written with epoch %(epoch)s. After %(seconds)s s it is not in effect yet at %(late)s: look at "
                "the Gateways.",
                epoch=epoch,
                seconds=f"{seconds:g}",
                late=found.late,
            )
        time.sleep(settings.SWITCH_POLL_SECONDS)


def _say(change: BindingChange, sentence: Sentence) -> None:
    BindingChange.objects.filter(pk=change.pk).update(outcome=[sentence.to_json()])


def _shown(binding: Binding | None) -> dict[str, object] | None:
    return None if binding is None else binding.to_json()
