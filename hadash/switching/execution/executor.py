"""Run one stage of one switch: take it over, carry it out, store the result, and choose what comes next.

There is one executor at a time: it holds the newest token, in the database and in the switch's journal in ZooKeeper.
A slower one that still believes to be the executor fails at its next write.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, NamedTuple

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from hadash.audit.models import stored
from hadash.bindings.errors import (
    AlreadyForwarded,
    BindingError,
    StaleWriter,
    StoreUnavailable,
    UnknownOutcome,
)
from hadash.bindings.model import Journal
from hadash.inventory.dialects import dialect_of
from hadash.sentences import Sentence, say
from hadash.switching.approvals.windows import may_begin
from hadash.switching.execution import ending
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.execution.effect_log import audited
from hadash.switching.execution.journal import read_back
from hadash.switching.execution.leases import Renewal, newest_in_zookeeper, release, take
from hadash.switching.execution.pauses import keep_pauses
from hadash.switching.execution.stage_audit import record_stages
from hadash.switching.execution.traffic import keep_traffic
from hadash.switching.machines.switches import (
    ABORTABLE,
    HOLDING,
    STAGES,
    Event,
    Stage,
    Status,
    after_failure,
    after_success,
)
from hadash.switching.models.switches import StageRecord, Switch, log_event, log_once
from hadash.switching.plan import Plan
from hadash.switching.policy import limits_of
from hadash.switching.server_errors import SERVER_ERRORS
from hadash.switching.stages.command import Command, Together
from hadash.switching.stages.commands import Pause, WriteBindings
from hadash.switching.stages.context import StageContext
from hadash.switching.stages.run import StageFailed, StageRun, check_blocked
from hadash.switching.stages.ways import run_of
from hadash.telemetry import ids, tracing

log = logging.getLogger(__name__)

#: Stages at whose beginning a switch can still be dropped as if it had never been requested.
BEGINNING = (Stage.PRECHECK, Stage.QUIESCE)

#: Stages that release the clients.
RELEASING = (Stage.FORWARD, Stage.RETURN)

#: Stages whose failure needs a person, and the seconds between two attempts at them.
LASTING = frozenset(stage for stage, rule in STAGES.items() if rule.on_failure is Event.NEED_A_PERSON)
AGAIN_SECONDS = 1.0

#: The longest delay, in seconds, until an abort is noticed while clients wait: a query before each command would make
#: them wait longer. (The end of a stage notices it in any case.)
ABORT_READ_SECONDS = 0.1


def run_stage(switch_pk: int, token: int) -> int | None:
    """Run the switch's current stage. Return the token with which to run the next one; ``None`` if there is none.

    Each call takes the next token: a second delivery of the same task (Redis delivers again when a worker's
    connection breaks, although the worker continues) finds that ``token`` is used up.

    While clients wait, the next stage follows here at once: a hand-over through the broker to another thread costs
    more than the stage itself. Otherwise each call runs one stage.
    """
    switch = Switch.objects.select_related("source", "target", "pair").get(pk=switch_pk)
    if switch.token != token or switch.current is not Status.RUNNING:
        return None
    own = None
    try:
        own = take(switch, token, newest_in_zookeeper(switch))
        if own is None:
            return None
        with Renewal(switch, own):
            return own if _Execution(switch, own).run() else None
    except AlreadyForwarded as error:
        # PostgreSQL has lost this since the stage began. The stage is run again at once, and reads back how far it
        # came.
        log.error("switch %s: %s", switch.key, error)
        return own
    except StaleWriter as error:
        log.info("%s", error)
    except StoreUnavailable as error:
        # ZooKeeper was away before the stage could begin. The lease ends, and the stage is retried.
        log.warning("switch %s cannot go on: %s", switch.key, error)
        log_once(switch, say("%(error)s The switch goes on as soon as it answers.", error=error))
        release(switch)
    except BindingError as error:
        # The same, but a person has to correct something: the engine's servers were changed, or a document is
        # unreadable.
        log.warning("switch %s cannot go on: %s", switch.key, error)
        log_once(switch, say("%(error)s The switch goes on as soon as that is corrected.", error=error))
        release(switch)
    return None


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one attempt at a stage. ``sentence`` describes it to people."""

    succeeded: bool
    sentence: Sentence
    #: Whether it failed because a server did not do what it was asked to, and might in a moment.
    let_down: bool = False
    #: Whether that server was ZooKeeper, so that nobody can tell what is stored there now.
    unreachable: bool = False
    #: Whether the reply to a write was lost: what failed may have been carried out.
    unknown: bool = False

    @property
    def result(self) -> StageRecord.Result:
        if self.succeeded:
            return StageRecord.Result.DONE
        return StageRecord.Result.UNKNOWN if self.unknown else StageRecord.Result.FAILED


class Then(Enum):
    """What follows the end of a stage."""

    #: The next stage has begun in this call, because clients wait.
    HERE = auto()
    #: There is a next stage, for any worker.
    HANDED_OVER = auto()
    #: Nothing, for this executor: the switch has ended, waits for a person, was released, or belongs to another one.
    NOTHING = auto()


class _Following(NamedTuple):
    """What comes after a stage: another stage, or what becomes of the switch; and whether it has to begin at once."""

    what: Stage | Event
    at_once: bool


class _Execution:
    """One call's work on a switch: a stage, and the stages that have to follow it without a pause."""

    def __init__(self, switch: Switch, token: int) -> None:
        self.switch = switch
        self.token = token
        self.stage = Stage(switch.stage)
        self.context = StageContext(switch.facts, self._save_facts)
        self.handler: CommandHandler | None = None
        #: By command, and by work of the executor itself: how often, and seconds in all.
        self.timings: dict[str, list[float]] = {}
        #: When the abort flag was last read: by the clock that all workers share, and by this process's own.
        self.abort_read: tuple[datetime, float] | None = None
        self.limits = limits_of(switch.pair)
        #: What this stage has changed, for the audit log.
        self.done: list[dict[str, Any]] = []

    def run(self) -> bool:
        self.record = self._begin()
        while True:
            stage, key = self.stage.value, self.switch.key
            with ids.bound(switch=key, stage=stage), tracing.span(f"stage {stage}", switch=key, stage=stage):
                attempt = self._attempt()
                with self._timed("keeping what came of the stage before"):
                    then = self._finish(attempt)
            if then is not Then.HERE:
                return then is Then.HANDED_OVER

    def _begin(self) -> StageRecord:
        """Take the switch over, find out how far it has come, and note that its stage has begun."""
        dialect = dialect_of(self.switch.pair)
        before = dialect.take_over(self.switch.key, self.stage.value, self.token)
        read_back(self.switch, self.token, dialect, before)
        self.stage, self.context.values = Stage(self.switch.stage), dict(self.switch.facts)
        now = timezone.now()
        interrupted = self.switch.stages.filter(result=StageRecord.Result.RUNNING)
        if interrupted.update(result=StageRecord.Result.INTERRUPTED, ended_at=now):
            log_event(
                self.switch, say("The worker was lost in this stage; another one goes on."), self.stage.value
            )
        return self._new_record(self.stage, now)

    def _new_record(self, stage: Stage, now: Any) -> StageRecord:
        return StageRecord.objects.create(
            switch=self.switch, stage=stage.value, token=self.token, started_at=now
        )

    def _attempt(self) -> Attempt:
        """Carry out the stage.

        A stage whose failure needs a person is first retried for a while: a broker, Connect or ZooKeeper that
        restarts is back in a moment. Forward and return, for which clients wait, are retried after any failure.
        """
        deadline = time.monotonic() + self.limits.forward
        while True:
            attempt = self._attempt_once()
            again = self.stage in RELEASING or (self.stage in LASTING and attempt.let_down)
            if attempt.succeeded or not again or time.monotonic() > deadline:
                return attempt
            log_once(self.switch, attempt.sentence)
            time.sleep(AGAIN_SECONDS)

    def _attempt_once(self) -> Attempt:
        too_late = may_begin(self.switch) if self.stage in BEGINNING else None
        if too_late is not None:
            return Attempt(False, too_late)
        try:
            if self.handler is None:
                journal = Journal(self.switch.key, self.stage.value, self.token)
                self.handler = CommandHandler(
                    self.switch.the_plan(), journal, self.context, self._say, self._fence
                )
            self.handler.begin(self.stage)
            run = run_of(self.switch.the_kind, self.stage)(self.handler.plan, self.limits)
            return Attempt(True, self._drive(run, self.handler))
        except (StaleWriter, AlreadyForwarded, OperationalError, InterfaceError):
            raise  # without the database nothing can be noted: the lease ends, and the stage is run again
        except StageFailed as failure:
            return Attempt(False, failure.sentence)
        except SERVER_ERRORS as error:
            unknown = isinstance(error, UnknownOutcome)
            unreachable = unknown or isinstance(error, StoreUnavailable)
            return Attempt(
                False, say("%(error)s", error=error), let_down=True, unreachable=unreachable, unknown=unknown
            )
        except Exception as error:
            log.exception("stage %s of switch %s failed unexpectedly", self.stage, self.switch.key)
            return Attempt(
                False, say("Unexpected error (%(kind)s): %(error)s", kind=type(error).__name__, error=error)
            )

    def _drive(self, run: StageRun, handler: CommandHandler) -> Sentence:
        """Answer the stage's commands until it returns its sentence."""
        self._check_abort()
        answer: Any = None
        while True:
            try:
                command = run.send(answer)
            except StopIteration as end:
                sentence: Sentence = end.value
                return sentence
            with self._timed("checks"):
                self._check(handler.plan, command)
            name = type(command).__name__
            with self._timed(name), tracing.span(name):
                answer = handler.carry_out(command)
                self.done += audited(command, answer)

    def _check(self, plan: Plan, command: Command[Any]) -> None:
        """Check that the stage may continue with ``command``."""
        if self.stage in HOLDING:
            self._check_holding(plan, command)
        elif isinstance(command, Pause):
            self._check_abort()
        parts = command.commands if isinstance(command, Together) else (command,)
        if any(part.fenced for part in parts):
            self._fence()

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        """Add the time of ``what`` to the current stage's timings."""
        began = time.perf_counter()
        try:
            yield
        finally:
            timing = self.timings.setdefault(what, [0, 0.0])
            timing[0] += 1
            timing[1] = round(timing[1] + time.perf_counter() - began, 6)

    def _check_abort(self) -> Any:
        """Read whether a person has asked to abort: when a stage starts and when it waits, and every
        :data:`ABORT_READ_SECONDS` while clients wait.

        Return the time, by the clock that all workers share; ``None`` if the switch cannot be aborted any more.

        :raises StageFailed: it is aborted.
        """
        if self.stage not in ABORTABLE:
            return None
        query = Switch.objects.filter(pk=self.switch.pk).annotate(now=Now())
        user, now = query.values_list("abort_requested_by__username", "now").get()
        if user:
            raise StageFailed(say("%(user)s aborted the switch.", user=user))
        self.abort_read = now, time.monotonic()
        return now

    def _now(self) -> Any:
        """The time as of :meth:`_check_abort`, which is called again only after :data:`ABORT_READ_SECONDS`."""
        if self.abort_read is not None:
            at, then = self.abort_read
            since = time.monotonic() - then
            if since < ABORT_READ_SECONDS:
                return at + timedelta(seconds=since)
        return self._check_abort()

    def _check_holding(self, plan: Plan, command: Any) -> None:
        """Check, before each command while clients wait, that they have not waited too long and nobody has aborted.

        They wait from the moment that the first Gateway learns of the block. That moment is stored, also for an
        executor that takes over. (After the last command of the last of these stages nothing is checked: forward
        releases the clients as soon as a return would.)
        """
        now = self._now()
        began = self.context.blocked_at
        if began is not None:
            check_blocked((now - began).total_seconds(), plan, self.limits)
        elif isinstance(command, WriteBindings):
            self.context.keep_blocked_at(now)

    def _fence(self) -> None:
        """Check the token, directly before every change outside of ZooKeeper, which has its own fence.

        In a transaction the token stays valid until its end.

        :raises StaleWriter: another process is the executor now.
        """
        mine = Switch.objects.filter(pk=self.switch.pk, token=self.token)
        if connection.in_atomic_block:
            mine = mine.select_for_update(of=("self",))
        if not mine.exists():
            raise StaleWriter(f"Executor {self.token} of switch {self.switch.key} was replaced.")

    def _save_facts(self, values: dict[str, Any]) -> None:
        """Store facts, also in ZooKeeper: PostgreSQL may lose them, and later stages need them."""
        if not Switch.objects.filter(pk=self.switch.pk, token=self.token).update(facts=values):
            raise StaleWriter(f"Executor {self.token} of switch {self.switch.key} was replaced.")
        journal = Journal(self.switch.key, self.stage.value, self.token)
        dialect_of(self.switch.pair).keep_facts(journal, values)

    def _say(self, sentence: Sentence) -> None:
        log.info("switch %s, %s: %s", self.switch.key, self.stage, sentence)
        log_event(self.switch, sentence, self.stage.value)

    def _following(self, held: Switch, succeeded: bool) -> _Following:
        """What comes after this stage."""
        if succeeded and self.stage is Stage.PRECHECK and held.pause_after_precheck:
            return _Following(Event.PAUSE, at_once=False)
        following = after_success(self.stage, held.the_kind) if succeeded else after_failure(self.stage)
        at_once = isinstance(following, Stage) and (
            STAGES[following].writes_blocked or following is Stage.RETURN
        )
        return _Following(following, at_once)

    def _finish(self, attempt: Attempt) -> Then:
        """Store the result, and begin the next stage if it has to follow at once."""
        now = timezone.now()
        with transaction.atomic():
            held = Switch.objects.select_for_update(of=("self",)).get(pk=self.switch.pk)
            if held.token != self.token:
                return Then.NOTHING
            attempt = self._unless_aborted(held, attempt)
            self._store(attempt, now)
            if not attempt.succeeded and attempt.unreachable and self.stage in RELEASING:
                # Nobody could do more than wait: the lease ends, and the stage is run again by itself.
                record_stages(self.switch)
                release(held)
                return Then.NOTHING
            following, at_once = self._following(held, attempt.succeeded)
            if isinstance(following, Stage):
                self._go_to(held, following, at_once, attempt, now)
            else:
                self._end(held, following, attempt)
        if isinstance(following, Stage):
            return Then.HERE if at_once else Then.HANDED_OVER
        if following not in (Event.NEED_A_PERSON, Event.PAUSE):
            keep_pauses(self.switch)
            keep_traffic(self.switch)
            # This comes last: it makes pages reload and the switch's report be written.
            Switch.objects.filter(pk=self.switch.pk).update(recorded_at=timezone.now())
        return Then.NOTHING

    def _unless_aborted(self, held: Switch, attempt: Attempt) -> Attempt:
        """Return the attempt; if an abort was accepted while the stage ended, one that has failed by it: the switch
        must not continue.
        """
        user = held.abort_requested_by
        if not attempt.succeeded or self.stage not in ABORTABLE or user is None:
            return attempt
        return Attempt(False, say("%(user)s aborted the switch.", user=user.get_username()))

    def _store(self, attempt: Attempt, now: datetime) -> None:
        """Store the stage's result, its timings and what it has changed."""
        record = self.record
        record.result = attempt.result
        record.ended_at, record.sentence = now, attempt.sentence.to_json()
        record.timings, self.timings = self.timings, {}
        record.effects, self.done = stored(self.done), []
        record.save()
        self._say(attempt.sentence)

    def _go_to(self, held: Switch, stage: Stage, at_once: bool, attempt: Attempt, now: datetime) -> None:
        """Make ``stage`` the switch's stage: here if it is ``at_once``, else for any worker."""
        values: dict[str, Any] = {"stage": stage.value}
        if not attempt.succeeded:
            values["outcome"] = attempt.sentence.to_json()
        if not at_once:
            values["executor"] = ""  # it is handed over
        Switch.objects.filter(pk=held.pk).update(**values)
        if at_once:
            self.stage, self.record = stage, self._new_record(stage, now)
        else:
            record_stages(self.switch)

    def _end(self, held: Switch, event: Event, attempt: Attempt) -> None:
        """Let the switch pause, wait for a person, or end."""
        if event is Event.PAUSE:
            ending.pause(held)
            record_stages(self.switch)
            return
        returned = self.stage is Stage.RETURN and attempt.succeeded
        ending.end(held, event, held.outcome_sentence if returned else attempt.sentence)
