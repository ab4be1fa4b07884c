"""The tail of a lost source: the records that the mirror had not copied when its clients were moved without it.

When the source answers again it is closed to writers and asked for its tail. A person reads the report, saves these
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
from hadash.mirroring.rebuild import NotReported, rebuild, tail_of
from hadash.mirroring.services import MirrorError
from hadash.mirroring.standby import deny_writes
from hadash.refusals import Refused
from hadash.sentences import NOTHING, Sentence, say
from hadash.switching.machines.tails import TailEvent
from hadash.switching.models.switches import Switch, log_event
from hadash.switching.models.tails import Tail
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy
from hadash.switching.stages.context import StageContext

log = logging.getLogger(__name__)


# -- when the source is back -------------------------------------------------------------------------------------


def look_for_tails() -> None:
    """Ask every lost source that has not reported its tail yet."""
    waiting = Tail.objects.filter(status=Tail.Status.WAITING).select_related(
        "switch__pair__first", "switch__pair__second", "switch__source"
    )
    for tail in waiting:
        try:
            _look(tail)
        except Exception:  # one failure must not stop the others
            log.exception("the tail of switch %s could not be asked for", tail.switch.key)


def _look(tail: Tail) -> None:
    switch = tail.switch
    topics = _topics_left(tail)
    try:
        # This comes first: clients that find the source back must not write to it.
        denied = deny_writes(switch.pair, switch.source, topics)
        found, gone = _tail_of(tail, topics)
    except KafkaError as error:
        unknown_since = tail.unknown_since or timezone.now() if isinstance(error, TopicsUnknown) else None
        waiting = Tail.objects.filter(pk=tail.pk, status=Tail.Status.WAITING)
        waiting.update(fault=error.sentence, unknown_since=unknown_since)
        return
    with transaction.atomic():
        held = Tail.objects.select_for_update(of=("self",)).get(pk=tail.pk)
        if held.status != Tail.Status.WAITING:
            return
        held.move(TailEvent.REPORT)
        held.fault, held.reported_at = NOTHING, timezone.now()
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
            "report tail",
            switch.subject,
            records=records,
            perhaps_mirrored=unproved,
            partitions=held.found,
            denials=denied,
            gone=list(gone),
        )


def _topics_left(tail: Tail) -> list[str]:
    """The Topics whose mirrors are not rebuilt yet. Of others the lost side holds what is mirrored again, and clients
    may have gone back to them: nobody may be denied there, and nothing there is a tail.
    """
    done = {t for mirror in _mirrors_of(tail.switch) if mirror.name in tail.rebuilt for t in mirror.topics}
    return [topic for topic in tail.switch.the_plan().topics if topic not in done]


def _tail_of(tail: Tail, topics: Collection[str]) -> tuple[dict[Partition, tuple[int, int]], tuple[str, ...]]:
    """(the tail of these Topics, those of them that the source has lost for good).

    :raises TopicsUnknown: the source does not know all Topics, and may only be starting.
    """
    source = tail.switch.source
    points = {p: point for p, point in tail.the_points().items() if p.topic in topics}
    try:
        return tail_of(source, points), ()
    except TopicsUnknown as error:
        since = tail.unknown_since
        if since is None or timezone.now() - since < timedelta(seconds=settings.TAIL_UNKNOWN_SECONDS):
            raise
        return tail_of(source, points, error.topics), error.topics


# -- the decision on it, and the rebuilding ----------------------------------------------------------------------


def may_rebuild(user: User, tail: Tail | None, switch: Switch) -> bool:
    """Whether ``user`` can decide now to rebuild the lost side, as pages offer it."""
    return tail is not None and tail.allows(TailEvent.REBUILD) and may(user, FORCE, switch.pair)


def ask_to_rebuild(
    user: User,
    switch: Switch,
    confirmed: str,
    note: str,
    start: Callable[[Tail], None],
    address: str | None = None,
) -> Tail:
    """Decide to rebuild the lost side: its Topics are deleted, with their tail, and mirrored from the first record
    on.

    :param confirmed: the cluster's name, typed again. :param note: what was done with the tail.
    :param start: called after the commit; it hands the rebuilding to a worker.
    :raises PermissionDenied: the user may not force switches.
    :raises Refused: the tail is not reported yet, or the confirmation or the note is missing. :raises Busy: an open
        switch holds its mirrors.
    """
    if not may(user, FORCE, switch.pair):
        raise PermissionDenied("You may not decide about a lost cluster.")
    name = switch.source.name
    unconfirmed = say("Type %(cluster)s to confirm that its Topics are deleted and made again.", cluster=name)
    confirmations.require(confirmed, name, unconfirmed)
    note = reasons.given(note, say("Say what became of the tail: those who miss these records read it."))
    plan = switch.the_plan()
    with transaction.atomic():
        overlaps.lock()
        held = Tail.objects.select_for_update(of=("self",)).filter(switch=switch).first()
        if held is None:
            raise Refused(say("This switch has left no tail."))
        held.refuse_unless(TailEvent.REBUILD)
        left = set(plan.mirrors) - set(held.rebuilt)
        holder = next((h for h in overlaps.holders(plan.pair) if not left.isdisjoint(h.plan.mirrors)), None)
        if holder is not None:
            raise Busy(holder.sentence)
        held.move(TailEvent.REBUILD)
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


def carry_out(tail: Tail) -> None:
    """Rebuild what was decided on. May be repeated after it was cut off.

    While a server does not answer, each look retries it, for ``TAIL_REBUILD_SECONDS``; a mirror that cannot be created
    needs a person. Nobody uses what is deleted: no switch goes there
    (:func:`hadash.switching.planning.overlaps.not_rebuilt`).
    """
    switch = tail.switch
    if tail.status != Tail.Status.REBUILDING:
        return
    try:
        for mirror in _mirrors_of(switch):
            if mirror.name in tail.rebuilt:
                continue
            rebuild(mirror, switch.source, reported(tail))
            tail.rebuilt = [*tail.rebuilt, mirror.name]
            tail.save(update_fields=["rebuilt"])
    except (KafkaError, ConnectError) as error:
        decided_at = tail.decided_at or timezone.now()
        if timezone.now() - decided_at > timedelta(seconds=settings.TAIL_REBUILD_SECONDS):
            _end(tail, TailEvent.FAIL, error.sentence)
            return
        Tail.objects.filter(pk=tail.pk, status=Tail.Status.REBUILDING).update(fault=error.sentence)
        return
    except NotReported as error:
        _ask_again(tail, error.sentence)
        return
    except MirrorError as error:
        _end(tail, TailEvent.FAIL, error.sentence)
        return
    _end(tail, TailEvent.FINISH, NOTHING)


def reported(tail: Tail) -> dict[Partition, int]:
    """By partition, the offset up to which the lost side's records are known: where the mirror ended, or the end of
    the reported tail.
    """
    mirrored = {p: point.source for p, point in tail.the_points().items()}
    return mirrored | {Partition(topic, p): end for topic, p, _first, end in tail.found}


def perhaps_mirrored(tail: Tail) -> int:
    """How many records of a reported tail the mirror may hold: it has as many by count, but it is not proved that they
    are these.
    """
    counted = StageContext(tail.switch.facts).drained or {}
    return sum(
        max(min(counted[partition].source, end) - first, 0)
        for topic, p, first, end in tail.found
        if (partition := Partition(topic, p)) in counted
    )


def _ask_again(tail: Tail, fault: Sentence) -> None:
    """Ask the lost side again, because more would be deleted than was decided on; a person then decides again."""
    with transaction.atomic():
        held = Tail.objects.select_for_update(of=("self",)).get(pk=tail.pk)
        if held.status != Tail.Status.REBUILDING:
            return
        held.move(TailEvent.ASK_AGAIN)
        held.fault, held.unknown_since = fault, None
        held.save()
        switch = tail.switch
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


def _end(tail: Tail, event: TailEvent, fault: Sentence) -> None:
    with transaction.atomic():
        held = Tail.objects.select_for_update(of=("self",)).get(pk=tail.pk)
        if held.status != Tail.Status.REBUILDING:
            return
        held.move(event)
        held.fault = fault
        held.save()
        switch, name = tail.switch, tail.switch.source.name
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


def shown(tail: Tail) -> list[dict[str, Any]]:
    """The tail as pages and programs show it: partition, first offset, end, records."""
    return [
        {"topic": topic, "partition": partition, "first": first, "end": end, "records": end - first}
        for topic, partition, first, end in tail.found
    ]
