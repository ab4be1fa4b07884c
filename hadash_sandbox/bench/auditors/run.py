"""``make bench-auditors``: how much an auditor compares, beside reading both sides alone, and its memory; and how long
Spark takes for a full audit of the same records.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from hadash.kafka.java_client import properties
from hadash.kafka.values import ClusterAccess
from hadash_sandbox import kafka_admin
from hadash_sandbox.bench.report import Report, begin, median
from hadash_sandbox.demo import ROOT
from hadash_sandbox.downloads import spark_kafka_jars
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import find_java
from hadash_sandbox.stack import CLUSTERS, Stack
from spark.orders import Order, Range

PARTITIONS = 8
#: Bytes of a record's value, and records of each side: 300 MB.
VALUE_BYTES, RECORDS = 1_000, 300_000
#: Small records, and both sides different altogether: what takes most memory.
SMALL_BYTES, UNLIKE = 60, 480_000
ROUNDS = 3
#: The time of the first record, an hour ago: both sides have the same times.
BEGAN_MS = int(time.time() * 1000) - 3_600_000
#: Seconds for a Topic to be created.
TOPIC_SECONDS = 30.0
#: Goals: MB of both sides that are compared by one core in a second; and MiB of memory at most, with each partition's
#: place of agreement being searched.
GOAL_MB, GOAL_MIB = 50.0, 768.0


def bench_auditors() -> int:
    """Measure, print, and write ``var/bench/auditors.json``; return the exit code, 1 when a goal is missed."""
    path = ROOT / "var" / "bench" / "auditors.json"
    report = begin(path)
    folder = Path(tempfile.mkdtemp(prefix="hadash-auditors-"))
    try:
        with Stack(folder, clusters=CLUSTERS, with_connect=False) as stack:
            _measure(report, stack)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report.conclude(path)


def _measure(report: Report, stack: Stack) -> None:
    source, target = (stack.kafka[name].client_config() for name in CLUSTERS)
    for config in (source, target):
        admin = kafka_admin.connect(config)  # in a variable: the client has to outlive its futures
        made = admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in ("same", "unlike")])
        for future in made.values():
            future.result(TOPIC_SECONDS)
    print(f"Writing {RECORDS:,} records of {VALUE_BYTES:,} bytes to each side ...", flush=True)
    for config in (source, target):
        _fill(config, "same", _values(7, RECORDS, VALUE_BYTES))
    for seed, config in enumerate((source, target)):
        _fill(config, "unlike", _values(seed, UNLIKE, SMALL_BYTES))
    megabytes = 2 * RECORDS * VALUE_BYTES / 1e6
    by_core: dict[str, list[float]] = {"alone": [], "audit": []}
    for number in range(ROUNDS):
        for what in ("alone", "audit"):
            found = _run(stack, what, "same", source, target)
            if what == "audit" and (found["different"] or not found["done"]):
                raise SandboxError(f"The auditor has not found both sides equal: {found}")
            by_core[what].append(megabytes / found["cpu_seconds"])
            report.row(
                "both sides, once", round=number + 1, what=what, seconds=round(found["seconds"], 2),
                cpu_seconds=round(found["cpu_seconds"], 2), mb_per_second=round(megabytes / found["seconds"]),
                mb_per_core_second=round(by_core[what][-1]), most_mib=round(found["most_mib"]),
            )  # fmt: skip
    alone, audited = median(by_core["alone"]), median(by_core["audit"])
    unlike = _run(stack, "audit", "unlike", source, target)
    report.row(
        "both sides different altogether", records=2 * UNLIKE, differences=unlike["different"],
        seconds=round(unlike["seconds"], 1), most_mib=round(unlike["most_mib"]),
    )  # fmt: skip
    report.at_least("compared by one core", GOAL_MB, audited, "MB/s", samples=ROUNDS, needed=ROUNDS)
    report.row("beside reading alone", times_the_cost_of_reading=round(alone / audited, 1))
    full = _full_audit(source, target)
    seconds = full["seconds"]["job"]
    equal = sum(each["equal"] for each in full["partitions"])
    if equal != RECORDS:
        raise SandboxError(f"The full audit has found {equal:,} of {RECORDS:,} records equal.")
    report.row(
        "a full audit of the same, by Spark", seconds=round(seconds, 1), mb_per_second=round(megabytes / seconds),
        seconds_to_start_spark=round(full["seconds"]["start"], 1),
    )  # fmt: skip
    report.at_most("memory while both sides differ altogether", GOAL_MIB, unlike["most_mib"], "MiB")


def _values(seed: int, count: int, size: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    body = chance.randbytes(size)
    for number in range(count):
        yield b"%010d" % (number * 2 + seed % 2) + body[10:]


def _fill(config: dict[str, str], topic: str, values: Iterator[bytes]) -> None:
    producer = Producer(
        {**config, "linger.ms": 50, "queue.buffering.max.kbytes": 200_000, "batch.size": 500_000}
    )
    for number, value in enumerate(values):
        while True:
            try:
                producer.produce(
                    topic, value, b"%d" % (number % 997), partition=number % PARTITIONS,
                    timestamp=BEGAN_MS + number, headers=[("number", b"%d" % number)],
                )  # fmt: skip
                break
            except BufferError:
                producer.poll(0.2)
    if producer.flush(300) != 0:
        raise SandboxError("The cluster has not taken all records within five minutes.")


def _full_audit(source: dict[str, str], target: dict[str, str]) -> dict[str, Any]:
    """Have Spark compare the Topic "same"; return what it says."""
    sides = [
        properties(
            ClusterAccess(
                "", config["bootstrap.servers"], config["security.protocol"], config["sasl.mechanism"],
                config["sasl.username"], config["sasl.password"],
            )
        )
        for config in (source, target)
    ]  # fmt: skip
    each = RECORDS // PARTITIONS
    ranges = [Range(number, (0, each), (0, each), (0, 0)) for number in range(PARTITIONS)]
    jars = ",".join(map(str, spark_kafka_jars(find_java())))
    with tempfile.TemporaryDirectory(prefix="hadash-full-audit-") as folder:
        order, progress = Path(folder) / "order.json", Path(folder) / "progress.json"
        Order("same", sides[0], sides[1], ranges, 20).write(order)
        arguments = ["--lake", f"{folder}/lake", "--order", str(order), "--progress", str(progress)]
        ended = subprocess.run(
            [sys.executable, "-m", "spark", "full-audit", *arguments],
            env={**os.environ, "HADASH_SPARK_MORE": f"spark.jars={jars}"},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if ended.returncode != 0:
        raise SandboxError(f"Spark has ended with {ended.returncode}.")
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def _run(
    stack: Stack, what: str, topic: str, source: dict[str, str], target: dict[str, str]
) -> dict[str, Any]:
    command = [sys.executable, "-m", "hadash_sandbox.bench.auditors.reader", what, "--topic", topic]
    command += [
        "--source",
        json.dumps(source),
        "--target",
        json.dumps(target),
        "--partitions",
        str(PARTITIONS),
    ]
    environment = {**os.environ, **stack.environment(), "HADASH_SECRET_KEY": "of this benchmark alone"}
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode != 0:
        raise SandboxError(f"The reader has ended with {ended.returncode}.")
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found
