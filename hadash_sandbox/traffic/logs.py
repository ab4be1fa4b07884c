"""Judges the logs of both clusters after a run: records twice, late, missing, or different on one side. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hadash_sandbox.traffic.journal import Journal
from hadash_sandbox.traffic.libraries import place

#: Differences of one partition that are described one by one.
DESCRIBED = 3


class Logged(NamedTuple):
    """One record of a log."""

    offset: int
    key: str
    #: The number that its value begins with; ``None`` when there is none, so that no client of the trial wrote it.
    number: int | None
    #: A digest of key, value and headers.
    content: bytes
    #: Milliseconds since 1970, and Kafka's timestamp type.
    timestamp: tuple[int, int]


#: Records by Topic and partition, in the order of the log.
Logs = Mapping[tuple[str, int], Sequence[Logged]]

#: By cluster, Topic and partition: the number of records that a mirror has copied twice, as hadash reports it.
CopiedTwice = Mapping[tuple[str, str, int], int]


@dataclass
class LogsVerdict:
    """Counts over the logs of all sides (clusters)."""

    #: Records read, on all sides.
    records: int = 0
    #: Records that are there twice, without those that hadash reports as copied twice.
    written_twice: int = 0
    #: Records that a mirror has copied twice, as hadash reports it too.
    copied_twice: int = 0
    out_of_order: int = 0
    #: Records that one side has and the other does not have, or has elsewhere in the partition.
    different: int = 0
    #: Records that were acknowledged, and are on no side.
    missing: int = 0
    #: Records that no client of the trial wrote. They are compared, but have no number.
    strangers: int = 0
    examples: list[str] = field(default_factory=list)


def number_of(value: bytes | None) -> int | None:
    """The number that a client's value begins with; ``None`` when it begins with none.

    >>> number_of(b"12 carts-writer xxx")
    12
    >>> number_of(b"hello") is None
    True
    """
    words = (value or b"").split(b" ", 1)
    return int(words[0]) if words[0].isdigit() else None


def judge_logs(sides: Mapping[str, Logs], told: CopiedTwice | None = None) -> LogsVerdict:
    """Judge the logs of each cluster, and compare them.

    In one log, a number of a key that occurs at two offsets is written twice, and a number whose first occurrence is
    behind a higher one of its key is out of order. Both sides have to have the same records, partition by partition and
    in the same order, with the same keys, values, headers and timestamps; offsets may differ.

    When a Connect worker dies, its mirror may copy records a second time. Such copies are left out if hadash reports
    exactly as many in that partition as there are.

    :param sides: by cluster, the whole logs of the same Topics.
    :param told: the copies that hadash reports.
    """
    verdict = LogsVerdict()
    sides = {
        side: {
            where: _without_copies(verdict, (side, *where), records, (told or {}).get((side, *where), 0))
            for where, records in logs.items()
        }
        for side, logs in sides.items()
    }
    for side, logs in sides.items():
        for (topic, partition), records in logs.items():
            verdict.records += len(records)
            _judge_log(verdict, f"{side} {topic}/{partition}", records)
    one, *others = sides.items() or [("", {})]
    for other in others:
        for where in sorted(one[1].keys() | other[1].keys()):
            _compare(verdict, where, (one[0], one[1].get(where, ())), (other[0], other[1].get(where, ())))
    return verdict


def _without_copies(
    verdict: LogsVerdict, where: tuple[str, str, int], records: Sequence[Logged], told: int
) -> Sequence[Logged]:
    """The log without second copies of the same record, if there are exactly ``told`` of them."""
    if not told:
        return records
    seen: set[tuple[str, int | None, bytes, tuple[int, int]]] = set()
    first = []
    for record in records:
        if record[1:] not in seen:
            seen.add(record[1:])
            first.append(record)
    found = len(records) - len(first)
    if found != told:
        verdict.examples.append(
            f"hadash says that {told} records of {where[0]} {where[1]}/{where[2]} were copied twice; "
            f"{found} are there twice"
        )
        return records
    verdict.records += found
    verdict.copied_twice += found
    return first


def _judge_log(verdict: LogsVerdict, name: str, records: Iterable[Logged]) -> None:
    highest: dict[str, Logged] = {}
    seen: dict[str, dict[int, int]] = defaultdict(dict)
    for record in records:
        if record.number is None:
            verdict.strangers += 1
            continue
        what = f"{record.key} {record.number}"
        before = seen[record.key].setdefault(record.number, record.offset)
        top = highest.setdefault(record.key, record)
        if before != record.offset:
            verdict.written_twice += 1
            verdict.examples.append(
                f"written twice: {what}, at offsets {before} and {record.offset} of {name}"
            )
        elif top.number is not None and record.number < top.number:
            verdict.out_of_order += 1
            verdict.examples.append(
                f"out of order: {what}, at offset {record.offset} of {name} after {top.number}"
            )
        else:
            highest[record.key] = record


def _compare(
    verdict: LogsVerdict,
    where: tuple[str, int],
    one: tuple[str, Sequence[Logged]],
    other: tuple[str, Sequence[Logged]],
) -> None:
    """Compare the records of one partition on two sides, each given as (cluster, records)."""
    held = [Counter((r.content, r.timestamp) for r in records) for _, records in (one, other)]
    only = {one[0]: held[0] - held[1], other[0]: held[1] - held[0]}
    lacking = sum(count for found in only.values() for count in found.values())
    for (side, records), lacks in zip((one, other), (other[0], one[0]), strict=True):
        extra = [r for r in records if (r.content, r.timestamp) in only[side]]
        for record in extra[:DESCRIBED]:
            verdict.examples.append(
                f"only on {side}, not (so) on {lacks}: {record.key} {record.number}, at offset {record.offset} "
                f"of {where[0]}/{where[1]}"
            )
    moved = 0
    if not lacking:
        pairs = zip(one[1], other[1], strict=True)
        moved = sum((a.content, a.timestamp) != (b.content, b.timestamp) for a, b in pairs)
        if moved:
            verdict.examples.append(f"in another order on {other[0]} than on {one[0]}: {where[0]}/{where[1]}")
    verdict.different += lacking + moved


def held_numbers(sides: Mapping[str, Logs], library: str, topics: Iterable[str]) -> set[tuple[str, int]]:
    """(key, number) of every record of these Topics on any side, as the journals of the library's clients have them."""
    wanted = set(topics)
    own_keys = library in ("librdkafka", "fleet")  # others number all records of a Topic, see records.place
    return {
        (record.key, record.number) if own_keys else place(topic, record.number)
        for logs in sides.values()
        for (topic, _), records in logs.items()
        if topic in wanted
        for record in records
        if record.number is not None
    }


def find_missing(verdict: LogsVerdict, journal: Journal, held: set[tuple[str, int]] | None) -> None:
    """Count the acknowledged records of one producer that are on no side.

    :param held: the records on any side; ``None`` when that is not known: then nothing is counted.
    """
    for run in journal.acked:
        for number in range(run.first, run.last + 1):
            if held is not None and (run.key, number) not in held:
                verdict.missing += 1
                verdict.examples.append(f"acknowledged, and on no cluster: {run.key} {number}")


def fates(journal: Journal, held: set[tuple[str, int]] | None) -> list[str]:
    """A sentence for each record whose fate its producer does not know: whether it is on a cluster.

    :param held: the records on any side; ``None`` when that is not known.
    """

    def fate(record: tuple[str, int]) -> str:
        if held is None:
            return "could not be looked for on the clusters"
        return "is on a cluster all the same" if record in held else "is on no cluster"

    return [
        f"{journal.name}: {key} {number} ({why}) {fate((key, number))}"
        for key, number, why in journal.unknown
    ]
