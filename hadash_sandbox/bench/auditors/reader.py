"""``python -m hadash_sandbox.bench.auditors.reader``: reads both sides of a Topic to their ends, once, and prints what
that took: alone, as fast as the client gives records out, or with all that an auditor does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import django
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

SOURCE, TARGET = 1, 2
SECONDS = 30.0
#: Seconds for all to be compared, before the benchmark gives up.
LIMIT_SECONDS = 600.0

Ends = dict[int, int]
Config = Mapping[str, Any]


def ends_of(config: Config, topic: str, partitions: int) -> Ends:
    """The next offset of each partition."""
    asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
    admin = AdminClient(dict(config))  # in a variable: the client has to outlive its futures
    found = admin.list_offsets(asked)
    return {key.partition: future.result(SECONDS).offset for key, future in found.items()}


def read_alone(configs: Mapping[int, Config], topic: str, partitions: int) -> int:
    """Read both sides and do nothing with the records; return the bytes of their values."""
    size = 0
    consumers = []
    for config in configs.values():
        consumer = Consumer(
            {**config, "group.id": "bench", "enable.auto.commit": False, "queued.max.messages.kbytes": 32_768}
        )
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        consumers.append((consumer, sum(ends_of(config, topic, partitions).values())))
    left = [count for _, count in consumers]
    while any(left):
        for place, (consumer, _) in enumerate(consumers):
            if left[place]:
                messages = consumer.consume(2_000, 0.05)
                left[place] -= len(messages)
                size += sum(len(message.value() or b"") for message in messages)
    for consumer, _ in consumers:
        consumer.close()
    return size


def audit(configs: Mapping[int, Config], topic: str, partitions: int) -> dict[str, Any]:
    """Audit the Topic once; return what was compared."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    # (These have models, which need Django to be set up.)
    from hadash.auditors.ledger import Claim, Direction, Progress
    from hadash.auditors.pair_auditor import PairAuditor
    from hadash.auditors.places import Held, Place
    from hadash.auditors.settings import AuditorSettings
    from hadash.auditors.side_reader import SideReader
    from hadash.kafka.values import Partition
    from hadash.mirroring.offsets import OffsetSync

    settings = AuditorSettings(pair="bench", bytes_per_second=10**12)
    ends = {side: ends_of(config, topic, partitions) for side, config in configs.items()}
    wanted = {number: (ends[SOURCE][number], ends[TARGET][number]) for number in range(partitions)}
    compared: dict[int, tuple[int, int]] = {}
    done = threading.Event()
    counts = {"equal": 0, "different": 0}

    class Both:
        def readers(self) -> dict[int, SideReader]:
            return {side: SideReader(config, settings) for side, config in configs.items()}

        def held(self, wanted: Mapping[Partition, int]) -> dict[Partition, Held]:
            return {p: Held(0, ends[SOURCE][p.partition], 0, ends[TARGET][p.partition]) for p in wanted}

        def have_changed(self) -> bool:
            return False

        def compacted(self, topics: Iterable[str]) -> set[str]:
            return set()

    class Memory:
        def directions(self) -> dict[str, Direction]:
            return {topic: Direction(1, SOURCE, is_turning=False)}

        def syncs(self, wanted: Iterable[Partition], _: object) -> dict[Partition, OffsetSync]:
            return dict.fromkeys(wanted, OffsetSync(0, 0))

        def claim(self, partition: Partition, source: int) -> Claim:
            return Claim(partition.partition, 1)

        def begin(self, claim: Claim, source: int, place: Place, *, was_made_again: bool) -> bool:
            return True

        def prune(self, claim: Claim, held: Held) -> None:
            pass

        def note(self, progress: list[Progress]) -> dict[int, bool]:
            for each in progress:
                counts["equal"] += each.equal - each.counted.get(compared.get(each.claim.row, (0, 0)), 0)
                counts["different"] += len(each.found)
                compared[each.claim.row] = each.source_next, each.target_next
            if _is_done(compared, wanted):
                done.set()
            return {}

        def say(self, partition: Partition, source: int, fault: object) -> None:
            print(f"{partition}: {fault}", file=sys.stderr)

    auditor = PairAuditor(Memory(), Both(), settings)
    auditor.assignments.topic(topic).assign(1, frozenset(range(partitions)))
    auditor.start()
    done.wait(LIMIT_SECONDS)
    auditor.stop(SECONDS)
    return {**counts, "done": _is_done(compared, wanted)}


def _is_done(compared: Mapping[int, tuple[int, int]], wanted: Mapping[int, tuple[int, int]]) -> bool:
    """Whether all partitions were compared, but for what can only be told when more is written."""
    return all(
        number in compared and sum(compared[number]) >= 0.9 * sum(ends) for number, ends in wanted.items()
    )


def most_memory() -> float:
    """The most memory that this process has had, in MiB. (What ``getrusage`` says is also of who started it.)"""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["alone", "audit"])
    parser.add_argument("--source", required=True, help="librdkafka's settings, as JSON")
    parser.add_argument("--target", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    told = parser.parse_args()
    configs = {SOURCE: json.loads(told.source), TARGET: json.loads(told.target)}
    found: dict[str, Any] = {}
    began, before = time.monotonic(), time.process_time()
    if told.what == "alone":
        found["size"] = read_alone(configs, told.topic, told.partitions)
    else:
        found |= audit(configs, told.topic, told.partitions)
    found |= {
        "seconds": time.monotonic() - began,
        "cpu_seconds": time.process_time() - before,
        "most_mib": most_memory(),
    }
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
