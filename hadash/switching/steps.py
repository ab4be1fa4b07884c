"""Steps that several stages take. Pure; see ``stages.py``."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from hadash.sentences import say
from hadash.switching import commands as do
from hadash.switching.plan import Plan
from hadash.switching.stage_run import StageFailed


def in_effect(epoch: int, seconds: float, poll: float) -> Generator[do.Command, Any, None]:
    """Wait until every engine has put ``epoch`` into effect: nothing of before it is in flight."""
    return _everywhere(do.ReadWaiting(epoch), epoch, seconds, poll)


def obeyed(epoch: int, seconds: float, poll: float) -> Generator[do.Command, Any, None]:
    """Wait until every engine obeys ``epoch``, whatever of before it is still in flight to a cluster that is lost."""
    return _everywhere(do.ReadNotTold(epoch), epoch, seconds, poll)


def _everywhere(
    question: do.ReadWaiting | do.ReadNotTold, epoch: int, seconds: float, poll: float
) -> Generator[do.Command, Any, None]:
    began = yield do.Pause(0)
    told = False
    while True:
        waiting = yield question
        if not waiting.late:
            return
        elapsed = (yield do.Pause(poll)) - began
        sentence = say(
            "Waiting for %(gateways)s to apply epoch %(epoch)s (%(done)s of %(all)s have).",
            gateways=waiting.late,
            epoch=epoch,
            done=waiting.engines - len(waiting.late),
            all=waiting.engines,
        )
        if elapsed > seconds:
            raise StageFailed(
                say(
                    "%(gateways)s did not put epoch %(epoch)s into effect within %(seconds)s s.",
                    gateways=waiting.late,
                    epoch=epoch,
                    seconds=seconds,
                )
            )
        if elapsed > 1 and not told:
            told = True
            yield do.Say(sentence)


def heard(plan: Plan, seconds: float, poll: float) -> Generator[do.Command, Any, None]:
    """Wait until every leader on the target knows what the AppIDs may do there. Whom one of them refuses does not try again."""
    began = yield do.Pause(0)
    told = False
    while late := (yield do.ReadLateBrokers(plan.target)):
        elapsed = (yield do.Pause(poll)) - began
        if elapsed > seconds:
            raise StageFailed(
                say(
                    "Broker %(brokers)s of %(cluster)s has not heard within %(seconds)s s who may write there. "
                    "Is its connection to ZooKeeper, or to its controller, whole?",
                    brokers=late,
                    cluster=plan.target,
                    seconds=seconds,
                )
            )
        if elapsed > 1 and not told:
            told = True
            yield do.Say(
                say(
                    "Waiting for broker %(brokers)s of %(cluster)s to hear who may write there.",
                    brokers=late,
                    cluster=plan.target,
                )
            )
