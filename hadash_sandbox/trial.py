"""Measured switches, one after another, as the clients saw them, and the verdict over all records."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from hadash_sandbox.demo import Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person
from hadash_sandbox.traffic.journal import Follower, Journal
from hadash_sandbox.traffic.verdict import (
    ALWAYS,
    GroupVerdict,
    judge,
    longest_gap,
    percentile,
    spacing_before,
)
from hadash_sandbox.world import ClientSpec

#: Seconds that a switch may take.
SWITCH_SECONDS = 240.0
#: Seconds that clients may take, after their start, to be in their groups and to be seen by hadash. It costs nothing
#: when all goes well; on two slow, busy cores a client in Python has taken more than 120 s.
READY_SECONDS = 300.0
#: Seconds after a switch that still count as its effect: the clients' pauses end in them.
AFTER_SECONDS = 2.0
#: Seconds between two looks.
LOOK_SECONDS = 0.25

Log = Callable[[str], None]


@dataclass
class Measured:
    """The measurements of one switch. Times are in seconds; pauses are as the clients saw them, by client."""

    scope: str
    source: str
    target: str
    status: str
    outcome: str
    stages: dict[str, float]
    write_pauses: dict[str, float]
    consume_pauses: dict[str, float]
    #: Consume pauses without the time for which the broker kept JOIN_GROUP waiting.
    consume_beyond_join: dict[str, float]
    #: The longest time between two records of each client in the seconds before the switch: pauses include it.
    spacing: dict[str, float]
    #: The time in which the engine refuses writes, from the block to the forward in effect; ``None`` when the switch
    #: did not get that far.
    rto: float | None
    #: From the last approval until the first stage began.
    start_delay: float = 0.0
    #: The switch's key in hadash.
    key: str = ""
    #: From the first stage until the effects are over, in seconds since 1970.
    window: tuple[float, float] = (0.0, 0.0)
    #: Names of the producers that were moved.
    producers: tuple[str, ...] = ()
    timings: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    #: Counts of the records that these producers wrote in the window; filled in at the end of the trial.
    records_sent: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    ambiguous: int = 0

    @property
    def rpo_records(self) -> int:
        """Acknowledged records that no consumer will ever read."""
        return self.lost

    def summary(self) -> dict[str, Any]:
        """All fields, with the median and the 99th percentile of the pauses, for JSON."""

        def spread(pauses: dict[str, float]) -> dict[str, float] | None:
            values = list(pauses.values())
            if not values:
                return None
            return {"p50": round(percentile(values, 0.5), 3), "p99": round(percentile(values, 0.99), 3)}

        return {
            **asdict(self),
            "rpo_records": self.rpo_records,
            "write_pause": spread(self.write_pauses),
            "consume_pause": spread(self.consume_pauses),
            "consume_beyond_join_delay": spread(self.consume_beyond_join),
        }


class Trial:
    """Drives a running demo as an operator and an approver."""

    def __init__(
        self,
        demo: Demo,
        log: Log,
        clients: Sequence[ClientSpec] | None = None,
        *,
        tolerant: bool = False,
    ) -> None:
        """:param clients: the running clients that take part; the default is all of the world's.
        :param tolerant: note a client that makes no progress in :attr:`stalled`, and measure the others.
        """
        self.tolerant = tolerant
        #: Names of clients that made no progress, with the reason.
        self.stalled: dict[str, str] = {}
        self.demo = demo
        self.clients = demo.world.clients if clients is None else tuple(clients)
        self.log = log
        self.operator = Person(demo.url, "olga", demo.password)
        self.approver = Person(demo.url, "arne", demo.password)
        self.switches: list[Measured] = []
        self.pids = {name: process.pid for name, process in demo.clients.items()}
        #: Names of clients that were killed on purpose: the last line of their journals may be cut off.
        self.killed: set[str] = set()
        self._followers = {spec.name: Follower(self._path(spec)) for spec in self.clients}

    # -- the clients ---------------------------------------------------------------------------------------------

    def journal(self, spec: ClientSpec) -> Journal:
        """What a client has written down so far."""
        return self._followers[spec.name].journal()

    def _path(self, spec: ClientSpec) -> Path:
        return self.demo.data_dir / "journals" / f"{spec.name}.jsonl"

    def await_traffic(self) -> None:
        """Wait until every client makes progress and hadash has seen its Topics and groups.

        :raises SandboxError: not within :data:`READY_SECONDS`; a tolerant trial raises it only if no client is ready.
        """
        self.log("Waiting for all clients to produce and consume ...")
        deadline = time.monotonic() + READY_SECONDS
        while True:
            idle = [spec.name for spec in self.clients if not self._works(spec)]
            unseen = self._unseen()
            if not idle and not unseen:
                return
            if time.monotonic() > deadline:
                reason = f"Not ready after {READY_SECONDS:.0f} s: idle {idle}, not seen by hadash {unseen}."
                if not self.tolerant or len({*idle, *unseen}) == len(self.clients):
                    raise SandboxError(reason)
                self.stalled |= dict.fromkeys([*idle, *unseen], reason)
                return
            time.sleep(LOOK_SECONDS)

    def _works(self, spec: ClientSpec) -> bool:
        path = self._path(spec)
        if not path.exists():
            return False
        journal = self.journal(spec)
        runs = journal.acked if spec.role == "produce" else journal.read
        started = journal.clients[-1]["began"] if journal.clients else 0.0
        return bool(runs) and runs[-1].ended > started

    def _unseen(self) -> list[str]:
        """Names of clients of which hadash has not seen yet that they use all their Topics and their group: a plan
        would leave out what is missing.
        """
        seen = {name: self._uses(name) for name in {spec.appid for spec in self.clients}}
        return [spec.name for spec in self.clients if not _is_seen(spec, seen[spec.appid])]

    def _uses(self, appid: str) -> set[tuple[str, str, str]]:
        """The uses of an AppID that hadash has seen: (client.id, kind, Topic or group)."""
        uses: set[tuple[str, str, str]] = set()
        page = 1
        while True:
            path = f"appids/{self.operator.appid(appid)}/access/?page={page}&page_size=200"
            found = self.operator.call("GET", path)
            uses |= {(row["client_id"], row["kind"], row["resource"]) for row in found["results"]}
            if not found["next"]:
                return uses
            page += 1

    def _join_seconds(self, appid: str) -> dict[str, float]:
        """By client.id, the seconds for which the coordinator kept its last JOIN_GROUP waiting."""
        waits: dict[str, float] = {}
        for member in self.ask_gateways("/members", "members", appid=appid):
            if member["join_seconds"] is not None:
                waits[member["client_id"]] = max(waits.get(member["client_id"], 0.0), member["join_seconds"])
        return waits

    def ask_gateways(self, path: str, key: str, **query: str) -> list[dict[str, Any]]:
        """The entries under ``key`` in the answers of every Gateway process to ``path``."""
        found: list[dict[str, Any]] = []
        for port in self.demo.admin_ports:
            address = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
            with urllib.request.urlopen(address, timeout=10) as answer:
                found += json.load(answer)[key]
        return found

    # -- one switch ----------------------------------------------------------------------------------------------

    def switch(
        self,
        appid: str,
        instance: str | None,
        target: str,
        moved: Sequence[ClientSpec] | None = None,
        kind: str = "planned",
    ) -> Measured:
        """Request a switch, approve it, wait for its end, and measure it.

        :param moved: the clients that move, if they are others than those of the AppID or InstanceID itself.
        :raises SandboxError: it was refused, did not end, or a client makes no progress.
        """
        scope = f"{appid} › {instance}" if instance else appid
        key = self.operator.request(appid, instance, target, f"Trial: {scope} to {target}", kind)
        self.approver.approve(key).raise_for_status()
        state = self.approver.await_end(key, SWITCH_SECONDS)
        if moved is None:
            moved = [
                s for s in self.clients if s.appid == appid and (instance is None or s.client_id == instance)
            ]
        measured = self._measure(state, scope, appid, moved, target)
        self.switches.append(measured)
        self.log(
            f"{scope} → {target}: {state['status']}, write pause {_worst(measured.write_pauses)}, "
            f"consume pause {_worst(measured.consume_pauses)} (beyond the join delay "
            f"{_worst(measured.consume_beyond_join)}), RTO {_seconds_or_none(measured.rto)}. {measured.outcome}"
        )
        return measured

    def _measure(
        self, state: dict[str, Any], scope: str, appid: str, moved: Sequence[ClientSpec], target: str
    ) -> Measured:
        done = {s["stage"]: s for s in state["stages"] if s["result"] == "done"}
        began = min(_seconds(s["started_at"]) for s in state["stages"])
        ended = max(_seconds(s["ended_at"]) for s in state["stages"])
        # Wait until after the window: a pause is in the journal only when it is over.
        self.await_progress(moved, ended + AFTER_SECONDS)
        joins = self._join_seconds(appid)
        writes, reads, beyond, spacing = {}, {}, {}, {}
        for spec in moved:
            gap = longest_gap(self.journal(spec), began, ended + AFTER_SECONDS)
            usual = spacing_before(self.journal(spec), began)
            if gap is None or usual is None:
                self._stall(
                    spec,
                    f"Client {spec.name} wrote down no progress before, or during, the switch of {scope}: "
                    "nothing was measured.",
                )
                continue
            spacing[spec.name] = usual
            if spec.role == "produce":
                writes[spec.name] = gap
            else:
                reads[spec.name] = gap
                beyond[spec.name] = max(gap - joins.get(spec.client_id, 0.0), 0.0)
        rto = None
        if "block" in done and "forward" in done:
            rto = _seconds(done["forward"]["ended_at"]) - _seconds(done["block"]["started_at"])
        return Measured(
            scope=scope,
            source=state["source"],
            target=target,
            status=state["status"],
            outcome=state["outcome"],
            stages={s["stage"]: round(s["seconds"], 3) for s in state["stages"] if s["seconds"] is not None},
            write_pauses=writes,
            consume_pauses=reads,
            consume_beyond_join=beyond,
            spacing=spacing,
            rto=rto,
            start_delay=began - self._approved_at(state["key"]),
            key=state["key"],
            window=(began, ended + AFTER_SECONDS),
            producers=tuple(writes),
            timings={s["stage"]: s.get("timings", {}) for s in state["stages"]},
        )

    def _approved_at(self, key: str) -> float:
        """The time of a switch's last approval, from the database, in seconds since 1970."""
        approvals = self.operator.call("GET", f"switches/{key}/")["approvals"]
        return max(_seconds(approval["at"]) for approval in approvals)

    def await_progress(self, moved: Sequence[ClientSpec], since: float) -> None:
        """Wait until each moved client has made progress after ``since`` (seconds since 1970).

        Its pause is over then, and in its journal.

        :raises SandboxError: a client makes no progress, and the trial is not tolerant.
        """
        deadline = time.monotonic() + READY_SECONDS
        for spec in moved:
            while True:
                journal = self.journal(spec)
                runs = journal.acked if spec.role == "produce" else journal.read
                if runs and max(r.ended for r in runs[-20:]) > since:
                    break
                if spec.name in self.stalled:
                    break
                if time.monotonic() > deadline:
                    self._stall(spec, f"Client {spec.name} makes no progress after the switch.")
                    break
                time.sleep(LOOK_SECONDS)

    def _stall(self, spec: ClientSpec, reason: str) -> None:
        """Note that a client makes no progress.

        :raises SandboxError: the trial is not tolerant.
        """
        if not self.tolerant:
            raise SandboxError(reason)
        self.log(reason)
        self.stalled.setdefault(spec.name, reason)

    # -- the verdict -----------------------------------------------------------------------------------------------

    def restarted(self) -> list[str]:
        """Names of clients that have ended, or that another process than at the beginning runs."""
        found = []
        for spec in self.clients:
            process = self.demo.clients[spec.name]
            pids = {c["pid"] for c in self.journal(spec).clients[-1:]}
            if not process.alive or process.pid != self.pids[spec.name] or pids != {process.pid}:
                found.append(spec.name)
        return found

    def judge_switch(self, measured: Measured) -> None:
        """Fill in the counts of the records that the switch's producers wrote in its window."""
        own = [s for s in self.clients if s.name in measured.producers]
        runs = [run for spec in own for run in self.journal(spec).acked]
        began, ended = measured.window
        measured.records_sent = sum(
            r.last - r.first + 1 for r in runs if r.ended >= began and r.began <= ended
        )
        for verdict in self.judge(set(measured.producers), measured.window):
            measured.lost += verdict.lost
            measured.duplicated += verdict.duplicated
            measured.out_of_order += verdict.out_of_order
            measured.ambiguous += verdict.ambiguous

    def judge(
        self, names: Set[str] | None = None, window: tuple[float, float] = ALWAYS
    ) -> list[GroupVerdict]:
        """A verdict for each group that reads the Topics of the producers with these ``names`` (or of all).

        :param window: only records of this time count (seconds since 1970).
        """
        verdicts = []
        for group in sorted({spec.group for spec in self.clients if spec.group}):
            consumers = [spec for spec in self.clients if spec.group == group]
            topics = {topic for spec in consumers for topic in spec.topics}
            producers = [
                s
                for s in self.clients
                if s.role == "produce" and topics & set(s.topics) and (names is None or s.name in names)
            ]
            if producers or names is None:
                written, read = (
                    [self.journal(s) for s in producers],
                    [self.journal(s) for s in consumers],
                )
                verdicts.append(judge(group, written, read, window))
        return verdicts


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _is_seen(spec: ClientSpec, uses: set[tuple[str, str, str]]) -> bool:
    """Whether these uses (client.id, kind, Topic or group) are all that a client will show."""
    its_own = {(kind, name) for client_id, kind, name in uses if spec.client_id in ("", client_id)}
    # (A member of a group may be assigned no partition of a Topic: another one reads it.)
    read_or_written = {(kind, name) for _, kind, name in uses} if spec.role == "consume" else its_own
    return {(spec.role, topic) for topic in spec.topics} <= read_or_written and (
        not spec.group or ("group", spec.group) in its_own
    )


def _worst(pauses: dict[str, float]) -> str:
    return _seconds_or_none(max(pauses.values(), default=None))


def _seconds_or_none(seconds: float | None) -> str:
    return "none" if seconds is None else f"{seconds:.3f} s"
