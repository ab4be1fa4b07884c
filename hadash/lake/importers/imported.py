"""What an importer makes of something that came from outside."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hadash.lake.access import put_batch
from hadash.lake.quarantine import Unreadable, put_lines_aside
from hadash.lake.store import Store


class ImportRefused(ValueError):
    """Nothing of it can be imported; the message says why, and what to do."""


@dataclass(slots=True)
class Imported:
    """Rows of :data:`hadash.lake.access.SCHEMA`, and what no row could be made of."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    @property
    def newest(self) -> datetime:
        """The time of the newest row. (There has to be one.)"""
        return max(row["last_seen"] for row in self.rows)


def put_imported(store: Store, reporter: str, content: bytes, imported: Imported) -> str:
    """Into the lake, as one batch that is named after its content: the same content imported again is the same batch.

    What could not be read is put aside with the reasons. It lies in the hour of its newest report, or in this
    one: of what says it is from the future nobody would look at the days before. The batch's name, without
    its folder.

    :raises OSError: the lake cannot be written to.
    """
    batch = f"{reporter}-{hashlib.blake2b(content, digest_size=10).hexdigest()}"
    now = datetime.now(UTC)
    moment = min(imported.newest, now) if imported.rows else now
    put_lines_aside(store, batch, moment.date(), imported.unreadable)
    if imported.rows:
        put_batch(store, batch, imported.rows, moment)
    return batch
