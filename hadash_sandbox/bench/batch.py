"""``make bench-plan PARTS=batch``: a thousand InstanceIDs in one switch, on the real stack with four Gateway processes.

They share their Topics, so that none can move without the others: the plan has a thousand identities, and each state of
their bindings is written in one ZooKeeper transaction. Each InstanceID is the client.id of a connected, working client.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import urllib.parse
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from hadash_sandbox.bench.bound import bench_bound
from hadash_sandbox.bench.propagation import Changes
from hadash_sandbox.bench.records import explain, judge_records
from hadash_sandbox.bench.report import Report, median
from hadash_sandbox.bench.tools import load_average
from hadash_sandbox.check import show_logs
from hadash_sandbox.demo import Demo
from hadash_sandbox.ending import finish
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.trial import SWITCH_SECONDS, Measured, Trial
from hadash_sandbox.world import BATCH_READERS, BATCH_WRITERS, till

INSTANCES = 1_000
#: One for each client of a library, and one for each of two fleets.
LEAST_INSTANCES = BATCH_WRITERS + BATCH_READERS + 2
GATEWAYS = 4
#: There and back, three times.
SWITCHES = 6
#: Goal in seconds, from the first block to the last forward.
GOAL_SECONDS = 5.0

APPID = "shop"
#: Records that the mirror may be behind when a switch is requested; hadash itself allows five times as many.
MAX_LAG = 1_000
#: Seconds until that is so, and all clients are connected and observed; access is collected every few seconds.
OBSERVED_SECONDS = 300.0
LOOK_SECONDS = 1.0
#: How often a stage in which a switch needs attention is run again, at most.
RUN_AGAIN = 5
#: Records a second of each librdkafka producer.
RATE = 10.0
#: How often each page is requested.
PAGE_TURNS = 3

_log = partial(print, flush=True)


def bench_batch(
    report: Report, instances: int = INSTANCES, switches: int = SWITCHES, keep: Path | None = None
) -> None:
    """Make ``switches`` moves of ``instances`` InstanceIDs, there and back, and judge them.

    :param keep: a data folder to use and keep; the default is a temporary one.
    :raises SandboxError: ``instances`` or ``switches`` are too few to measure anything.
    """
    if instances < LEAST_INSTANCES or switches < 1:
        raise SandboxError(
            f"A batch has at least {LEAST_INSTANCES} InstanceIDs and one switch, not {instances} and {switches}."
        )
    # (Not a folder of pytest or of the user: PostgreSQL's user has to be able to enter it.)
    folder = keep or Path(tempfile.mkdtemp(prefix="hadash-batch-"))
    try:
        with Demo(folder, world=f"batch-{instances}", gateways=GATEWAYS, rate=RATE, log=_log) as demo:
            trial, zookeeper = Trial(demo, _log), demo.stack.zookeeper
            batch = Batch(trial, report, instances, switches)
            trial.await_traffic()
            client = zookeeper.connect()
            try:
                changes = Changes(client)
                target, other = "west", "east"
                for _ in range(switches):
                    if batch.move(target, changes):
                        target, other = other, target
            finally:
                client.stop()
                client.close()
            batch.pages()
            bench_bound(report, zookeeper)
            batch.judge()
    except BaseException:
        show_logs(folder)
        raise
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


class Batch:
    """The moves of one batch on a running demo."""

    def __init__(self, trial: Trial, report: Report, instances: int, switches: int) -> None:
        self.trial = trial
        self.report = report
        self.instances = instances
        self.switches = switches

    # -- before ----------------------------------------------------------------------------------------------------

    def await_all(self, target: str) -> None:
        """Wait until a switch to ``target`` can be measured.

        Every InstanceID's client is connected then, a plan for one of them moves all of them, and the mirror keeps up.

        :raises SandboxError: this is not so within :data:`OBSERVED_SECONDS`.
        """
        deadline = time.monotonic() + OBSERVED_SECONDS
        while True:
            proposal = self.trial.operator.call("POST", "plans/", self._question(target))
            planned, connected = len(proposal["plan"]["identities"]), self._connected()
            lag = proposal["records_at_risk"]
            if planned == connected == self.instances and lag is not None and lag <= MAX_LAG:
                return
            if time.monotonic() > deadline:
                raise SandboxError(
                    f"After {OBSERVED_SECONDS:.0f} s a plan would move {planned} of {self.instances} InstanceIDs, "
                    f"{connected} are connected, and the mirror is {lag} records behind."
                )
            time.sleep(LOOK_SECONDS)

    def _question(self, target: str) -> dict[str, Any]:
        scope = {"kind": "instance", "appid": APPID, "instance_id": till(1)}
        return {"pair": "main", "scope": scope, "target": target}

    def _connected(self) -> int:
        """The number of InstanceIDs that are connected to a Gateway process."""
        return len({c["client_id"] for c in self.trial.ask_gateways("/clients", "clients", appid=APPID)})

    # -- a switch --------------------------------------------------------------------------------------------------

    def move(self, target: str, changes: Changes) -> bool:
        """Make one switch, and add its rows to the report.

        A switch that needed a person (on a machine that is too busy to verify it) counts as one that did not succeed.

        :return: whether all are on ``target`` now; else they are where they were.
        :raises SandboxError: it moved another number of InstanceIDs.
        """
        self.await_all(target)
        connected, load = self._connected(), load_average()
        moved = self.trial.switch(APPID, till(1), target, self.trial.demo.world.clients)
        whole = self.trial.operator.call("GET", f"switches/{moved.key}/")
        if len(whole["plan"]["identities"]) != self.instances:
            raise SandboxError(f"Switch {moved.key} has moved {len(whole['plan']['identities'])} identities.")
        succeeded = moved.status == "succeeded" or self._run_again(moved)
        self.report.row(
            f"batch of {self.instances:,} InstanceIDs, {GATEWAYS} Gateway processes (s)",
            switch=f"{moved.source} → {moved.target}",
            status=moved.status,
            connected=connected,
            load=load,
            block_to_forward="none" if moved.rto is None else round(moved.rto, 3),
            **{stage: round(seconds, 2) for stage, seconds in moved.stages.items()},
            longest_write_pause=round(max(moved.write_pauses.values()), 2),
        )
        for stage in ("block", "forward"):
            self._row_of_change(stage, whole, moved, changes)
        return succeeded

    def _run_again(self, moved: Measured) -> bool:
        """Run the stage of a switch that needs attention again, as an operator would; return whether it succeeded."""
        state = {"status": moved.status}
        for _ in range(RUN_AGAIN):
            if state["status"] != "needs_attention":
                break
            _log(f"Switch {moved.key} needs attention ({moved.outcome}); its stage is run again.")
            self.trial.operator.post(f"switches/{moved.key}/retry/").raise_for_status()
            state = self.trial.operator.await_end(moved.key, SWITCH_SECONDS)
        return state["status"] == "succeeded"

    def _row_of_change(self, stage: str, whole: dict[str, Any], moved: Measured, changes: Changes) -> None:
        record = next((s for s in whole["stages"] if s["stage"] == stage and s["result"] == "done"), None)
        found = changes.between(*_times(record)) if record is not None else []
        for change in found:
            self.report.row(
                "batch: one change of all bindings (s)",
                switch=f"{moved.source} → {moved.target}",
                state=stage,
                transaction_bytes=change.size,
                written_in=_took(moved, stage, "WriteBindings"),
                **{gateway: round(seconds, 3) for gateway, seconds in changes.applied(change).items()},
            )

    # -- after -----------------------------------------------------------------------------------------------------

    def pages(self) -> None:
        """Measure hadash's own pages with a plan of this size."""
        person = self.trial.operator
        number = person.appid(APPID)
        query = urllib.parse.urlencode({"appid": number, "scope": "instance", "instance": till(1)})
        key = self.trial.switches[-1].key
        for page, path in {
            "overview": "",
            "AppID": f"appids/{number}/",
            "request": f"switches/request/?{query}",
            "preview": f"switches/request/preview/?{query}",
            "switch": f"switches/{key}/",
            "state.json": f"switches/{key}/state.json",
        }.items():
            took, size = [], 0
            for _ in range(PAGE_TURNS):
                began = time.perf_counter()
                answer = person.get(path)
                took.append(time.perf_counter() - began)
                answer.raise_for_status()
                size = len(answer.content)
            self.report.row(
                f"batch: pages with {self.instances:,} InstanceIDs (s)",
                page=page,
                median=round(median(took), 2),
                max=round(max(took), 2),
                kilobytes=size // 1000,
            )

    def judge(self) -> None:
        """End the trial and add the goals: for the slowest switch, and for the records of all switches."""
        verdict = finish(self.trial)
        moves = self.trial.switches
        _spread(self.report, moves)
        self.report.row(
            "batch: records",
            clients=f"{self.instances} InstanceIDs in {verdict['clients']} processes",
            sent=verdict["records_sent"],
            **{name: verdict[name] for name in ("lost", "duplicated", "out_of_order", "delivery_failures")},
            restarted=len(verdict["clients_restarted"]),
        )
        for line in explain(verdict):
            _log(line)
        judge_batch(self.report, f"batch of {self.instances:,}, ", self.switches, moves, verdict)


def judge_batch(
    report: Report, prefix: str, asked: int, moves: Sequence[Measured], verdict: dict[str, Any]
) -> None:
    """Add the goals of a batch to ``report``.

    A switch that was rolled back or needed a person may have no time from block to forward. It counts as failed, and
    the goal for that time is missed unless all ``asked`` switches have one.
    """
    took = [m.rto for m in moves if m.rto is not None]
    slowest = max(took, default=None)
    name = f"{prefix}first block to last forward, slowest"
    report.at_most(name, GOAL_SECONDS, slowest, "s", samples=len(took), needed=asked)
    failed = asked - sum(m.status == "succeeded" for m in moves)
    report.at_most(
        f"{prefix}switches that did not succeed", 0, failed, "switches", samples=len(moves), needed=asked
    )
    judge_records(report, [verdict], prefix)


def _spread(report: Report, moves: Sequence[Measured]) -> None:
    """Add the median and maximum over the switches, from block to forward and of each stage."""
    values = {"block to forward": [m.rto for m in moves if m.rto is not None]}
    for stage in dict.fromkeys(stage for m in moves for stage in m.stages):
        values[stage] = [m.stages[stage] for m in moves if stage in m.stages]
    for what, seconds in values.items():
        if not seconds:
            continue
        report.row(
            "batch: time of switches (s)",
            what=what,
            median=round(median(seconds), 3),
            max=round(max(seconds), 3),
        )


def _times(record: dict[str, Any]) -> tuple[float, float]:
    began, ended = (datetime.fromisoformat(record[name]).timestamp() for name in ("started_at", "ended_at"))
    return began - 0.001, ended  # ZooKeeper knows whole milliseconds


def _took(moved: Measured, stage: str, command: str) -> float:
    """The seconds that a command took in all within a stage."""
    return round(moved.timings.get(stage, {}).get(command, [0, 0.0])[1], 3)
