"""The result of an importer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hadash.lake.access import put_batch
from hadash.lake.quarantine import Unreadable, put_lines_aside
from hadash.lake.store import Store


class ImportRefused(ValueError):
    """An input cannot be imported at all; the message says why, and what to do."""


@dataclass(slots=True)
class Imported:
    """Rows of :data:`hadash.lake.access.SCHEMA`, and the parts that could not be read."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    @property
    def newest(self) -> datetime:
        """The time of the newest row. (There has to be one.)"""
        return max(row["last_seen"] for row in self.rows)


def put_imported(store: Store, reporter: str, content: bytes, imported: Imported) -> str:
    """Write an import to the lake, as one batch that is named after its content: importing the same content
    again gives the same batch. Return the batch's name, without its folder.

    Unreadable parts are put aside with the reasons. The batch is in the folder of the hour of its newest
    report, or of the current hour if that time is in the future: jobs would not read that folder in time.

    :raises OSError: the lake cannot be written to.
    """
    batch = f"{reporter}-{hashlib.blake2b(content, digest_size=10).hexdigest()}"
    now = datetime.now(UTC)
    moment = min(imported.newest, now) if imported.rows else now
    put_lines_aside(store, batch, moment.date(), imported.unreadable)
    if imported.rows:
        put_batch(store, batch, imported.rows, moment)
    return batch
