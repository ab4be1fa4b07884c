"""Finds the files of the lake that count: each batch once, and only files that can be read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from hadash.lake.access import FIRST_COLUMNS, SCHEMA, Hour
from hadash.lake.store import Store

#: The metadata key with the batches of a compacted file: their names, as JSON.
BATCHES_KEY = b"hadash.batches"

#: Hours that are read in parallel: each file in an object store or HDFS takes two or three round trips, and a
#: day has some hundred files.
HOURS_AT_ONCE = 16

#: The prefix of compacted files.
COMPACTED = "compacted-"


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A readable file: the number of its rows, and the batches (names of files) in it."""

    name: str
    size: int
    rows: int
    batches: tuple[str, ...]

    @property
    def is_compacted(self) -> bool:
        return self.name.rsplit("/", 1)[-1].startswith(COMPACTED)


@dataclass(slots=True)
class Found:
    """The files of some hours: ``files`` count, ``again`` have only batches that others have, too, ``broken``
    cannot be read (name to reason).
    """

    files: list[ReportFile] = field(default_factory=list)
    again: list[ReportFile] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)

    @property
    def batches(self) -> frozenset[str]:
        return frozenset(batch for file in self.files for batch in file.batches)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


def look_at(store: Store, hours: Iterable[Hour], counted: Iterable[str] = ()) -> Found:
    """Read the footers of all files of some hours.

    :param counted: batches that count elsewhere.
    :raises OSError: the lake cannot be read; the files may be fine then.
    """
    found = Found()
    seen = set(counted)
    with ThreadPoolExecutor(HOURS_AT_ONCE) as pool:
        looked_at = list(pool.map(lambda hour: _look_at_hour(store, hour), sorted(hours)))
    for files, broken in looked_at:
        found.broken |= broken
        # Compacted files first, those with the most batches before others: when a compaction was killed, the
        # files that it replaces are still there.
        for file in sorted(files, key=lambda f: (not f.is_compacted, -len(f.batches), f.name)):
            if seen.issuperset(file.batches):
                found.again.append(file)
            else:
                found.files.append(file)
                seen.update(file.batches)
    return found


def batch_names(store: Store, hours: Iterable[Hour]) -> set[str] | None:
    """Return the batches of some hours by the names of their files alone, including broken files; ``None``
    where there is a compacted file, whose batches are only in the file itself.

    :raises OSError: the lake cannot be read.
    """
    with ThreadPoolExecutor(HOURS_AT_ONCE) as pool:
        listed = list(pool.map(lambda hour: list(store.files(hour.folder)), hours))
    found = {name.rsplit("/", 1)[-1] for files in listed for name in files if name.endswith(".parquet")}
    return None if any(name.startswith(COMPACTED) for name in found) else found


def _look_at_hour(store: Store, hour: Hour) -> tuple[list[ReportFile], dict[str, str]]:
    """Return an hour's readable files, and the reasons why others cannot be read, by name."""
    files: list[ReportFile] = []
    broken: dict[str, str] = {}
    for name, size in store.files(hour.folder).items():
        if not name.endswith(".parquet"):
            continue  # not a report
        try:
            files.append(_look_at_file(store, name, size))
        except UnusableFile as error:
            broken[name] = str(error)
        except FileNotFoundError:
            continue  # compacted meanwhile: the new file is seen next time
    return files, broken


class UnusableFile(Exception):
    """A file has no access reports; the message says why."""


def _look_at_file(store: Store, name: str, size: int) -> ReportFile:
    try:
        with store.open(name) as source:
            footer = pq.read_metadata(source)
            schema = footer.schema.to_arrow_schema()
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        if not store.is_readable(name):
            raise OSError(f"The lake cannot be read ({name}): {_first_line(error)}") from error
        raise UnusableFile(f"It is no whole Parquet file: {_first_line(error)}") from None
    check_columns(schema)
    named = (footer.metadata or {}).get(BATCHES_KEY)
    batches = tuple(json.loads(named)) if named else (name.rsplit("/", 1)[-1],)
    return ReportFile(name, size, footer.num_rows, batches)


def check_columns(schema: pa.Schema) -> None:
    """Check that a file has the columns of access reports.

    :raises UnusableFile: a column is missing, or of another type.
    """
    for place, wanted in enumerate(SCHEMA):
        index = schema.get_field_index(wanted.name)
        if index < 0:
            if place < FIRST_COLUMNS:
                raise UnusableFile(f"It has no column {wanted.name}.")
            continue
        found = schema.field(index).type
        if not _same(found, wanted.type):
            raise UnusableFile(f"Its column {wanted.name} is {found}, and not {wanted.type}.")


def _same(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether two types can be read alike (the names of list items and the unit of timestamps may differ)."""
    if pa.types.is_list(wanted):
        return bool(pa.types.is_list(found) and found.value_type == wanted.value_type)
    if pa.types.is_timestamp(wanted):
        return bool(pa.types.is_timestamp(found) and found.unit in ("ms", "us") and found.tz is not None)
    if pa.types.is_dictionary(found):
        found = found.value_type
    return bool(found == wanted)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
