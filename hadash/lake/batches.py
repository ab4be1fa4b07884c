"""Which files of the lake count: each batch once, and none that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from hadash.lake.access import FIRST_COLUMNS, SCHEMA, Hour
from hadash.lake.store import Store

#: Where a file that was made of others says which: their names, as JSON.
BATCHES_KEY = b"hadash.batches"

#: Hours that are looked at beside each other: each file of an object store or of HDFS takes two or three
#: round trips to it, and days have some hundred files.
HOURS_AT_ONCE = 16

#: Files that were made of others begin so.
COMPACTED = "compacted-"


@dataclass(frozen=True, slots=True)
class ReportFile:
    """One file that can be read: its rows, and the batches (names of files) in it."""

    name: str
    size: int
    rows: int
    batches: tuple[str, ...]

    @property
    def is_compacted(self) -> bool:
        return self.name.rsplit("/", 1)[-1].startswith(COMPACTED)


@dataclass(slots=True)
class Found:
    """What is in some hours: ``files`` count, ``again`` hold only what others have too, ``broken`` cannot be
    read (why).
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
    """Every file of some hours.

    :param counted: batches that count elsewhere. :raises OSError: the lake cannot be read: nothing is wrong
        with the file then.
    """
    found = Found()
    seen = set(counted)
    with ThreadPoolExecutor(HOURS_AT_ONCE) as pool:
        looked_at = list(pool.map(lambda hour: _look_at_hour(store, hour), sorted(hours)))
    for files, broken in looked_at:
        found.broken |= broken
        # What was made of others first, of most of them first of all: they are still there when its maker was killed.
        for file in sorted(files, key=lambda f: (not f.is_compacted, -len(f.batches), f.name)):
            if seen.issuperset(file.batches):
                found.again.append(file)
            else:
                found.files.append(file)
                seen.update(file.batches)
    return found


def batch_names(store: Store, hours: Iterable[Hour]) -> set[str] | None:
    """The batches of some hours by the names of their files alone; ``None`` where one was made of others,
    which only the file itself tells. (Files that are broken or no reports are among them.)

    :raises OSError: the lake cannot be read.
    """
    with ThreadPoolExecutor(HOURS_AT_ONCE) as pool:
        listed = list(pool.map(lambda hour: list(store.files(hour.folder)), hours))
    found = {name.rsplit("/", 1)[-1] for files in listed for name in files if name.endswith(".parquet")}
    return None if any(name.startswith(COMPACTED) for name in found) else found


def _look_at_hour(store: Store, hour: Hour) -> tuple[list[ReportFile], dict[str, str]]:
    """(its files that can be read, why others cannot)."""
    files: list[ReportFile] = []
    broken: dict[str, str] = {}
    for name, size in store.files(hour.folder).items():
        if not name.endswith(".parquet"):
            continue  # somebody's notes
        try:
            files.append(_look_at_file(store, name, size))
        except UnusableFile as error:
            broken[name] = str(error)
        except FileNotFoundError:
            continue  # compacted meanwhile: what it became is seen next time
    return files, broken


class UnusableFile(Exception):
    """A file that holds no access reports; the message says why."""


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
    """:raises UnusableFile: a column is missing, or of another type."""
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
    """Whether it reads as the same (names inside of lists are everybody's own; so is how fine a clock was)."""
    if pa.types.is_list(wanted):
        return bool(pa.types.is_list(found) and found.value_type == wanted.value_type)
    if pa.types.is_timestamp(wanted):
        return bool(pa.types.is_timestamp(found) and found.unit in ("ms", "us") and found.tz is not None)
    if pa.types.is_dictionary(found):
        found = found.value_type
    return bool(found == wanted)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
