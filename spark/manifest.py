"""The manifest: one small file, written atomically, with the places in the lake that count.

A job writes to new places, and then commits a manifest that names them. Until then they are not used, so a job
that is killed has no effect, and only leaves places that a later run removes. Of two concurrent runs the second
one to finish fails.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hadash.lake.store import Store

#: The folder of the jobs' output.
FOLDER = "tables"
NAME = f"{FOLDER}/manifest.json"

#: The age after which a place that no manifest names is abandoned: the longest that a full build may take.
ABANDONED = timedelta(hours=24)

_TIME = "%Y%m%dT%H%M%S"


class Overtaken(Exception):
    """Another run has finished meanwhile, so this one's output is outdated."""


@dataclass(frozen=True, slots=True)
class Day:
    """One counted day of reports: the place of its rows, the number of its batches and a digest of their names,
    the number of rows read, and of rows put aside by reason.
    """

    place: str
    batches: int
    digest: str
    rows: int
    malformed: dict[str, int] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        """Whether any of its rows was valid: else the place does not exist."""
        return self.rows > sum(self.malformed.values())


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest. ``newest``: the last day in the facts; empty when there are none yet. ``before``: places
    that were in use until the last commit, which may still be read.
    """

    version: int = 0
    newest: str = ""
    facts: str = ""
    days: dict[str, Day] = field(default_factory=dict)
    before: tuple[str, ...] = ()

    @property
    def places(self) -> set[str]:
        """The places that count."""
        return {day.place for day in self.days.values()} | ({self.facts} if self.facts else set())


def read(store: Store) -> Manifest:
    """Return the current manifest; an empty one when there is none."""
    said = store.read_json(NAME)
    if said is None:
        return Manifest()
    days = {date: Day(**day) for date, day in said["days"].items()}
    return Manifest(said["version"], said["newest"], said["facts"], days, tuple(said["before"]))


def commit(store: Store, old: Manifest, new: Manifest) -> Manifest:
    """Replace the manifest ``old`` by ``new``; return it with its new version.

    :raises Overtaken: ``old`` is no longer the current one.
    """
    if read(store).version != old.version:
        raise Overtaken("Another run has finished meanwhile. Run the job again, one at a time.")
    gone = old.places - new.places
    written = replace(new, version=old.version + 1, before=tuple(sorted(gone)))
    value: dict[str, Any] = asdict(written)
    store.write_json(NAME, value)
    return written


def new_place(table: str) -> str:
    """Return a new folder for a run's table, named after the current time."""
    return f"{FOLDER}/{table}/{datetime.now(UTC):{_TIME}}-{uuid.uuid4().hex[:12]}"


def clean(store: Store, manifest: Manifest, now: datetime) -> list[str]:
    """Remove abandoned places that are not in use, such as those of killed runs; return them."""
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
    """Return the time in a place's name.

    >>> _begun("20261121T170500-0123456789ab").isoformat()
    '2026-11-21T17:05:00+00:00'
    """
    return datetime.strptime(name.partition("-")[0], _TIME).replace(tzinfo=UTC)
