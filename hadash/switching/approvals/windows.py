"""When a switch may begin: its window, the blackouts of its pair, and how long it may take until it does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hadash.audit.models import record
from hadash.inventory.models import Pair
from hadash.sentences import Sentence, say
from hadash.switching.approvals.policy import MAX_AHEAD, blackout_now
from hadash.switching.machine import FIRST, IN_BLACKOUTS, Event, Status, move
from hadash.switching.models import Switch, log_event, log_once
from hadash.switching.refusals import Refused


def utc(at: datetime) -> str:
    """A time in a sentence, which is read in every time zone."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def nothing_may_start(pair: Pair) -> Sentence | None:
    """The blackout that is in force; ``None`` when there is none."""
    blackout = blackout_now(pair)
    if blackout is None:
        return None
    return say(
        "Nothing of pair %(pair)s may start before %(ends)s: %(reason)s",
        pair=pair,
        ends=utc(blackout.ends),
        reason=blackout.reason,
    )


def refuse_in_blackout(pair: Pair) -> None:
    """:raises Refused: nothing of the pair may start now."""
    sentence = nothing_may_start(pair)
    if sentence is not None:
        raise Refused(sentence)


def check_window(begins: datetime, ends: datetime) -> None:
    """:raises Refused: nothing can start then."""
    if ends <= begins:
        raise Refused(say("The end of the window has to be after its beginning."))
    if ends <= timezone.now():
        raise Refused(say("The window is over already."))
    if begins > timezone.now() + MAX_AHEAD:
        raise Refused(say("That is more than a year ahead: is the date right?"))


def run(held: Switch, start: Callable[[Switch], None]) -> None:
    """Let an approved switch run. ``held`` is locked by the caller."""
    held.status = move(held.current, Event.RUN).value
    held.stage, held.started_at = FIRST.value, timezone.now()
    held.save()
    transaction.on_commit(lambda: start(held))


def start_due(start: Callable[[Switch], None]) -> int:
    """Start the approved switches whose window has come, and drop those whose window has passed; how many started.

    A switch that was missed is never run late: what was true when people agreed to it may be true no more.
    """
    count = 0
    now = timezone.now()
    for switch in Switch.objects.filter(status=Status.APPROVED.value, start_at__lte=now).select_related(
        "pair"
    ):
        try:
            with transaction.atomic():
                held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
                if held.current is not Status.APPROVED:
                    continue  # somebody was faster
                if held.start_until is not None and held.start_until < timezone.now():
                    _drop(held, say("Its window has passed, and it was not started: it is dropped."))
                    continue
                if held.the_kind not in IN_BLACKOUTS:
                    refuse_in_blackout(held.pair)
                log_event(held, say("Its window has come."))
                run(held, start)
                record(None, "start", held.subject)
                count += 1
        except Refused as refused:
            log_once(switch, refused.reasons[0])
    return count


def may_begin(switch: Switch) -> Sentence | None:
    """Why a switch that was let run must not begin any more; ``None`` when it may.

    Between the two there may be hours: without a worker, or without ZooKeeper, nothing begins.
    """
    now = timezone.now()
    if switch.start_until is not None and switch.start_until < now:
        return say("Its window has passed before it could begin.")
    late = settings.SWITCH_BEGIN_SECONDS
    began = switch.go_at or switch.started_at
    if began is not None and (now - began).total_seconds() > late:
        return say(
            "It could not begin within %(seconds)s s: what people agreed to then may be true no more. Request it anew.",
            seconds=late,
        )
    if switch.the_kind in IN_BLACKOUTS:
        return None
    return nothing_may_start(switch.pair)


def _drop(held: Switch, sentence: Sentence) -> None:
    held.status = move(held.current, Event.EXPIRE).value
    held.ended_at, held.outcome = timezone.now(), sentence.to_json()
    held.save()
    log_event(held, sentence)
    record(None, "expire", held.subject, outcome=str(sentence))


def drop_waiting() -> int:
    """End the switches for which nobody said go in time; how many. Nothing was changed for them."""
    before = timezone.now() - timedelta(seconds=settings.SWITCH_GO_SECONDS)
    count = 0
    for switch in Switch.objects.filter(status=Status.PAUSED.value, paused_at__lt=before):
        with transaction.atomic():
            held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
            if held.current is Status.PAUSED:  # else somebody said go in this moment
                _drop(held, say("Nobody said go in time. Nothing was changed."))
                count += 1
    return count


def expire_requests() -> int:
    """End the requests that nobody decided on in time; how many."""
    count = 0
    for switch in Switch.objects.filter(status=Status.AWAITING_APPROVAL.value, expires_at__lt=timezone.now()):
        with transaction.atomic():
            held = Switch.objects.select_for_update(of=("self",)).get(pk=switch.pk)
            if held.current is Status.AWAITING_APPROVAL:  # else somebody decided in this moment
                _drop(held, say("Nobody decided in time: the request has expired."))
                count += 1
    return count
