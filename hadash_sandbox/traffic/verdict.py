"""Judges records by the journals of producers and consumers: lost, consumed twice, out of order. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hadash_sandbox.traffic.journal import Journal, Run

#: Seconds within which the order of two members' reads is unknown. A float of seconds since 1970 is exact to a quarter
#: of this. (All clients run on one machine and share its clock.)
CLOCK_SECONDS = 1e-6

#: Seconds before a switch in which the ordinary spacing of a client's records is measured.
SPACING_SECONDS = 10.0


@dataclass
class GroupVerdict:
    """What one consumer group read of the acknowledged records.

    ``duplicated`` counts every read of a record but its first, by any member and for any reason: a hand-over at a
    rebalance is no excuse. ``ambiguous`` counts records for which the journals do not tell whether a higher number was
    read before.
    """

    group: str
    acked: int = 0
    read: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    ambiguous: int = 0
    #: Records that were read, but that none of the demo's producers wrote: they are no part of the verdict.
    strangers: int = 0
    examples: list[str] = field(default_factory=list)
    stranger_examples: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether no record is lost, duplicated, out of order, or of unknown order."""
        return self.lost == self.duplicated == self.out_of_order == self.ambiguous == 0


def merge(runs: Iterable[Run]) -> list[tuple[int, int]]:
    """The numbers of runs as disjoint intervals, in order."""
    merged: list[list[int]] = []
    for first, last in sorted((r.first, r.last) for r in runs):
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return [(first, last) for first, last in merged]


def _missing(wanted: Sequence[tuple[int, int]], had: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of ``wanted`` that ``had`` does not cover."""
    missing = []
    for first, last in wanted:
        at = first
        for begin, end in had:
            if end < at or begin > last:
                continue
            if begin > at:
                missing.append((at, begin - 1))
            at = end + 1
            if at > last:
                break
        if at <= last:
            missing.append((at, last))
    return missing


#: Strangers' records of each consumer that a verdict lists, at most.
STRANGERS_NAMED = 3

#: All of time.
ALWAYS = (0.0, float("inf"))


class _RunOf(NamedTuple):
    """A run, the index of the member that read it, and its place in that member's journal."""

    member: int
    place: int
    run: Run


class _Reading(NamedTuple):
    """One read of one record by one member, at some time from ``earliest`` to ``latest``.

    The times of the first and the last record of a run are known exactly. ``place`` orders the reads of one member.
    """

    member: int
    place: tuple[int, int]
    earliest: float
    latest: float


def judge(
    group: str,
    producers: Iterable[Journal],
    consumers: Iterable[Journal],
    window: tuple[float, float] = ALWAYS,
) -> GroupVerdict:
    """Compare the acknowledged records of producers with the reads of the members of one group.

    A number that the group read twice is duplicated. A number whose first read came after a higher number of its key is
    out of order. A number that was acknowledged and never read is lost.

    :param window: only records that were acknowledged, or read, in this time count (seconds since 1970). They are
        compared with everything that was ever read.
    """
    verdict = GroupVerdict(group)
    members = list(consumers)
    acked: dict[str, list[Run]] = defaultdict(list)
    for journal in producers:
        for run in journal.acked:
            if _within(run.began, run.ended, window):
                acked[run.key].append(run)
    read: dict[str, list[_RunOf]] = defaultdict(list)
    for member, journal in enumerate(members):
        verdict.strangers += len(journal.strangers)
        verdict.stranger_examples += [
            f"{topic}-{partition} at {offset}: {shown}"
            for topic, partition, offset, shown in journal.strangers[:STRANGERS_NAMED]
        ]
        for place, run in enumerate(journal.read):
            read[run.key].append(_RunOf(member, place, run))
    for key, runs in sorted(acked.items()):
        wanted = merge(runs)
        verdict.acked += sum(last - first + 1 for first, last in wanted)
        for first, last in _missing(wanted, merge(r.run for r in read.get(key, ()))):
            verdict.lost += last - first + 1
            verdict.examples.append(f"lost {key} {_span(first, last)}")
    names = [journal.name for journal in members]
    for key, readings in sorted(read.items()):
        verdict.read += sum(
            r.run.last - r.run.first + 1 for r in readings if _within(r.run.began, r.run.ended, window)
        )
        readings.sort(key=lambda r: (r.run.began, r.member, r.place))
        if not _plain(readings):
            _judge_key(verdict, key, readings, window, names)
    return verdict


def _within(began: float, ended: float, window: tuple[float, float]) -> bool:
    return ended >= window[0] and began <= window[1]


def _plain(runs: Sequence[_RunOf]) -> bool:
    """Whether the runs of a key, ordered by their beginning, rise and do not overlap in time.

    Such runs have no fault, so that they need not be judged record by record.
    """
    highest = -1
    ended: dict[int, float] = {}
    places: dict[int, int] = {}
    for member, place, run in runs:
        others = max((at for other, at in ended.items() if other != member), default=0.0)
        if run.first <= highest or run.began <= others + CLOCK_SECONDS or place < places.get(member, 0):
            return False
        highest, ended[member], places[member] = run.last, run.ended, place
    return True


def _judge_key(
    verdict: GroupVerdict,
    key: str,
    runs: Sequence[_RunOf],
    window: tuple[float, float],
    names: Sequence[str],
) -> None:
    """Count the repeated and the late records of one key, record by record."""
    readings = _readings(runs)
    higher = _Higher()
    found: dict[str, list[int]] = defaultdict(list)
    for number in sorted(readings, reverse=True):
        first, *again = sorted(readings[number], key=lambda r: (r.earliest, r.latest))
        if _within(first.earliest, first.latest, window):
            if all(higher.before(r) for r in (first, *again)):
                verdict.out_of_order += 1
                found["out of order"].append(number)
            elif all(higher.perhaps_before(r) for r in (first, *again)):
                verdict.ambiguous += 1
                found["order not known of"].append(number)
        for reading in again:
            if _within(reading.earliest, reading.latest, window):
                verdict.duplicated += 1
                found[f"consumed twice, by {names[first.member]} and {names[reading.member]},"].append(number)
        for reading in (first, *again):
            higher.add(reading)
    for what, numbers in found.items():
        verdict.examples += [f"{what} {key} {_span(*span)}" for span in _spans(numbers)]


def _readings(runs: Iterable[_RunOf]) -> dict[int, list[_Reading]]:
    """By number, all of its reads."""
    found: dict[int, list[_Reading]] = defaultdict(list)
    for member, place, run in runs:
        for number in range(run.first, run.last + 1):
            earliest = run.ended if number == run.last > run.first else run.began
            latest = run.began if number == run.first else run.ended
            found[number].append(_Reading(member, (place, number), earliest, latest))
    return found


class _Higher:
    """For each member, when it first read a number higher than the one that is being judged."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[int, int]] = {}
        self._earliest: dict[int, float] = {}
        self._latest: dict[int, float] = {}

    def add(self, reading: _Reading) -> None:
        """Add a read of a number; numbers are added from the highest down."""
        member = reading.member
        self._places[member] = min(self._places.get(member, reading.place), reading.place)
        self._earliest[member] = min(self._earliest.get(member, reading.earliest), reading.earliest)
        self._latest[member] = min(self._latest.get(member, reading.latest), reading.latest)

    def before(self, reading: _Reading) -> bool:
        """Whether a higher number was certainly read before."""
        return self._own_before(reading) or any(
            at + CLOCK_SECONDS < reading.earliest for at in self._of_others(self._latest, reading)
        )

    def perhaps_before(self, reading: _Reading) -> bool:
        """Whether a higher number may have been read before."""
        return self._own_before(reading) or any(
            at <= reading.latest + CLOCK_SECONDS for at in self._of_others(self._earliest, reading)
        )

    def _own_before(self, reading: _Reading) -> bool:
        """Whether the same member read a higher number before: its journal has the order, whatever the clock says."""
        place = self._places.get(reading.member)
        return place is not None and place < reading.place

    @staticmethod
    def _of_others(times: dict[int, float], reading: _Reading) -> Iterator[float]:
        return (at for member, at in times.items() if member != reading.member)


def _spans(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Consecutive numbers as (first, last).

    >>> list(_spans([7, 3, 2, 1]))
    [(1, 3), (7, 7)]
    """
    runs = merge(Run("", number, number, 0.0, 0.0) for number in numbers)
    return iter(runs)


def _span(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"


def journal_faults(journal: Journal, killed: bool = False) -> list[str]:
    """Sentences that say why a journal does not have everything that its client did; none when it has.

    :param killed: its process was killed on purpose, so that an unfinished line is no fault; see
        :attr:`Journal.cut_off`.
    """
    faults = [f"the journal of {journal.name} cannot be read at line {line}" for line in journal.corrupt]
    if not killed:
        faults += [
            f"the journal of {journal.name} is cut off at line {line}: its process ended while it wrote"
            for line in journal.cut_off
        ]
    return faults + [f"{journal.name} did not finish: {text}" for text in journal.unfinished]


def damages(journal: Journal) -> list[str]:
    """A sentence for each record that a client did not read as it was written.

    >>> damages(Journal("reader", damaged=[("a", 1, "header None"), ("", -1, "no number")]))
    ['reader read damaged: a 1 (header None)', 'reader read damaged: a record (no number)']
    """
    return [
        f"{journal.name} read damaged: {f'{key} {number}' if key else 'a record'} ({what})"
        for key, number, what in journal.damaged
    ]


def longest_gap(journal: Journal, began: float, ended: float) -> float | None:
    """The longest time between two records of a client, of all its keys together, that overlaps [began, ended].

    It includes the ordinary spacing of records. Times are in seconds.

    :return: ``None`` when the journal has no gap in that time.
    """
    return max((e - b for b, e in journal.gaps if e >= began and b <= ended), default=None)


def spacing_before(journal: Journal, at: float) -> float | None:
    """The longest time between two records in the :data:`SPACING_SECONDS` before ``at``, to compare a pause with.

    :return: ``None`` when the journal has no gap in that time.
    """
    return max((e - b for b, e in journal.gaps if at - SPACING_SECONDS <= b and e <= at), default=None)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of ``values`` do not exceed (nearest rank).

    :raises ValueError: there are no values.

    >>> percentile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    if not values:
        raise ValueError("a percentile of no values")
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * share // 1))
    return ordered[int(min(rank, len(ordered))) - 1]
