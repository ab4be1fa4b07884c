"""The checks of a request, made while a person waits for the answer; a precheck makes them again."""

from __future__ import annotations

import time
from typing import Any, TypeVar

from django.conf import settings

from hadash.inventory.gateways import GatewaySilent
from hadash.inventory.models import Pair
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.check_times import CheckTimes
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.plan import Plan
from hadash.switching.policy import limits_of
from hadash.switching.refusals import EnginesAway
from hadash.switching.server_errors import SERVER_ERRORS
from hadash.switching.stages import failover
from hadash.switching.stages.command import Command
from hadash.switching.stages.context import StageContext
from hadash.switching.stages.precheck import preflight
from hadash.switching.stages.run import StageFailed

R = TypeVar("R")


def check_now(plan: Plan) -> None:
    """Run the read-only checks of the precheck.

    :raises Refused: the first check that fails. :raises EnginesAway: a server or a Gateway does not answer, or not
        all of them have answered within ``SWITCH_CHECK_SECONDS``.
    """
    deadline = time.monotonic() + settings.SWITCH_CHECK_SECONDS
    check = failover.preflight if plan.kind.spec.source_lost else preflight
    run = check(plan, limits_of(Pair.objects.get(name=plan.pair)))
    try:
        handler = _TimedHandler(plan)
        answer: Any = None
        while True:
            command = run.send(answer)
            if time.monotonic() > deadline:
                raise EnginesAway(_too_slow(handler.times))
            answer = handler.carry_out(command)
    except StopIteration:
        return
    except StageFailed as failure:
        raise Refused(failure.sentence) from None
    except GatewaySilent as error:
        raise EnginesAway(say("%(error)s Ask again when it answers.", error=error)) from None
    except SERVER_ERRORS as error:
        raise EnginesAway(say("%(error)s", error=error)) from None


class _TimedHandler(CommandHandler):
    """Carries out checks, of which nothing is written down but how long each kind of answer took."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, None, StageContext(), lambda sentence: None)
        self.times = CheckTimes()

    def carry_out(self, command: Command[R]) -> R:
        with self.times.of(command):
            return super().carry_out(command)


def _too_slow(times: CheckTimes) -> Sentence:
    limit = settings.SWITCH_CHECK_SECONDS
    slowest = times.slowest()
    if not slowest:
        return say(
            "The checks had not begun after %(seconds)s s: this server is busy. Ask again.", seconds=limit
        )
    return say(
        "The checks had not ended after %(seconds)s s. What took longest: %(slowest)s. Ask again.",
        seconds=limit,
        slowest=slowest,
    )
