"""Judges one library's records: compares what was acknowledged with the logs and with what was read. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import Any

from hadash_sandbox.traffic.journal import Journal, Run
from hadash_sandbox.traffic.verdict import merge

#: What hadash has to refuse to move, by library and offsets, with words of its reason
#: (``switching/stages/precheck.py``, ``reading_on.py``). The stock assignor of franz-go is a cooperative one, which is
#: refused for any offsets. @platformatic/kafka and kafka-python keep their own positions when they rejoin, which does
#: no harm where offsets are equal. All other cells have to move.
REFUSED = {
    ("franz-go", "equal"): "Cooperative rebalancing cannot be moved yet",
    ("franz-go", "shifted"): "Cooperative rebalancing cannot be moved yet",
    ("platformatic", "shifted"): "go on from their own positions when they rejoin their group",
    ("kafka-python", "shifted"): "go on from their own positions when they rejoin their group",
}


#: Partitions of each Topic.
PARTITIONS = 3

#: Records that one consumer may read again at each rebalance, for whatever cause.
#:
#: kafka-go's Reader hands out a record after its generation has ended, and commits it in the next generation, which has
#: begun to read before that record. (On Kafka itself, without hadash: 5 records in 8 rebalances of two members.)
#:
#: The stream of @platformatic/kafka 2.12 keeps back its commits while it rejoins. Afterwards it sends them and asks for
#: the committed offsets at the same time (``messages-stream.js``, ``#onConsumerGroupJoin``), so it may begin before
#: them. (On Kafka itself: 1 record in 16 quick rebalances, up to 19 in one with a slow other member.) One record of
#: each partition is tolerated.
READS_AGAIN = {"kafka-go": 1, "platformatic": PARTITIONS}

#: Libraries whose producers reorder the records that they send again, for whatever cause. Before 1.46 Sarama does so
#: even with one request in flight (IBM/sarama#2619, fixed by its #3422). The table shows the number, but it is not
#: counted against the switch.
REORDERS = frozenset({"sarama-1.45", "sarama-1.40"})

#: Rebalances of a cell: one for the switch there, one for the switch back.
REBALANCES = 2


@dataclass(frozen=True, slots=True)
class Logged:
    """One record of a Topic's log, in the order of its partition."""

    key: str
    number: int
    #: What is wrong with the record; empty when it is as it was written.
    damage: str = ""
    partition: int = 0
    #: Milliseconds since 1970, and Kafka's timestamp type.
    timestamp: tuple[int, int] = (0, 0)
    #: A digest of the key, value and headers.
    content: bytes = b""


#: Different notes of a cell's clients that the report lists, at most.
SAID = 10


@dataclass(slots=True)
class Cell:
    """One library, moved there and back in one way. Counts are of records, pauses in seconds."""

    library: str
    offsets: str
    scope: str
    acked: int = 0
    #: Acknowledged, and not in the log of the home cluster.
    lost: int = 0
    #: In the log more than once.
    doubled: int = 0
    #: In the log, or read for the first time, behind a later record of the same key; or in another partition than the
    #: first record of the key; or in another order on the other cluster.
    out_of_order: int = 0
    #: Not as written, in the log or when read.
    damaged: int = 0
    consumed_twice: int = 0
    #: In the log, and never read.
    skipped: int = 0
    #: Failed by the producer: its application saw an error.
    failed: int = 0
    #: Neither acknowledged nor failed: the producer does not know whether they were written.
    unknown: int = 0
    #: How often a client's program ended by itself.
    restarts: int = 0
    write_pause: float | None = None
    read_pause: float | None = None
    #: Why hadash refused the request, in its own words; no switch has begun then.
    refused: str = ""
    #: Why this cell could not be measured, or a switch did not succeed.
    fault: str = ""
    examples: list[str] = field(default_factory=list)
    #: Other output of the clients' programs, mostly errors: how often, by program and text. (It is no fault by itself:
    #: libraries log each connection that ends.)
    said: dict[str, int] = field(default_factory=dict)

    @property
    def to_be_refused(self) -> str:
        """Words of the reason for which hadash has to refuse this cell; empty where it has to move it."""
        return REFUSED.get((self.library, self.offsets), "")

    @property
    def clean(self) -> bool:
        """Whether nothing at all is wrong.

        A refusal is right where :data:`REFUSED` has it, and for the reason given there. A cell that was neither refused
        nor measured is not clean, nor is one that was moved although it has to be refused.
        """
        if self.fault:
            return False
        if self.refused or self.to_be_refused:
            return self.refused_rightly
        return self.wrong == 0

    @property
    def refused_rightly(self) -> bool:
        """Whether it was refused where hadash has to refuse it, and for that reason."""
        return bool(self.to_be_refused) and self.to_be_refused in self.refused and not self.fault

    @property
    def wrong(self) -> int | None:
        """The number of wrong records and restarts; ``None`` when the cell was not measured."""
        measured = self.acked > 0 and self.write_pause is not None and self.read_pause is not None
        if self.fault or self.refused or not measured:
            return None
        return (
            self.lost
            + self.doubled
            + (0 if self.library in REORDERS else self.out_of_order)
            + self.damaged
            + max(self.consumed_twice - REBALANCES * READS_AGAIN.get(self.library, 0), 0)
            + self.skipped
            + self.failed
            + self.unknown
            + self.restarts
        )

    def described(self) -> dict[str, Any]:
        """All fields, and whether the cell is clean, for JSON."""
        return {**asdict(self), "clean": self.clean}


def judge(
    cell: Cell, producer: Journal, consumer: Journal, log: Sequence[Logged], mirrored: Sequence[Logged]
) -> None:
    """Fill in the counts, examples and notes of ``cell``.

    :param log: the Topic's whole log on the home cluster.
    :param mirrored: its whole log on the other cluster.
    """
    acked = _numbers(producer.acked)
    counts = Counter((each.key, each.number) for each in log)
    read = _times_read(consumer.read)
    cell.acked = len(acked)
    lost = acked - counts.keys()
    doubled = {each: count for each, count in counts.items() if count > 1}
    late = _late((each.key, each.number) for each in log) | _late(_as_read(consumer))
    late |= _elsewhere(log) | _in_other_order(log, mirrored)
    damaged = {(each.key, each.number): each.damage for each in log if each.damage}
    damaged |= {(key, number): what for key, number, what in consumer.damaged}
    damaged |= _other_than(log, mirrored)
    # No other program writes into these Topics, so a record that looks like a stranger's is a damaged one.
    damaged |= {
        (f"{topic}-{partition} at {offset}", -1): f"value {shown!r}"
        for topic, partition, offset, shown in consumer.strangers
    }
    again = {each: count for each, count in read.items() if count > counts.get(each, 1)}
    skipped = counts.keys() - read.keys()
    cell.lost = len(lost)
    cell.doubled = sum(count - 1 for count in doubled.values())
    cell.out_of_order = len(late)
    cell.damaged = len(damaged)
    cell.consumed_twice = sum(count - counts.get(each, 1) for each, count in again.items())
    cell.skipped = len(skipped)
    unknown = _unknown(producer, acked, counts.keys())
    failed = [*producer.failed, *consumer.failed]
    cell.failed = len(failed)
    cell.unknown = len(unknown)
    cell.restarts += len(producer.restarts) + len(consumer.restarts)
    for name, found in (
        ("lost", lost),
        ("doubled", doubled),
        ("out of order", late),
        ("consumed twice", again),
        ("skipped", skipped),
        ("fate not known", unknown),
    ):
        if found:
            cell.examples.append(f"{name}: {_some(found)}")
    if damaged:
        first = min(damaged)
        cell.examples.append(f"damaged: {first} {damaged[first]}")
    cell.examples += [f"failed: {error}" for _, _, error in failed[:1]]
    cell.examples += [f"restart: {why}" for why in (*producer.restarts[:1], *consumer.restarts[:1])]
    said = Counter(f"{journal.name}: {note}" for journal in (producer, consumer) for note in journal.notes)
    cell.said = dict(said.most_common(SAID))


def _unknown(
    producer: Journal, acked: Set[tuple[str, int]], logged: Set[tuple[str, int]]
) -> set[tuple[str, int]]:
    """Records that a producer sent without ever receiving an answer.

    Programs in Go and JavaScript do not report these records. They are found in the log, or as holes in the numbers
    that were answered.
    """
    answered = acked | {(key, number) for key, number, _ in producer.failed}
    sent = {(key, number) for key, number, _ in producer.unknown} | {
        (key, number) for key, number in logged if number >= 0
    }
    if not producer.restarts:  # a producer that was restarted continues after a hole
        highest: dict[str, int] = {}
        for key, number in answered:
            highest[key] = max(highest.get(key, -1), number)
        sent |= {(key, number) for key, last in highest.items() for number in range(last)}
    return sent - answered


def _as_read(consumer: Journal) -> Iterator[tuple[str, int]]:
    """(key, number) of every read of every record, in the order of reading within each key."""
    return ((run.key, number) for run in consumer.read for number in range(run.first, run.last + 1))


def _other_than(log: Sequence[Logged], mirrored: Sequence[Logged]) -> dict[tuple[str, int], str]:
    """Records that differ between the clusters, or that one cluster has more often than the other."""
    here, there = Counter(log), Counter(mirrored)
    return {
        (each.key, each.number): "not the same on both clusters" for each in (here - there) + (there - here)
    }


def _in_other_order(log: Sequence[Logged], mirrored: Sequence[Logged]) -> set[tuple[str, int]]:
    """Records in whose place the other cluster has another record, if both clusters have the same records."""
    if Counter(log) != Counter(
        mirrored
    ):  # the differences are counted as damaged; behind a missing record, every place would differ
        return set()
    here, there = _by_partition(log), _by_partition(mirrored)
    return {
        (one.key, one.number)
        for partition, records in here.items()
        for one, other in zip(records, there[partition], strict=True)
        if one != other
    }


def _by_partition(log: Iterable[Logged]) -> dict[int, list[Logged]]:
    found: dict[int, list[Logged]] = {}
    for each in log:
        found.setdefault(each.partition, []).append(each)
    return found


def unread(producer: Journal, consumer: Journal) -> int:
    """The number of acknowledged records that the consumer has not read yet."""
    return len(_numbers(producer.acked) - _times_read(consumer.read).keys())


def _numbers(runs: Iterable[Run]) -> set[tuple[str, int]]:
    by_key: dict[str, list[Run]] = {}
    for run in runs:
        by_key.setdefault(run.key, []).append(run)
    return {
        (key, number)
        for key, found in by_key.items()
        for first, last in merge(found)
        for number in range(first, last + 1)
    }


def _times_read(runs: Iterable[Run]) -> Counter[tuple[str, int]]:
    return Counter((run.key, number) for run in runs for number in range(run.first, run.last + 1))


def _late(records: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Records whose first occurrence is behind a record of the same key with a higher number."""
    highest: dict[str, int] = {}
    seen: set[tuple[str, int]] = set()
    late = set()
    for key, number in records:
        if (key, number) not in seen and number < highest.get(key, -1):
            late.add((key, number))
        seen.add((key, number))
        highest[key] = max(highest.get(key, -1), number)
    return late


def _elsewhere(log: Iterable[Logged]) -> set[tuple[str, int]]:
    """Records in another partition than the first record of their key: there is no order between partitions."""
    places: dict[str, int] = {}
    return {
        (each.key, each.number)
        for each in log
        if places.setdefault(each.key, each.partition) != each.partition
    }


def _some(found: Iterable[tuple[str, int]], most: int = 3) -> str:
    ordered = sorted(found)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(f"{key} {number}" for key, number in ordered[:most]) + more
