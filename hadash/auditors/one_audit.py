"""A partition that is being audited: where it begins, how far it is, and what is to be noted of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from hadash.auditors.ledger import Claim, Known, Progress
from hadash.auditors.partition_auditor import PartitionAuditor, Which
from hadash.auditors.places import Held, Place, first_place, next_place
from hadash.mirroring.offsets import OffsetSync


@dataclass(slots=True)
class Audit:
    """A partition that is being audited."""

    source: int
    target: int
    claim: Claim
    auditor: PartitionAuditor
    held: Held
    #: When all that both sides held was compared; and a look at what they hold, with its time, that waits for that.
    compared_at: datetime | None = None
    awaited: tuple[Held, datetime] | None = None
    #: What was noted of it, or may have been: the next offsets → how many records were equal; and when.
    counted: dict[tuple[int, int], int] = field(default_factory=dict)
    noted_at: float = 0.0
    is_new: bool = True
    bytes: int = 0
    #: Since when the target has held records that differ at its end, and when old differences were last looked for.
    surplus_since: float | None = None
    pruned_at: float = 0.0

    def has_read(self, held: Held) -> bool:
        """Whether all that both sides held then was read."""
        fetched = self.auditor.fetched
        return fetched[Which.SOURCE] >= held.source_end and fetched[Which.TARGET] >= held.target_end

    def has_compared(self, held: Held) -> bool:
        """Whether it was compared, too, but for what the target did not have yet."""
        return self.has_read(held) and not self.auditor.has_surplus_before(held.target_end)

    def which(self, cluster: int) -> Which:
        return Which.SOURCE if cluster == self.source else Which.TARGET


def place_of(known: Known | None, sync: OffsetSync | None, held: Held) -> Place | None:
    """Where the comparison of a partition begins or goes on; ``None``: nobody knows where both sides correspond.

    :param known: how far it was compared; ``None``: it never was.
    """
    if sync is None:
        return None
    place = first_place(sync, held) if known is None else next_place(known.source, known.target, sync, held)
    return place if place.is_within(held) else None


def was_made_again(known: Known | None, held: Held) -> bool:
    """Whether one side is another one than when it was compared: it holds fewer records than were."""
    return known is not None and (known.source > held.source_end or known.target > held.target_end)


def progress_of(audit: Audit) -> Progress:
    """What is to be noted of a partition."""
    auditor = audit.auditor
    return Progress(
        audit.claim,
        auditor.source_next,
        auditor.target_next,
        audit.held,
        auditor.equal,
        dict(audit.counted),
        audit.compared_at,
        auditor.record_ms,
        auditor.waiting_since,
        auditor.newest_windows(),
        auditor.found,
    )
