"""The record of an ended switch: request, approvals, what was done when, and the proof that nothing was lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hadash.audit.models import Entry
from hadash.presentation import live, rpo
from hadash.switching.approvals import four_eyes
from hadash.switching.execution.pauses import kept_pauses
from hadash.switching.models.switches import StageRecord, Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.recovery import unreplicated
from hadash.switching.stages.context import StageContext

#: Most rows of the proof, and of the pauses, on the page; the CSV has all of them.
PROOF_SHOWN = 200

#: Columns of the proof as CSV.
PROOF_COLUMNS = (
    "topic",
    "partition",
    "source_end",
    "target_end",
    "last_on_source",
    "copy_on_target",
    "first_on_target",
    "begin_of_source",
    "begin_of_target",
    "compared",
)


@dataclass(frozen=True, slots=True)
class Proved:
    """One partition after its writers had stopped and the mirror had caught up: both sides ended at the same record.

    The source ends at ``source_end`` (its next offset), the target at ``target_end``: records that clients wrote
    after the switch begin there.
    """

    topic: str
    partition: int
    source_end: int
    target_end: int
    #: The offsets of the first record that each side still held (retention works on each by itself), and how many of
    #: the last records were compared by their checksums; ``None`` where that was not noted.
    source_begin: int | None = None
    target_begin: int | None = None
    compared: int | None = None

    @property
    def last_on_source(self) -> int | None:
        """The offset of the source's last record; ``None`` for a partition that never had one."""
        return self.source_end - 1 if self.source_end else None

    @property
    def copy_on_target(self) -> int | None:
        """The offset of that record's copy on the target; ``None`` for a partition that never had a record."""
        return self.target_end - 1 if self.target_end else None

    @property
    def begins(self) -> tuple[int | None, int | None]:
        """The offsets of the first record that the source and the target still held."""
        return self.source_begin, self.target_begin

    @property
    def row(self) -> tuple[Any, ...]:
        """The values of :data:`PROOF_COLUMNS`."""
        return (
            self.topic,
            self.partition,
            self.source_end,
            self.target_end,
            self.last_on_source,
            self.copy_on_target,
            self.target_end,
            self.source_begin,
            self.target_begin,
            self.compared,
        )


def proof_of(facts: Mapping[str, Any], records: Iterable[StageRecord]) -> list[Proved]:
    """Return the proof by partition, in order; empty when no drain has proved both sides equal
    (:func:`hadash.presentation.live.proved_equal`).
    """
    if not live.proved_equal(list(records)):
        return []
    context = StageContext(facts)
    found = []
    for p, point in sorted((context.drained or {}).items()):
        begin = context.compared.starts.get(p) if context.compared is not None else None
        found.append(
            Proved(
                p.topic,
                p.partition,
                point.source,
                point.target,
                begin.source if begin is not None else None,
                begin.target if begin is not None else None,
                context.compared.counts.get(p) if context.compared is not None else None,
            )
        )
    return found


def record_of(switch: Switch) -> dict[str, Any]:
    """Return the values for a switch's record. Eight queries."""
    records = list(switch.stages.all())
    proof = proof_of(switch.facts, records)
    entries = Entry.objects.filter(subject=switch.subject)
    pauses = kept_pauses(switch)
    missing = Unreplicated.objects.filter(switch=switch).first()
    return {
        "switch": switch,
        "plan": switch.the_plan(),
        "title": live.title(switch),
        "records": records,
        "refused_seconds": live.refused_seconds(records),
        "proof": proof[:PROOF_SHOWN],
        "proof_count": len(proof),
        "lost": rpo.lost_by(switch, records, missing),
        "unreplicated_rows": unreplicated.shown(missing) if missing is not None else [],
        "pauses": [(pause, moment(pause.since), moment(pause.until)) for pause in pauses[:PROOF_SHOWN]],
        "pause_count": len(pauses),
        "approvals": four_eyes.shown(switch),
        "log": live.log_lines(switch),
        "entry_count": entries.count(),
        "newest_entry": entries.order_by("-number").first(),
        "compared": sum(row.compared or 0 for row in proof),
    }


def moment(seconds: float | None) -> datetime | None:
    """Return a Gateway's time (seconds since 1970) as a datetime in UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
