"""Part ``strategies``: how long it takes to assign the partitions of a Topic, beside Kafka's Java assignor and
kafka-python's, on the same questions.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from kafka.coordinator.assignors.sticky.sticky_assignor import (
    StickyAssignorUserData,
    StickyPartitionAssignor,
)

from hadash.coordinator.decisions import Strategy
from hadash.coordinator.strategies import STRATEGIES
from hadash_sandbox.bench.report import Report, median
from hadash_sandbox.downloads import kafka_jars
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import find_java

PARTITIONS, MEMBERS = 10_000, 100
TOPIC = "records"
GOAL_MS = 100.0
TIMES = 5
#: Seconds for the Java program to compile and answer.
JAVA_SECONDS = 120

Held = Mapping[int, str]


def questions() -> dict[str, tuple[list[str], Held]]:
    """What is asked: members, and who has what. All partitions are new; a member has gone; a member has come."""
    members = [f"member-{number:03}" for number in range(MEMBERS)]
    nobody = dict.fromkeys(range(PARTITIONS), "")
    even = {partition: members[partition % MEMBERS] for partition in range(PARTITIONS)}
    gone = {partition: who if who != members[0] else "" for partition, who in even.items()}
    return {
        "all are new": (members, nobody),
        "one has gone": (members[1:], gone),
        "one has come": ([*members, "member-new"], even),
    }


def measure(report: Report) -> None:
    """Measure every strategy on every question, and judge ``sticky``."""
    weights = {partition: float(1 + partition % 97) for partition in range(PARTITIONS)}
    java = _java()
    slowest = 0.0
    for what, (members, held) in questions().items():
        row = {
            f"{name}_ms": _milliseconds(partial(make(weights), members, held))
            for name, make in STRATEGIES.items()
        }
        row["java_sticky_ms"] = java[what]["warm"]
        row["java_first_ms"] = java[what]["first"]
        row["kafka_python_sticky_ms"] = _milliseconds(partial(_kafka_python, members, held), times=1)
        slowest = max(slowest, row["sticky_ms"])
        report.row(f"{PARTITIONS:,} partitions, {MEMBERS} members", question=what, **row)
        _check(STRATEGIES["sticky"](weights), members, held)
    report.at_most(f"sticky, {PARTITIONS:,} partitions", GOAL_MS, slowest, "ms", samples=3 * TIMES, needed=3)


def _milliseconds(action: Callable[[], object], times: int = TIMES) -> float:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        action()
        took.append((time.perf_counter() - began) * 1000)
    return round(median(took), 1)


def _check(strategy: Strategy, members: Collection[str], held: Held) -> None:
    """What is measured has to be an assignment: everything has a member, evenly."""
    counts = dict.fromkeys(members, 0)
    for who in strategy(members, held).values():
        counts[who] += 1
    if max(counts.values()) - min(counts.values()) > 1:
        raise SandboxError(f"not even: {counts}")


class _Subscription:
    """What kafka-python's assignor wants to know of a member."""

    def __init__(self, member: str, owned: list[int]) -> None:
        self.member_id = member
        self.metadata = StickyPartitionAssignor._metadata([TOPIC], None)
        if owned:
            self.metadata.user_data = StickyAssignorUserData([(TOPIC, owned)], 1)


class _Cluster:
    def topics(self) -> set[str]:
        return {TOPIC}

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(PARTITIONS))


def _kafka_python(members: Collection[str], held: Held) -> Any:
    owned: dict[str, list[int]] = {member: [] for member in members}
    for partition, who in held.items():
        if who in owned:
            owned[who].append(partition)
    return StickyPartitionAssignor().assign(_Cluster(), [_Subscription(*each) for each in owned.items()])


def _java() -> dict[str, dict[str, float]]:
    """Question → milliseconds of Java's StickyAssignor: the first time, and when its code is compiled."""
    asked = [
        {"what": what, "members": members, "held": [held[partition] for partition in range(PARTITIONS)]}
        for what, (members, held) in questions().items()
    ]
    machine = find_java()
    classpath = ":".join(map(str, kafka_jars(machine)))
    source = Path(__file__).with_name("StickyTimes.java")
    done = subprocess.run(
        [str(machine.path), "-Xmx512m", "-cp", classpath, str(source)],
        input="\n".join(json.dumps(each) for each in asked),
        capture_output=True,
        text=True,
        timeout=JAVA_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise SandboxError(f"Java's assignor could not be measured: {done.stderr[-1000:]}")
    return {found["what"]: found for found in map(json.loads, done.stdout.splitlines())}
