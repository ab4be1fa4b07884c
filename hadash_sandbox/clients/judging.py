"""What became of one library's records: what was acknowledged, beside what is in the log and what was read. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import Any

from hadash_sandbox.traffic.journal import Journal, Run
from hadash_sandbox.traffic.verdict import merge

#: What hadash refuses to move, by library and offsets, with words of its reason (``switching/stages/precheck.py``,
#: ``reading_on.py``). The stock assignor of franz-go is a cooperative one, which is refused whatever the offsets;
#: @platformatic/kafka reads on while it rejoins, which does no harm where offsets are equal. All else has to move, and
#: these have to be refused.
REFUSED = {
    ("franz-go", "equal"): "Cooperative rebalancing cannot be moved yet",
    ("franz-go", "shifted"): "Cooperative rebalancing cannot be moved yet",
    ("platformatic", "shifted"): "go on from their own positions when they rejoin their group",
    ("kafka-python", "shifted"): "go on from their own positions when they rejoin their group",
}


#: Of each Topic.
PARTITIONS = 3

#: Records that one consumer may read again at each rebalance, whoever caused it. kafka-go's Reader hands out
#: a record after its generation has ended, and commits it in the next one, which has begun before it. (On
#: Kafka itself, without hadash: 5 records in 8 rebalances of two members.) The stream of @platformatic/kafka
#: 2.12 keeps the commits of what it hands out while it rejoins, and when it has, sends them and asks for the
#: committed offsets at the same time (``messages-stream.js``, ``#onConsumerGroupJoin``): it may begin before
#: them. (On Kafka itself: 1 record in 16 quick rebalances, up to 19 in one in which another member was slow.)
#: So many as one of each partition are let pass.
READS_AGAIN = {"kafka-go": 1, "platformatic": PARTITIONS}

#: Whose producers change the order of what they send again, whatever has caused that: until 1.46 Sarama does
#: so even with one request under way (IBM/sarama#2619, mended by its #3422). The table has the number; it is
#: not counted against the switch.
REORDERS = frozenset({"sarama-1.45", "sarama-1.40"})

#: There and back.
REBALANCES = 2


@dataclass(frozen=True, slots=True)
class Logged:
    """One record of a Topic's log, in the order of its partition."""

    key: str
    number: int
    #: What is wrong with it; empty when it is as it was written.
    damage: str = ""
    partition: int = 0
    #: Milliseconds since 1970, and what it is the time of (Kafka's timestamp type).
    timestamp: tuple[int, int] = (0, 0)
    #: A digest of its key, value and headers.
    content: bytes = b""


#: Different notes of a cell's clients that its report has.
SAID = 10


@dataclass(slots=True)
class Cell:
    """One library, moved there and back in one way. Counts are records, pauses seconds."""

    library: str
    offsets: str
    scope: str
    acked: int = 0
    #: Acknowledged and not in the log of the cluster where the Topic has come back to.
    lost: int = 0
    #: In the log more than once.
    doubled: int = 0
    #: In the log, or read for the first time, behind a later record of the same key; in the log in another partition
    #: than that one, or in another order on the other cluster.
    out_of_order: int = 0
    #: Not as written, in the log or as it was read.
    damaged: int = 0
    consumed_twice: int = 0
    #: In the log and never read.
    skipped: int = 0
    #: Given up by the producer: its application saw an error.
    failed: int = 0
    #: Neither acknowledged nor given up: the producer does not know whether they were written.
    unknown: int = 0
    #: How often a client's program ended by itself.
    restarts: int = 0
    write_pause: float | None = None
    read_pause: float | None = None
    #: Why it was not moved: hadash's own words to whoever asked for it, so that no switch has begun.
    refused: str = ""
    #: What kept this cell from being measured, or a switch from succeeding.
    fault: str = ""
    examples: list[str] = field(default_factory=list)
    #: What the clients' programs said besides, of errors mostly: how often, by who and what. (No fault by
    #: itself: libraries say each connection that ends.)
    said: dict[str, int] = field(default_factory=dict)

    @property
    def to_be_refused(self) -> str:
        """What the reason says for which hadash refuses to move it; empty where it has to move it."""
        return REFUSED.get((self.library, self.offsets), "")

    @property
    def clean(self) -> bool:
        """Whether nothing at all is wrong.

        A refusal is no fault where :data:`REFUSED` has it, for the reason that stands there. A cell that was neither
        refused nor measured is a fault, and so is one that was moved although it has to be refused.
        """
        if self.fault:
            return False
        if self.refused or self.to_be_refused:
            return self.refused_rightly
        return self.wrong == 0

    @property
    def refused_rightly(self) -> bool:
        return bool(self.to_be_refused) and self.to_be_refused in self.refused and not self.fault

    @property
    def wrong(self) -> int | None:
        """How much is wrong with its records and clients; ``None`` when it was not measured."""
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
        return {**asdict(self), "clean": self.clean}


def judge(
    cell: Cell, producer: Journal, consumer: Journal, log: Sequence[Logged], mirrored: Sequence[Logged]
) -> None:
    """Fill in ``cell``'s counts.

    :param log: all of the Topic on the cluster that it has come back to. :param mirrored: on the other one.
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
    # Nobody else writes into these Topics: what looks like somebody else's record was ours.
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
    """Records that a producer sent and was never answered for.

    Programs in Go and JavaScript do not say which these are: they are in the log, or leave a hole in the
    numbers that were answered.
    """
    answered = acked | {(key, number) for key, number, _ in producer.failed}
    sent = {(key, number) for key, number, _ in producer.unknown} | {
        (key, number) for key, number in logged if number >= 0
    }
    if not producer.restarts:  # one that was started again goes on behind a hole
        highest: dict[str, int] = {}
        for key, number in answered:
            highest[key] = max(highest.get(key, -1), number)
        sent |= {(key, number) for key, last in highest.items() for number in range(last)}
    return sent - answered


def _as_read(consumer: Journal) -> Iterator[tuple[str, int]]:
    """Every reading of every record, in the order of reading within each key."""
    return ((run.key, number) for run in consumer.read for number in range(run.first, run.last + 1))


def _other_than(log: Sequence[Logged], mirrored: Sequence[Logged]) -> dict[tuple[str, int], str]:
    """Records that one cluster holds otherwise than the other, or more often."""
    here, there = Counter(log), Counter(mirrored)
    return {
        (each.key, each.number): "not the same on both clusters" for each in (here - there) + (there - here)
    }


def _in_other_order(log: Sequence[Logged], mirrored: Sequence[Logged]) -> set[tuple[str, int]]:
    """Records in whose place the other cluster has another one, where both hold the same ones."""
    if Counter(log) != Counter(
        mirrored
    ):  # these are named as damaged: behind one that is missing every place is another
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
    """How many acknowledged records nobody has read yet."""
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
    """Records that stand, for the first time, behind a later one of their key."""
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
    """Records in another partition than the first one of their key: between partitions there is no order."""
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
