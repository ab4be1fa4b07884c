"""When a switch may begin: within its window, outside its pair's blackouts, and not too long after it was let run."""

from __future__ import annotations

from datetime import UTC, datetime

from django.conf import settings
from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.models.switches import Switch
from hadash.switching.policy import MAX_AHEAD, blackout_now


def utc(at: datetime) -> str:
    """A time for a sentence that people in all time zones read."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def nothing_may_start(pair: Pair) -> Sentence | None:
    """The current blackout, as a sentence; ``None`` if there is none."""
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
    """:raises Refused: no switch can start in this window."""
    if ends <= begins:
        raise Refused(say("The end of the window has to be after its beginning."))
    if ends <= timezone.now():
        raise Refused(say("The window is over already."))
    if begins > timezone.now() + MAX_AHEAD:
        raise Refused(say("That is more than a year ahead: is the date right?"))


def may_begin(switch: Switch) -> Sentence | None:
    """Why a switch that was let run must not begin any more; ``None`` if it may.

    Hours may have passed in between: nothing begins without a worker, or without ZooKeeper.
    """
    now = timezone.now()
    if switch.start_until is not None and switch.start_until < now:
        return say("Its window has passed before it could begin.")
    late = settings.SWITCH_BEGIN_SECONDS
    began = switch.resumed_at or switch.started_at
    if began is not None and (now - began).total_seconds() > late:
        return say(
            "It could not begin within %(seconds)s s: what people agreed to then may be true no more. "
            "Request it again.",
            seconds=late,
        )
    if not switch.the_kind.spec.waits_for_blackouts:
        return None
    return nothing_may_start(switch.pair)
