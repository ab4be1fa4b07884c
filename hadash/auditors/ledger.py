"""What auditors write into the database: which of them has a partition, how far it is, and what differs.

A partition is claimed before it is read. A number grows with each claim, and what the auditor before still writes is
refused: progress and differences are noted by one auditor at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hadash.auditing.findings import Finding
from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.auditors.partition_auditor import WINDOWS_TOLD
from hadash.auditors.places import Held, Place
from hadash.inventory.models import Pair
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import NOTHING, Sentence

#: Differences of one partition that are stored; more are only counted.
MOST_NOTED = 1_000
#: Rows that are written at once.
AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Direction:
    """Where a Topic's mirror copies from. ``is_turning``: nobody can say now which side is ahead."""

    mirror: int
    source: int
    is_turning: bool


@dataclass(frozen=True, slots=True)
class Known:
    """The next offsets of a comparison that was begun, by the direction of now."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A partition that this auditor has. ``number``: what it writes counts only while the row has this number.
    ``known``: how far it was compared; ``None`` if it never was.
    """

    row: int
    number: int
    known: Known | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a claimed partition is.

    :param equal: how many records were found equal since it was begun. :param found: what differs, and was not noted.
    :param counted: the next offsets that were noted → how many records had been equal then. One that was to be noted
        may have been, although the database has not answered: it is not counted again.
    """

    claim: Claim
    source_next: int
    target_next: int
    held: Held
    equal: int = 0
    counted: Mapping[tuple[int, int], int] = field(default_factory=dict)
    compared_at: datetime | None = None
    record_ms: int | None = None
    waiting_since: float | None = None
    windows: Sequence[Sequence[int]] = ()
    found: Sequence[Finding] = ()


class Ledger:
    """The tables of one pair, for one auditor.

    :param auditor: its name.
    """

    def __init__(self, pair: Pair, auditor: str) -> None:
        self.pair = pair
        self._auditor = auditor

    # -- reading ---------------------------------------------------------------------------------------------------

    def directions(self) -> dict[str, Direction]:
        """Return Topic → where its mirror copies from."""
        rows = Mirror.objects.filter(pair=self.pair).values_list(
            "pk", "topics", "source", "turning", "rebuilding"
        )
        return {
            topic: Direction(pk, source, turning or rebuilding)
            for pk, topics, source, turning, rebuilding in rows
            for topic in topics
        }

    def syncs(
        self, partitions: Iterable[Partition], directions: Mapping[str, Direction]
    ) -> dict[Partition, OffsetSync]:
        """Return where both sides of these partitions correspond, as far as it is known."""
        wanted = set(partitions)
        mirrors = {directions[p.topic].mirror for p in wanted if p.topic in directions}
        rows = MirrorOffsetSync.objects.filter(
            mirror__in=mirrors, topic__in={p.topic for p in wanted}
        ).values_list("topic", "partition", "source_offset", "target_offset")
        found = {Partition(topic, number): OffsetSync(here, there) for topic, number, here, there in rows}
        return {p: sync for p, sync in found.items() if p in wanted}

    # -- claiming --------------------------------------------------------------------------------------------------

    @transaction.atomic
    def claim(self, partition: Partition, source: int) -> Claim:
        """Take a partition: from now on, what another auditor still writes of it is refused. :meth:`begin` follows.

        :param source: the key of the cluster from which it is copied now.
        """
        row = self._row(partition)
        known: Known | None = None
        if row is None:
            row = AuditedPartition(
                pair=self.pair, topic=partition.topic, partition=partition.partition, source_id=source,
                source_begin=0, target_begin=0, source_next=0, target_next=0,
            )  # fmt: skip
        elif row.begun:
            known = Known(row.source_next, row.target_next)
            if row.source_id != source:
                known = Known(known.target, known.source)
        row.auditor, row.claim, row.updated_at = self._auditor, row.claim + 1, timezone.now()
        row.save()
        return Claim(row.pk, row.claim, known)

    @transaction.atomic
    def begin(self, claim: Claim, source: int, place: Place, *, was_made_again: bool) -> bool:
        """Note where the comparison of a claimed partition begins or goes on; whether it is still claimed.

        :param was_made_again: one side is another one than before: what was found is not there any more.
        """
        row = AuditedPartition.objects.select_for_update().filter(pk=claim.row, claim=claim.number).first()
        if row is None:
            return False
        if row.source_id != source:
            row.source_begin, row.target_begin = row.target_begin, row.source_begin
        row.source_id, row.begun = source, True
        row.source_next, row.target_next = place.source, place.target
        if place.is_begin:
            row.source_begin, row.target_begin, row.equal = place.source, place.target, 0
            row.windows, row.compared_at, row.record_at = [], None, None
        if was_made_again:
            row.differences.all().delete()
            row.different = row.accepted = 0
        row.waiting_since, row.fault, row.updated_at = None, NOTHING, timezone.now()
        row.save()
        return True

    def _row(self, partition: Partition) -> AuditedPartition | None:
        return (
            AuditedPartition.objects.select_for_update()
            .filter(pair=self.pair, topic=partition.topic, partition=partition.partition)
            .first()
        )

    @transaction.atomic
    def prune(self, claim: Claim, held: Held) -> None:
        """Forget differences of records that neither side holds any more."""
        row = AuditedPartition.objects.select_for_update().filter(pk=claim.row, claim=claim.number).first()
        if row is None:
            return
        gone = Q(
            source_id=row.source_id, source_offset__lt=held.source_start, target_offset__lt=held.target_start
        )
        gone |= ~Q(source_id=row.source_id) & Q(
            source_offset__lt=held.target_start, target_offset__lt=held.source_start
        )
        accepted = row.differences.filter(gone, acceptance__isnull=False).count()
        count, _ = row.differences.filter(gone).delete()
        if count:
            row.different = max(row.different - count, row.differences.count())
            row.accepted = min(max(0, row.accepted - accepted), row.different)
            row.save(update_fields=["different", "accepted"])

    # -- noting ----------------------------------------------------------------------------------------------------

    @transaction.atomic
    def note(self, progress: Sequence[Progress]) -> dict[int, bool]:
        """Note how far partitions are, with what differs in them.

        :return: of rows of which nothing was written, whether another auditor has claimed them meanwhile (otherwise
            somebody has removed them, and the comparison begins again).
        """
        numbers = [each.claim.row for each in progress]
        rows = {row.pk: row for row in AuditedPartition.objects.select_for_update().filter(pk__in=numbers)}
        mine = [
            each
            for each in progress
            if each.claim.row in rows and rows[each.claim.row].claim == each.claim.number
        ]
        now = timezone.now()
        found: list[AuditDifference] = []
        for each in mine:
            row = rows[each.claim.row]
            new = _unknown(row, row.source_id, each.found)
            found += _differences(row, new, now)
            _update(row, each, now)
            row.different += len(new)
        AuditDifference.objects.bulk_create(found, AT_ONCE)
        AuditedPartition.objects.bulk_update(
            [rows[each.claim.row] for each in mine], _NOTED, batch_size=AT_ONCE
        )
        written = {each.claim.row for each in mine}
        return {number: number in rows for number in numbers if number not in written}

    def say(self, partition: Partition, source: int, fault: Sentence) -> None:
        """Note why a partition is not compared now."""
        AuditedPartition.objects.update_or_create(
            pair=self.pair,
            topic=partition.topic,
            partition=partition.partition,
            defaults={"fault": fault, "auditor": self._auditor, "updated_at": timezone.now()},
            create_defaults={
                "fault": fault,
                "auditor": self._auditor,
                "updated_at": timezone.now(),
                "source_id": source,
                "source_begin": 0,
                "target_begin": 0,
                "source_next": 0,
                "target_next": 0,
            },
        )


@transaction.atomic
def note_found(pair: Pair, source: int, found: Mapping[Partition, Sequence[Finding]]) -> int:
    """Note differences that somebody else has found than the auditor of a partition, such as a full audit; return how
    many of them nobody knew. They count like those of an auditor.

    :param source: the key of the cluster that was the source.
    """
    now, noted = timezone.now(), 0
    for partition, differences in sorted(found.items()):
        if not differences:
            continue
        AuditedPartition.objects.get_or_create(
            pair=pair,
            topic=partition.topic,
            partition=partition.partition,
            defaults={
                "source_id": source,
                "source_begin": 0,
                "target_begin": 0,
                "source_next": 0,
                "target_next": 0,
            },
        )
        row = AuditedPartition.objects.select_for_update().get(
            pair=pair, topic=partition.topic, partition=partition.partition
        )
        new = _unknown(row, source, differences)
        AuditDifference.objects.bulk_create(_differences(row, new, now, source), AT_ONCE)
        row.different += len(new)
        row.save(update_fields=["different"])
        noted += len(new)
    return noted


_NOTED = [
    "source_next", "target_next", "source_start", "source_end", "equal", "different", "compared_at", "record_at",
    "waiting_since", "fault", "windows", "updated_at",
]  # fmt: skip


def _update(row: AuditedPartition, each: Progress, now: datetime) -> None:
    row.equal += each.equal - each.counted.get((row.source_next, row.target_next), 0)
    row.source_next, row.target_next = each.source_next, each.target_next
    row.source_start, row.source_end = each.held.source_start, each.held.source_end
    if each.compared_at is not None:
        row.compared_at = each.compared_at
    if each.record_ms is not None and each.record_ms >= 0:
        row.record_at = _moment(each.record_ms / 1000)
    row.waiting_since = _moment(each.waiting_since) if each.waiting_since is not None else None
    row.windows = _windows(row.windows, each.windows)
    row.fault, row.updated_at = NOTHING, now


def _windows(known: Sequence[Any], new: Sequence[Sequence[int]]) -> list[Any]:
    """The newest windows of both; a new one takes the place of the one of the same time."""
    by_begin = {window[0]: list(window) for window in [*known, *new]}
    return [by_begin[begin] for begin in sorted(by_begin)[-WINDOWS_TOLD:]]


def _unknown(row: AuditedPartition, source: int, found: Sequence[Finding]) -> list[Finding]:
    """Return what nobody has noted of a partition yet: a full audit may have found what an auditor finds later, and the
    database may have noted what it has not answered to.

    :param source: the key of the cluster that was the source.
    """
    if not found:
        return []
    of_source = row.differences.filter(source=source)
    known = set(of_source.values_list("kind", "source_offset", "target_offset"))
    return [each for each in found if (each.kind.value, each.source, each.target) not in known]


def _differences(
    row: AuditedPartition, found: Sequence[Finding], now: datetime, source: int | None = None
) -> list[AuditDifference]:
    room = max(0, MOST_NOTED - row.different)
    return [
        AuditDifference(
            audited=row,
            kind=each.kind.value,
            source_id=source or row.source_id,
            source_offset=each.source,
            target_offset=each.target,
            parts=list(each.parts),
            found_at=now,
        )
        for each in found[:room]
    ]


def _moment(seconds: float) -> datetime | None:
    """A time from seconds since 1970; ``None`` for one that no calendar has: clients write what they like."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
