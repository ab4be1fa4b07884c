"""Compares all that both sides still hold of a partition, from the oldest records on. Pure.

Auditors begin where both sides are known to correspond, and go on from there. Here nobody knows where the oldest
records of one side stand on the other: retention may have removed more of one side, and offsets may have been further
apart. So the first place is searched at which both sides agree. What one side holds before it was not compared: the
other may have held it, and nobody can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hadash.auditing.aligning import AGREE, SEARCHED, Aligner, Side, Which, agreeing
from hadash.auditing.findings import Finding, Kind
from hadash.auditing.prints import Print


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a partition.

    :param source: the offsets of the first record of the source that was compared and of the one after the last, and
        ``target`` those of the target; ``None``: nothing was.
    :param older: records of each side before the first that both hold: they were not compared.
    :param late: records of the source that the target did not hold yet when its end was read.
    :param kinds: how many differences there are of each kind. :param found: the first of them.
    :param has_no_place: no place was found at which both sides agree, among the first records of both: nothing is
        known of the partition then, also not that it differs.
    """

    source: tuple[int, int] | None = None
    target: tuple[int, int] | None = None
    equal: int = 0
    older: tuple[int, int] = (0, 0)
    late: int = 0
    kinds: dict[Kind, int] = field(default_factory=dict)
    found: list[Finding] = field(default_factory=list)
    has_no_place: bool = False

    @property
    def different(self) -> int:
        """How many records differ. (Offsets that have shifted are no record's fault.)"""
        return sum(count for kind, count in self.kinds.items() if kind is not Kind.OFFSETS)


class WholePartition:
    """Compares a partition, whose records are fed in the order of their places, those of both sides beside each other.

    :param noted: how many differences are kept; more are only counted.
    """

    def __init__(self, noted: int) -> None:
        self._noted = noted
        self._leading = {which: Side() for which in Which}
        self._older = Counter[Which]()
        self._aligner: Aligner | None = None
        self._has_no_place = False
        self._begin = 0, 0
        self._kinds = Counter[Kind]()
        self._found: list[Finding] = []

    def feed(self, which: Which, offsets: Sequence[int], prints: Sequence[Print]) -> None:
        """Take records of a side. :param offsets: ascending."""
        if self._has_no_place:
            return
        side = self._side(which)
        side.offsets.extend(offsets)
        side.prints.extend(prints)

    def compare(self) -> None:
        """Compare as far as can be told."""
        if self._aligner is None:
            self._begin_if_found(is_end=False)
        if self._aligner is not None:
            self._note(list(self._aligner.compare()))

    def end(self) -> Compared:
        """Nothing follows on either side: say what came of it. What the target has more than the source is too much;
        what the source has more may only be late, as its end was read last.
        """
        if self._aligner is None:
            self._begin_if_found(is_end=True)
        if self._has_no_place:
            return Compared(has_no_place=True)
        if self._aligner is None:
            source, target = (len(self._leading[which]) for which in Which)
            return Compared(older=(self._older[Which.SOURCE] + source, self._older[Which.TARGET] + target))
        self._note(self._aligner.settle())
        aligner = self._aligner
        return Compared(
            (self._begin[0], aligner.source_next),
            (self._begin[1], aligner.target_next),
            aligner.equal,
            (self._older[Which.SOURCE], self._older[Which.TARGET]),
            len(aligner.source),
            dict(self._kinds),
            self._found,
        )

    def _side(self, which: Which) -> Side:
        if self._aligner is None:
            return self._leading[which]
        return self._aligner.source if which is Which.SOURCE else self._aligner.target

    def _begin_if_found(self, *, is_end: bool) -> None:
        """Begin where both sides first agree; where nothing agrees of all that both hold, with their first records.
        Where nothing agrees of all that is searched, and more follows, they may agree further on: give up.
        """
        source, target = self._leading[Which.SOURCE], self._leading[Which.TARGET]
        if is_end or min(len(source), len(target)) >= AGREE:
            place = agreeing(source.prints, target.prints, is_end=is_end)
            if place is not None:
                # What the longer side has more before it is older; the rest differs.
                self._leave_out(place[0] - place[1])
                self._start()
            elif len(source) >= SEARCHED and len(target) >= SEARCHED:
                self._has_no_place = True
                self._leading = {which: Side() for which in Which}
            elif is_end and source and target:
                self._start()
        if self._aligner is None:
            for which, side in self._leading.items():
                # (The other side has nothing so old. What stays is half of what is searched: the rest of that has to
                # reach the records that come next.)
                if not self._other(which) and (surplus := len(side) - SEARCHED // 2) > 0:
                    self._older[which] += surplus
                    side.drop(surplus)

    def _other(self, which: Which) -> Side:
        return self._leading[Which.TARGET if which is Which.SOURCE else Which.SOURCE]

    def _leave_out(self, more: int) -> None:
        """:param more: how many records the source has more than the target; negative: how many less."""
        which = Which.SOURCE if more > 0 else Which.TARGET
        self._older[which] += abs(more)
        self._leading[which].drop(abs(more))

    def _start(self) -> None:
        source, target = self._leading[Which.SOURCE], self._leading[Which.TARGET]
        self._begin = source.offsets[0], target.offsets[0]
        self._aligner = Aligner(*self._begin)
        for side, own in ((self._aligner.source, source), (self._aligner.target, target)):
            self._aligner.feed(side, own.offsets, own.prints)
        self._leading = {which: Side() for which in Which}

    def _note(self, found: Sequence[Finding]) -> None:
        self._kinds.update(each.kind for each in found)
        wanted = [each for each in found if each.kind is not Kind.OFFSETS]
        self._found += wanted[: max(0, self._noted - len(self._found))]


def as_json(partition: int, compared: Compared) -> dict[str, Any]:
    """What came of a partition, as JSON has it; :func:`from_json` reads it."""
    return {
        "partition": partition,
        "source": compared.source,
        "target": compared.target,
        "equal": compared.equal,
        "older": compared.older,
        "late": compared.late,
        "has_no_place": compared.has_no_place,
        "kinds": {kind.value: count for kind, count in compared.kinds.items()},
        "found": [[each.kind.value, each.source, each.target, list(each.parts)] for each in compared.found],
    }


def from_json(told: Mapping[str, Any]) -> Compared:
    """Read what :func:`as_json` has made. :raises KeyError, ValueError, TypeError: it is something else."""
    return Compared(
        _span(told["source"]),
        _span(told["target"]),
        told["equal"],
        (told["older"][0], told["older"][1]),
        told["late"],
        {Kind(kind): count for kind, count in told["kinds"].items()},
        [Finding(Kind(kind), source, target, tuple(parts)) for kind, source, target, parts in told["found"]],
        told["has_no_place"],
    )


def _span(told: Sequence[int] | None) -> tuple[int, int] | None:
    return None if told is None else (told[0], told[1])
