"""What the jobs have made in the lake, and which of it counts: one small file, written whole.

A job writes to new places and then lets the manifest name them. Until then nobody knows of them, so one that
is killed at any point has done nothing, and leaves only places that a later run removes. Of two that run
beside each other, the second to finish gives up.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hadash.lake.store import Store

#: The folder of all that the jobs make.
FOLDER = "tables"
NAME = f"{FOLDER}/manifest.json"

#: After so long nobody is writing to a place any more that no manifest names: the longest that a full build may take.
ABANDONED = timedelta(hours=24)

_TIME = "%Y%m%dT%H%M%S"


class Overtaken(Exception):
    """Another run has finished meanwhile, and what this one has made is of before."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day of reports as it was counted: where its rows are, how many batches (and which: a digest), rows
    read, and how many rows were put aside by reason.
    """

    place: str
    batches: int
    digest: str
    rows: int
    malformed: dict[str, int] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        """Whether any of its rows made sense: else there is no place."""
        return self.rows > sum(self.malformed.values())


@dataclass(frozen=True, slots=True)
class Manifest:
    """``newest`` is the last day in the facts; empty when there are none yet. ``before`` are places that were
    in use until the last change: somebody may still be reading them.
    """

    version: int = 0
    newest: str = ""
    facts: str = ""
    days: dict[str, Day] = field(default_factory=dict)
    before: tuple[str, ...] = ()

    @property
    def places(self) -> set[str]:
        """Everything that counts."""
        return {day.place for day in self.days.values()} | ({self.facts} if self.facts else set())


def read(store: Store) -> Manifest:
    """What counts now."""
    said = store.read_json(NAME)
    if said is None:
        return Manifest()
    days = {date: Day(**day) for date, day in said["days"].items()}
    return Manifest(said["version"], said["newest"], said["facts"], days, tuple(said["before"]))


def commit(store: Store, old: Manifest, new: Manifest) -> Manifest:
    """From now on ``new`` counts.

    :raises Overtaken: ``old`` does not count any more.
    """
    if read(store).version != old.version:
        raise Overtaken("Another run has finished meanwhile. Run the job again, one at a time.")
    gone = old.places - new.places
    written = replace(new, version=old.version + 1, before=tuple(sorted(gone)))
    value: dict[str, Any] = asdict(written)
    store.write_json(NAME, value)
    return written


def new_place(table: str) -> str:
    """Where a run writes a table: a folder of its own, named after when it was begun."""
    return f"{FOLDER}/{table}/{datetime.now(UTC):{_TIME}}-{uuid.uuid4().hex[:12]}"


def clean(store: Store, manifest: Manifest, now: datetime) -> list[str]:
    """Remove what counts no more, and what runs that were killed have left; which folders it was."""
    keep = manifest.places | set(manifest.before)
    removed = []
    for table in store.folders(FOLDER):
        for name in store.folders(f"{FOLDER}/{table}"):
            place = f"{FOLDER}/{table}/{name}"
            in_use = any(kept == place or kept.startswith(f"{place}/") for kept in keep)
            if not in_use and _begun(name) + ABANDONED <= now:
                store.delete_folder(place)
                removed.append(place)
    return removed


def _begun(name: str) -> datetime:
    """
    >>> _begun("20261121T170500-0123456789ab").isoformat()
    '2026-11-21T17:05:00+00:00'
    """
    return datetime.strptime(name.partition("-")[0], _TIME).replace(tzinfo=UTC)
