"""Unreplicated records of a lost source: those that the mirror had not copied when its clients were moved without it.

When the source answers again it is closed to writers and asked for them. A person reads the report, saves these
records (or not), and has the other side rebuilt; until then that side is no standby.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash import confirmations
from hadash.accounts.roles import FORCE, may
from hadash.audit import reasons
from hadash.audit.models import record
from hadash.kafka.errors import ConnectError, KafkaError, TopicsUnknown
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror
from hadash.mirroring.rebuild import NotReported, rebuild, unreplicated_of
from hadash.mirroring.services import MirrorError
from hadash.mirroring.standby import deny_writes
from hadash.refusals import Refused
from hadash.sentences import NOTHING, Sentence, say
from hadash.switching.machines.unreplicated import UnreplicatedEvent
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy
from hadash.switching.stages.context import StageContext

log = logging.getLogger(__name__)


# -- when the source is back -------------------------------------------------------------------------------------


def look_for_unreplicated() -> None:
    """Ask every lost source that has not reported them yet."""
    waiting = Unreplicated.objects.filter(status=Unreplicated.Status.WAITING).select_related(
        "switch__pair__first", "switch__pair__second", "switch__source"
    )
    for unreplicated in waiting:
        try:
            _look(unreplicated)
        except Exception:  # one failure must not stop the others
            log.exception(
                "the unreplicated records of switch %s could not be asked for", unreplicated.switch.key
            )


def _look(unreplicated: Unreplicated) -> None:
    switch = unreplicated.switch
    topics = _topics_left(unreplicated)
    try:
        # This comes first: clients that find the source back must not write to it.
        denied = deny_writes(switch.pair, switch.source, topics)
        found, gone = _unreplicated_of(unreplicated, topics)
    except KafkaError as error:
        unknown_since = (
            unreplicated.unknown_since or timezone.now() if isinstance(error, TopicsUnknown) else None
        )
        waiting = Unreplicated.objects.filter(pk=unreplicated.pk, status=Unreplicated.Status.WAITING)
        waiting.update(fault=error.sentence, unknown_since=unknown_since)
        return
    with transaction.atomic():
        held = Unreplicated.objects.select_for_update(of=("self",)).get(pk=unreplicated.pk)
        if held.status != Unreplicated.Status.WAITING:
            return
        held.move(UnreplicatedEvent.REPORT)
        held.fault, held.reported_at = NOTHING, timezone.now()
        held.deleted += sum(end - first for topic, _p, first, end in held.found if topic not in topics)
        held.gone = sorted({*held.gone, *gone})
        held.found = [[p.topic, p.partition, first, end] for p, (first, end) in found.items()]
        held.save()
        records = held.records
        sentence = say(
            "%(source)s is back. It holds %(records)s records that were not mirrored; nobody can write to it.",
            source=switch.source.name,
            records=records,
        )
        log_event(switch, sentence)
        unproved = perhaps_mirrored(held)
        if unproved:
            log_event(
                switch,
                say(
                    "Up to %(records)s of them may have been mirrored: that they were is not proved.",
                    records=unproved,
                ),
            )
        if gone:
            log_event(
                switch,
                say(
                    "%(topics)s do not exist on %(source)s any more: what was not mirrored of them is lost.",
                    topics=list(gone),
                    source=switch.source.name,
                ),
            )
        record(
            None,
            "report unreplicated",
            switch.subject,
            records=records,
            perhaps_mirrored=unproved,
            partitions=held.found,
            denials=denied,
            gone=list(gone),
        )


def _topics_left(unreplicated: Unreplicated) -> list[str]:
    """The Topics whose mirrors are not rebuilt yet. Of others the lost side holds what is mirrored again, and clients
    may have gone back to them: nobody may be denied there, and nothing there is missing elsewhere.
    """
    done = {
        t
        for mirror in _mirrors_of(unreplicated.switch)
        if mirror.name in unreplicated.rebuilt
        for t in mirror.topics
    }
    return [topic for topic in unreplicated.switch.the_plan().topics if topic not in done]


def _unreplicated_of(
    unreplicated: Unreplicated, topics: Collection[str]
) -> tuple[dict[Partition, tuple[int, int]], tuple[str, ...]]:
    """(the unreplicated records of these Topics, those of them that the source has lost for good).

    :raises TopicsUnknown: the source does not know all Topics, and may only be starting.
    """
    source = unreplicated.switch.source
    points = {p: point for p, point in unreplicated.the_points().items() if p.topic in topics}
    try:
        return unreplicated_of(source, points), ()
    except TopicsUnknown as error:
        since = unreplicated.unknown_since
        if since is None or timezone.now() - since < timedelta(seconds=settings.UNREPLICATED_UNKNOWN_SECONDS):
            raise
        return unreplicated_of(source, points, error.topics), error.topics


# -- the decision on it, and the rebuilding ----------------------------------------------------------------------


def may_rebuild(user: User, unreplicated: Unreplicated | None, switch: Switch) -> bool:
    """Whether ``user`` can decide now to rebuild the lost side, as pages offer it."""
    return (
        unreplicated is not None
        and unreplicated.allows(UnreplicatedEvent.REBUILD)
        and may(user, FORCE, switch.pair)
    )


def ask_to_rebuild(
    user: User,
    switch: Switch,
    confirmed: str,
    note: str,
    start: Callable[[Unreplicated], None],
    address: str | None = None,
) -> Unreplicated:
    """Decide to rebuild the lost side: its Topics are deleted, with these records, and mirrored from the first record
    on.

    :param confirmed: the cluster's name, typed again. :param note: what became of these records.
    :param start: called after the commit; it hands the rebuilding to a worker.
    :raises PermissionDenied: the user may not force switches.
    :raises Refused: they are not reported yet, or the confirmation or the note is missing. :raises Busy: an open
        switch holds its mirrors.
    """
    if not may(user, FORCE, switch.pair):
        raise PermissionDenied("You may not decide about a lost cluster.")
    name = switch.source.name
    unconfirmed = say("Type %(cluster)s to confirm that its Topics are deleted and made again.", cluster=name)
    confirmations.require(confirmed, name, unconfirmed)
    note = reasons.given(note, say("Say what became of these records: those who miss them read it."))
    plan = switch.the_plan()
    with transaction.atomic():
        overlaps.lock()
        held = Unreplicated.objects.select_for_update(of=("self",)).filter(switch=switch).first()
        if held is None:
            raise Refused(say("This switch has left no unreplicated records."))
        held.refuse_unless(UnreplicatedEvent.REBUILD)
        left = set(plan.mirrors) - set(held.rebuilt)
        holder = next((h for h in overlaps.holders(plan.pair) if not left.isdisjoint(h.plan.mirrors)), None)
        if holder is not None:
            raise Busy(holder.sentence)
        held.move(UnreplicatedEvent.REBUILD)
        held.fault = NOTHING
        held.decided_by, held.decided_at, held.note = user, timezone.now(), note
        held.save()
        sentence = say(
            "%(user)s has %(source)s rebuilt: %(note)s",
            user=user.get_username(),
            source=name,
            note=held.note,
        )
        log_event(switch, sentence, actor=user)
        record(user, "rebuild", switch.subject, address, records=held.records, note=held.note)
        transaction.on_commit(lambda: start(held))
    return held


def carry_out(unreplicated: Unreplicated) -> None:
    """Rebuild what was decided on. May be repeated after it was cut off.

    While a server does not answer, each look retries it, for ``UNREPLICATED_REBUILD_SECONDS``; a mirror that cannot be
    created needs a person. Nobody uses what is deleted: no switch goes there
    (:func:`hadash.switching.planning.overlaps.not_rebuilt`).
    """
    switch = unreplicated.switch
    if unreplicated.status != Unreplicated.Status.REBUILDING:
        return
    try:
        for mirror in _mirrors_of(switch):
            if mirror.name in unreplicated.rebuilt:
                continue
            rebuild(mirror, switch.source, reported(unreplicated))
            unreplicated.rebuilt = [*unreplicated.rebuilt, mirror.name]
            unreplicated.save(update_fields=["rebuilt"])
    except (KafkaError, ConnectError) as error:
        decided_at = unreplicated.decided_at or timezone.now()
        if timezone.now() - decided_at > timedelta(seconds=settings.UNREPLICATED_REBUILD_SECONDS):
            _end(unreplicated, UnreplicatedEvent.FAIL, error.sentence)
            return
        Unreplicated.objects.filter(pk=unreplicated.pk, status=Unreplicated.Status.REBUILDING).update(
            fault=error.sentence
        )
        return
    except NotReported as error:
        _ask_again(unreplicated, error.sentence)
        return
    except MirrorError as error:
        _end(unreplicated, UnreplicatedEvent.FAIL, error.sentence)
        return
    _end(unreplicated, UnreplicatedEvent.FINISH, NOTHING)


def reported(unreplicated: Unreplicated) -> dict[Partition, int]:
    """By partition, the offset up to which the lost side's records are known: where the mirror ended, or the end of
    the reported records.
    """
    mirrored = {p: point.source for p, point in unreplicated.the_points().items()}
    return mirrored | {Partition(topic, p): end for topic, p, _first, end in unreplicated.found}


def perhaps_mirrored(unreplicated: Unreplicated) -> int:
    """How many records of those reported the mirror may hold: it has as many by count, but it is not proved that they
    are these.
    """
    counted = StageContext(unreplicated.switch.facts).drained or {}
    return sum(
        max(min(counted[partition].source, end) - first, 0)
        for topic, p, first, end in unreplicated.found
        if (partition := Partition(topic, p)) in counted
    )


def _ask_again(unreplicated: Unreplicated, fault: Sentence) -> None:
    """Ask the lost side again, because more would be deleted than was decided on; a person then decides again."""
    with transaction.atomic():
        held = Unreplicated.objects.select_for_update(of=("self",)).get(pk=unreplicated.pk)
        if held.status != Unreplicated.Status.REBUILDING:
            return
        held.move(UnreplicatedEvent.ASK_AGAIN)
        held.fault, held.unknown_since = fault, None
        held.save()
        switch = unreplicated.switch
        log_event(
            switch,
            say(
                "%(source)s is not rebuilt: %(fault)s It is asked again for what it holds, and somebody has to "
                "decide again.",
                source=switch.source.name,
                fault=fault,
            ),
        )
        record(None, "rebuild refused", switch.subject, fault=str(fault))


def _mirrors_of(switch: Switch) -> list[Mirror]:
    found = Mirror.objects.filter(pair=switch.pair, name__in=switch.the_plan().mirrors)
    return list(found.select_related("source", "pair__first", "pair__second"))


def _end(unreplicated: Unreplicated, event: UnreplicatedEvent, fault: Sentence) -> None:
    with transaction.atomic():
        held = Unreplicated.objects.select_for_update(of=("self",)).get(pk=unreplicated.pk)
        if held.status != Unreplicated.Status.REBUILDING:
            return
        held.move(event)
        held.fault = fault
        held.save()
        switch, name = unreplicated.switch, unreplicated.switch.source.name
        if fault:
            log_event(switch, say("%(source)s could not be rebuilt: %(fault)s", source=name, fault=fault))
        else:
            log_event(switch, say("%(source)s is rebuilt and mirrored again.", source=name))
        record(None, "rebuilt" if not fault else "rebuild failed", switch.subject, fault=str(fault))


def loss_of(switch: Switch) -> dict[str, Any] | None:
    """The known loss of a forced switch: ``records`` that its source was seen to hold and the target had not, and
    how many seconds before the assessment it was ``seen``; ``None`` before the assessment, and for every other
    kind.
    """
    loss = StageContext(switch.facts).loss
    return None if loss is None else {"records": sum(loss.records.values()), "seen": loss.seen_seconds_ago}


def shown(unreplicated: Unreplicated) -> list[dict[str, Any]]:
    """Unreplicated records as pages and programs show it: partition, first offset, end, records."""
    return [
        {"topic": topic, "partition": partition, "first": first, "end": end, "records": end - first}
        for topic, partition, first, end in unreplicated.found
    ]
