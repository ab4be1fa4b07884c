"""One cell of the table: a switch under load, one fault in one of its stages, and the result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx
from confluent_kafka import KafkaException

from hadash.bindings.errors import BindingError
from hadash.kafka.errors import ConnectError
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault.faults import Fault
from hadash_sandbox.fault.fleet import APPID, INSTANCE, Fleet
from hadash_sandbox.fault.outcome import Outcome, Row, outcome_of, standstill, why
from hadash_sandbox.fault.scene import LOOK_SECONDS, Scene, patiently, where
from hadash_sandbox.service import Log
from hadash_sandbox.trial import Trial
from hadash_sandbox.waiting import came_about

#: Seconds that consumers have, at a cell's end, to read all acknowledged records: more than the session timeout of a
#: member (45 s), after which a group continues without a member that is gone.
CATCH_UP_SECONDS = 90.0

#: Seconds after a cell within which the next switch has to be possible: Connect, brokers and the monitoring of mirrors
#: recover by themselves.
POSSIBLE_SECONDS = 60.0

#: How often a cell is tried whose switch ended before its stage. A Gateway that was killed in the previous cell lets
#: its clients come back for half a minute, and a switch waits for them for ten seconds only.
ATTEMPTS = 5

#: Examples of wrong records that are listed for each group of a cell, at most.
EXAMPLES = 2

#: Exceptions that end a cell.
BROKEN = (SandboxError, BindingError, ConnectError, KafkaException, httpx.HTTPError)

#: How often a stage is run again by hand before the switch counts as stuck.
RETRIES = 3

#: Seconds without progress that count as a standstill: far more than the pause between two records (50 ms) on a busy
#: machine, and less than every pause that a fault causes.
STANDSTILL_SECONDS = 1.0

#: hadash's own processes. None may end because a server, or another of them, has ended.
OWN = ("gateway", "worker", "beat", "web")


@dataclass
class Cells:
    """Runs cells on one fleet, one after the other; each switch moves the clients to the other cluster."""

    fleet: Fleet
    trial: Trial
    log: Log
    number: int = 0

    def run(self, fault: Fault, stage: str) -> Row:
        """Run one cell. It is tried again when its switch ended before its stage; the records of all tries count."""
        tries: list[tuple[float, float]] = []
        for _ in range(ATTEMPTS):
            began = time.time()
            row = self._try(fault, stage)
            tries.append((began, time.time()))
            if row.outcome is not Outcome.NOT_REACHED or row.manual:
                break
        row.tries = tries
        self._await_read(row)
        return row

    def _try(self, fault: Fault, stage: str) -> Row:
        """Run a switch with the fault in its stage, and wait until the next switch is possible."""
        try:
            row = self._switch(fault, stage)
            row.manual = self._next_possible() or row.manual
        except BROKEN as error:
            return Row(fault.name, stage, Outcome.NEVER, manual=f"{type(error).__name__}: {error}")
        return row

    def _switch(self, fault: Fault, stage: str) -> Row:
        """Run one try to the end of its switch.

        :raises SandboxError: the switch does not end; other exceptions of :data:`BROKEN` are raised too.
        """
        self.number += 1
        name = f"{self.number}-{fault.name}-{stage}"
        source = where(self.fleet)
        target = "west" if source == "east" else "east"
        self.fleet.points.arm(name, fault.points[stage], fault.clock)
        scene = self._begin(name, stage, source, target, f"{fault.about}, in {stage}.")
        try:
            row = self._strike(scene, fault)
            if row.outcome is Outcome.PERSON:
                row.manual = self._let_run_again(scene)
        finally:
            self.fleet.points.disarm()
            self.fleet.points.go(name)
            fault.tidy(scene)
        row.late_writes = scene.late_writes
        return row

    def _begin(self, name: str, stage: str, source: str, target: str, reason: str) -> Scene:
        key = self.trial.operator.request(APPID, INSTANCE, target, reason)
        self.trial.approver.approve(key).raise_for_status()
        return Scene(self.fleet, self.trial, name, stage, source, target, key, self.log)

    def _strike(self, scene: Scene, fault: Fault) -> Row:
        """Cause the fault, and wait for the end of the switch."""
        if not scene.reach():
            state = scene.state()
            return Row(
                fault.name, scene.stage, Outcome.NOT_REACHED, notes=[state["outcome"] or state["status"]]
            )
        struck = time.time()
        running = {name: self.fleet.process(name).pid for name in OWN if name != fault.name}
        try:
            fault.strike(scene)
        finally:
            self.fleet.points.go(scene.name)
        fault.mend(scene)
        scene.await_end()
        state = scene.state()
        row = Row(fault.name, scene.stage, outcome_of(state["status"]))
        if row.outcome is not Outcome.SUCCEEDED:
            row.notes.append(state["outcome"] or f"{state['status']}, in {state['stage']}")
        ended = time.time()
        self.trial.await_progress(list(self.fleet.world.clients), ended)
        said = _ended_at(state, ended)
        # The worker's time of the end counts only if its clock has not jumped.
        self._time(row, struck, said if struck <= said <= ended else ended)
        # (The supervisor restarts a process that ends, so its pid tells.)
        row.ended = [name for name, pid in running.items() if self.fleet.process(name).pid != pid]
        return row

    def _time(self, row: Row, struck: float, ended: float) -> None:
        moved = [spec for spec in self.fleet.world.clients if spec.client_id == INSTANCE]
        stood = [standstill(self.trial.journal(s).gaps, struck, STANDSTILL_SECONDS) for s in moved]
        row.recover = max(ended, *(went_on for went_on, _ in stood)) - struck
        row.pause = max(longest for _, longest in stood)

    def _let_run_again(self, scene: Scene) -> str:
        """Use “run again”, as a person would on the page; return what was needed, as a note.

        :raises SandboxError: the switch did not succeed after :data:`RETRIES` attempts.
        """
        for attempt in range(1, RETRIES + 1):
            answer = patiently(
                lambda: self.trial.operator.post(f"switches/{scene.key}/retry/"), "“run again”"
            )
            answer.raise_for_status()
            scene.await_end()
            if scene.state()["status"] == "succeeded":
                return f"“run again” {attempt} time(s)"
        raise SandboxError(f"Switch {scene.key} still needs a person: {scene.state()['outcome']}")

    def _await_read(self, row: Row) -> None:
        """Wait until consumers have read all records that were acknowledged in the cell, and count."""

        def have_read() -> bool:
            self.count(row)
            return row.lost == 0

        came_about(have_read, CATCH_UP_SECONDS, every=LOOK_SECONDS)

    def count(self, row: Row) -> None:
        """Count the records of a cell's tries.

        It is called again when the fleet ends, for records that were read again late.
        """
        verdicts = [verdict for window in row.tries for verdict in self.trial.judge(window=window)]
        row.lost = sum(v.lost for v in verdicts)
        row.duplicated = sum(v.duplicated for v in verdicts)
        row.out_of_order = sum(v.out_of_order for v in verdicts)
        row.ambiguous = sum(v.ambiguous for v in verdicts)
        row.examples = [example for v in verdicts for example in v.examples[:EXAMPLES]]

    def _next_possible(self) -> str:
        """Wait until a switch back would be accepted; return why it is still refused, "" when it is not."""
        source = where(self.fleet)
        target = "west" if source == "east" else "east"
        deadline = time.monotonic() + POSSIBLE_SECONDS
        while True:
            try:
                key = self.trial.operator.request(APPID, INSTANCE, target, "Is the way back open?")
                self.trial.operator.post(f"switches/{key}/cancel/", reason="It is.").raise_for_status()
                return ""
            except (SandboxError, httpx.HTTPError) as error:
                if time.monotonic() > deadline:
                    return why(str(error))
            time.sleep(LOOK_SECONDS)


def _ended_at(state: dict[str, Any], otherwise: float) -> float:
    """The time at which the last stage ended (seconds since 1970), by its worker's clock."""
    times = [datetime.fromisoformat(s["ended_at"]).timestamp() for s in state["stages"] if s["ended_at"]]
    return max(times, default=otherwise)
