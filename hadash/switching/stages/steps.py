"""Steps that several stages share. Pure; see ``ways.py``."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.run import StageFailed
from hadash.switching.stages.waiting import NotYet, wait_until


def in_effect(epoch: int, seconds: float, poll: float) -> Step[None]:
    """Wait until every engine has put ``epoch`` into effect: no earlier request is in flight any more."""
    return _everywhere(do.ReadWaiting(epoch), epoch, seconds, poll)


def obeyed(epoch: int, seconds: float, poll: float) -> Step[None]:
    """Wait until every engine obeys ``epoch``, even if earlier requests are still in flight to a lost cluster."""
    return _everywhere(do.ReadNotTold(epoch), epoch, seconds, poll)


def _everywhere(
    question: do.ReadWaiting | do.ReadNotTold, epoch: int, seconds: float, poll: float
) -> Step[None]:
    def look() -> Step[NotYet | None]:
        waiting = yield from ask(question)
        if not waiting.late:
            return None
        if waiting.excluded:
            fault = excluded_and_running(waiting.excluded)
        else:
            fault = say(
                "%(gateways)s did not put epoch %(epoch)s into effect within %(seconds)s s.",
                gateways=waiting.late,
                epoch=epoch,
                seconds=seconds,
            )
        meanwhile = say(
            "Waiting for %(gateways)s to apply epoch %(epoch)s (%(done)s of %(all)s have).",
            gateways=waiting.late,
            epoch=epoch,
            done=waiting.engines - len(waiting.late),
            all=waiting.engines,
        )
        return NotYet(fault, meanwhile)

    yield from wait_until(look, seconds, poll)


def excluded_and_running(gateways: Sequence[str]) -> Sentence:
    """The fault that excluded Gateways are running, and what to do about it."""
    return say(
        "Gateway %(gateways)s is excluded, but it runs and may serve clients. Let switches wait for it again (on the "
        "overview), or stop it.",
        gateways=list(gateways),
    )


#: Seconds between two looks for clients that may come back: nobody is held up meanwhile.
RETURN_POLL_SECONDS = 1.0


def await_returning_clients(seconds: float) -> Step[None]:
    """Wait, before any client is held up, until the clients of Gateways that are gone had time to come back: what they
    resend may already be on the source, and would be on the target twice.
    """

    def look() -> Step[NotYet | None]:
        expected = yield from ask(do.ReadExpectedBack())
        if not expected:
            return None
        left = math.ceil(max(each.seconds for each in expected))
        gateways = sorted({each.gateway for each in expected})
        fault = say(
            "For %(waited)s s Gateways have gone (%(gateways)s) whose clients may send again what was not answered. "
            "Ask for the switch again in %(seconds)s s.",
            waited=round(seconds),
            gateways=gateways,
            seconds=left,
        )
        meanwhile = say(
            "Waiting %(seconds)s s for clients of Gateway %(gateways)s, which has gone, to come back.",
            seconds=left,
            gateways=gateways,
        )
        return NotYet(fault, meanwhile)

    yield from wait_until(look, seconds, RETURN_POLL_SECONDS, tell_after=0.0)


def check_no_returning_clients() -> Step[None]:
    """Check, with the block in effect, that no Gateway has gone since :func:`await_returning_clients`. The block would
    hold what its clients resend, and forward would send it to the target.
    """
    expected = yield from ask(do.ReadExpectedBack())
    if expected:
        raise StageFailed(
            say(
                "Gateway %(gateways)s has gone since the switch began, and its clients may send again what it "
                "had not answered. "
                "Ask for the switch again in %(seconds)s s.",
                gateways=sorted({each.gateway for each in expected}),
                seconds=math.ceil(max(each.seconds for each in expected)),
            )
        )


def await_brokers_know_acls(plan: Plan, seconds: float, poll: float) -> Step[None]:
    """Wait until every leader on the target knows the AppIDs' ACLs there. A client that a broker refuses does not
    retry.
    """

    def look() -> Step[NotYet | None]:
        late = yield from ask(do.ReadLateBrokers(plan.target))
        if not late:
            return None
        fault = say(
            "Broker %(brokers)s of %(cluster)s has not heard within %(seconds)s s who may write there. "
            "Is its connection to ZooKeeper, or to its controller, whole?",
            brokers=late,
            cluster=plan.target,
            seconds=seconds,
        )
        meanwhile = say(
            "Waiting for broker %(brokers)s of %(cluster)s to hear who may write there.",
            brokers=late,
            cluster=plan.target,
        )
        return NotYet(fault, meanwhile)

    yield from wait_until(look, seconds, poll)


def still_lacks(records: int, seconds: float) -> NotYet:
    """The mirror is ``records`` records behind."""
    return NotYet(
        say(
            "The mirror still lacks %(records)s records after %(seconds)s s.",
            records=records,
            seconds=seconds,
        ),
        say("Waiting for the mirror: %(records)s records to go.", records=records),
    )


def ends_with_syncs(plan: Plan) -> Step[tuple[dict[Partition, int], dict[Partition, OffsetSync]]]:
    """Return where the source ends now, and for each of these partitions corresponding offsets of both sides.

    :raises StageFailed: they are not known of a partition.
    """
    syncs = yield from ask(do.ReadOffsetSyncs())
    ends = yield from ask(do.ReadEnds(plan.source))
    unknown = sorted(set(ends) - set(syncs))
    if unknown:
        raise StageFailed(
            say(
                "Of %(partitions)s it is not known which records of both sides correspond.",
                partitions=unknown,
            )
        )
    return ends, syncs
