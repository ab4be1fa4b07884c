"""What auditors say of a mirror, as rows for CSV."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from hadash.auditors import selectors
from hadash.mirroring.models import Mirror

PARTITION_COLUMNS = (
    "topic", "partition", "proof", "source_begin", "source_next", "source_end", "target_next", "equal", "different",
    "share", "compared_at", "record_at", "waiting_since", "auditor", "fault",
)  # fmt: skip

DIFFERENCE_COLUMNS = (
    "found_at",
    "kind",
    "topic",
    "partition",
    "source",
    "source_offset",
    "target_offset",
    "parts",
    "accepted_by",
    "reason",
)


WINDOW_COLUMNS = (
    "topic", "partition", "from", "source_records", "source_checksum", "target_records", "target_checksum", "equal",
)  # fmt: skip


def window_rows(mirror: Mirror) -> Iterator[tuple[Any, ...]]:
    """Return a row of :data:`WINDOW_COLUMNS` for each window of record time that both sides have, of each partition."""
    rows = selectors.audited(mirror).values_list("topic", "partition", "windows")
    for topic, partition, windows in rows.iterator(chunk_size=500):
        for begin, *counts in windows:
            source, target = counts[:2], counts[2:]
            yield topic, partition, datetime.fromtimestamp(begin, UTC), *source, *target, source == target


def partition_rows(mirror: Mirror) -> Iterator[tuple[Any, ...]]:
    """Return a row of :data:`PARTITION_COLUMNS` for each partition."""
    for each in selectors.standing(mirror).partitions:
        row = each.row
        yield (
            row.topic, row.partition, each.proof.value, row.source_begin, row.source_next, row.source_end,
            row.target_next, row.equal, row.different, each.share, row.compared_at, row.record_at, row.waiting_since,
            row.auditor, str(row.fault),
        )  # fmt: skip


def difference_rows(mirror: Mirror) -> Iterator[tuple[Any, ...]]:
    """Return a row of :data:`DIFFERENCE_COLUMNS` for each difference."""
    found = selectors.differences(mirror).select_related("audited", "source", "acceptance__by")
    for each in found.iterator(chunk_size=500):
        by = each.acceptance
        yield (
            each.found_at, each.kind, each.audited.topic, each.audited.partition, each.source.name,
            each.source_offset, each.target_offset, " ".join(each.parts),
            by.by.get_username() if by is not None else "", by.reason if by is not None else "",
        )  # fmt: skip
