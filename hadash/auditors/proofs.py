"""What the audit of a mirror says. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from hadash.auditors.models import AuditedPartition
from hadash.kafka.values import Partition
from hadash.sentences import NOTHING, Sentence, joined, say

#: For how long a target may lack records without a word about it: a mirror copies in batches.
USUAL_WAIT = timedelta(seconds=10)


class Proof(Enum):
    """How much the audit of a mirror, or of one of its partitions, proves; the worst last."""

    #: Both sides hold the same records, but for what the mirror is about to copy.
    EQUAL = "equal"
    #: The comparison has not come to what is written now.
    UNDER_WAY = "under way"
    #: Nobody has compared it for so long that it proves nothing any more, or it cannot be compared.
    UNKNOWN = "unknown"
    #: Both sides differ, in more than people have accepted.
    DIFFERENT = "different"

    @property
    def rank(self) -> int:
        return list(Proof).index(self)


@dataclass(frozen=True, slots=True)
class PartitionStanding:
    """The audit of one partition.

    :param share: the share of what the source still holds that was compared; ``None`` if it is not known.
    :param age: the time since all that both sides held was compared; ``None`` if that never was.
    """

    row: AuditedPartition
    proof: Proof
    share: float | None
    age: timedelta | None
    #: Whether the target has lacked records of the source for longer than a mirror usually takes.
    is_waiting: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """The audit of a mirror.

    :param expected: the number of its partitions, as far as it is known.
    """

    partitions: Sequence[PartitionStanding]
    expected: int
    proof: Proof

    @property
    def different(self) -> list[PartitionStanding]:
        return [each for each in self.partitions if each.proof is Proof.DIFFERENT]

    @property
    def differences(self) -> int:
        """Differences that nobody has accepted."""
        return sum(each.row.open_differences for each in self.partitions)

    @property
    def accepted(self) -> int:
        """Differences that people have accepted."""
        return sum(each.row.accepted for each in self.partitions)

    @property
    def share(self) -> float | None:
        """The share of what the source holds that was compared, over all partitions; ``None`` if it is not known."""
        held = compared = 0
        for each in self.partitions:
            if each.share is None:
                return None
            size = _held(each.row)
            held += size
            compared += round(each.share * size)
        if not self.partitions:
            return None
        return compared / held if held else 1.0

    @property
    def age(self) -> timedelta | None:
        """The age of the oldest proof; ``None`` if a partition has none."""
        ages = [each.age for each in self.partitions]
        return max((age for age in ages if age is not None), default=None) if None not in ages else None

    @property
    def sentence(self) -> Sentence:
        """What people read of it."""
        said = self._said()
        if not self.accepted:
            return said
        return joined(said, say("Accepted differences: %(count)s.", count=self.accepted))

    def _said(self) -> Sentence:
        if not self.partitions:
            return say("No auditor has compared this mirror.")
        if self.proof is Proof.DIFFERENT:
            return say(
                "Both sides differ in %(partitions)s of %(all)s partitions (differences: %(count)s).",
                count=self.differences,
                partitions=len(self.different),
                all=max(self.expected, len(self.partitions)),
            )
        if self.proof is Proof.EQUAL:
            return say(
                "Proved equal, record by record (partitions: %(count)s); the oldest proof is %(seconds)s s old.",
                count=len(self.partitions),
                seconds=_seconds(self.age),
            )
        if self.proof is Proof.UNDER_WAY:
            return say("The comparison is under way; nothing differs so far.")
        return joined(say("It is not proved that both sides are equal."), self._why())

    def _why(self) -> Sentence:
        """Why nothing is proved: the first reason that is known."""
        missing = self.expected - len(self.partitions)
        if missing > 0:
            return say("Partitions that were not compared yet: %(count)s.", count=missing)
        for each in self.partitions:
            if each.proof is Proof.UNKNOWN and each.row.fault:
                return joined(say("%(partition)s:", partition=each.row), each.row.fault)
            if each.proof is Proof.UNKNOWN and each.is_waiting:
                return say(
                    "%(partition)s: the target lacks records that the source holds.", partition=each.row
                )
        late = max((each.age for each in self.partitions if each.age is not None), default=None)
        if late is not None:
            return say(
                "The last comparison is %(seconds)s s old: look at the auditors.", seconds=_seconds(late)
            )
        return NOTHING


def standing_of(
    rows: Sequence[AuditedPartition],
    expected: Collection[Partition],
    now: datetime,
    stale_seconds: float,
) -> Standing:
    """Return what the audit of a mirror says.

    :param expected: the mirror's partitions, as far as they are known.
    :param stale_seconds: the age after which a comparison proves nothing any more.
    """
    found = [partition_standing(row, now, stale_seconds) for row in rows]
    worst = max((each.proof for each in found), key=lambda proof: proof.rank, default=Proof.UNKNOWN)
    if worst is not Proof.DIFFERENT and len(found) < len(expected):
        worst = Proof.UNKNOWN
    return Standing(found, len(expected), worst)


def partition_standing(row: AuditedPartition, now: datetime, stale_seconds: float) -> PartitionStanding:
    """Return what the audit of a partition says."""
    age = now - row.compared_at if row.compared_at is not None else None
    is_waiting = row.waiting_since is not None and now - row.waiting_since > USUAL_WAIT
    return PartitionStanding(row, _proof(row, now, stale_seconds), _share(row), age, is_waiting)


def _proof(row: AuditedPartition, now: datetime, stale_seconds: float) -> Proof:
    if row.open_differences:
        return Proof.DIFFERENT
    stale = timedelta(seconds=stale_seconds)
    if row.fault or row.updated_at is None or now - row.updated_at > stale:
        return Proof.UNKNOWN
    if row.waiting_since is not None and now - row.waiting_since > stale:
        return Proof.UNKNOWN  # what the target lacks for so long may never come
    if row.compared_at is None:
        return Proof.UNDER_WAY
    return Proof.EQUAL if now - row.compared_at <= stale else Proof.UNDER_WAY


def _share(row: AuditedPartition) -> float | None:
    if row.source_start is None or row.source_end is None:
        return None
    held = _held(row)
    compared = max(0, min(row.source_next, row.source_end) - max(row.source_begin, row.source_start))
    return compared / held if held else 1.0


def _held(row: AuditedPartition) -> int:
    """The number of offsets that the source still holds of a partition."""
    return max(0, (row.source_end or 0) - (row.source_start or 0))


def _seconds(age: timedelta | None) -> str:
    return "?" if age is None else f"{max(0.0, age.total_seconds()):.0f}"
