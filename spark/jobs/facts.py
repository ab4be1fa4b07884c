"""Reports → facts: counts each batch once, puts invalid reports aside, and processes only the days that have
changed.

Spark distributes the work: the files of a day to one task, a bucket of facts to another. Tasks share nothing
and write to separate places, so nothing is shuffled, however large one AppID is.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import reduce

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hadash.lake import access, quarantine
from hadash.lake.batches import Found, ReportFile, batch_names, look_at
from hadash.lake.store import Store
from spark import manifest, schemas
from spark.arrow import DAILY, FACT_KEY, FACTS
from spark.manifest import Day, Manifest
from spark.transform import facts as transform

log = logging.getLogger(__name__)

#: Days before the newest that are checked again for late reports, such as from a Gateway that was cut off from
#: the lake over a weekend. For a batch of an older day there is a note (:func:`hadash.lake.access.put_batch`).
LATE_DAYS = 3

#: Reports that one task holds in memory, at most: half a gigabyte.
ROWS_AT_ONCE = 2_000_000

#: Reports below which another task is not worth its cost.
ROWS_AT_LEAST = 100_000

#: Parts of the facts that are merged separately: enough that one of a hundred million facts fits into memory.
BUCKETS = 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run. ``malformed``: numbers of rows by reason; ``broken``: files by name; ``again``: the
    number of files with only batches that were counted; ``ahead``: days in the future, where a clock is wrong;
    ``too_late``: days with late reports that facts no longer cover.
    """

    days: tuple[str, ...] = ()
    rows: int = 0
    malformed: Mapping[str, int] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    again: int = 0
    ahead: tuple[str, ...] = ()
    too_late: tuple[str, ...] = ()


def run(
    spark: SparkSession,
    store: Store,
    pairs: Mapping[str, str],
    late_days: int = LATE_DAYS,
    today: date | None = None,
) -> Outcome:
    """Update the facts from the reports in the lake. Idempotent.

    :param pairs: the pair of each cluster.
    :param today: a day to use instead of today.
    :raises OSError: the lake cannot be read or written to. The facts have not changed then.
    :raises Overtaken: another run was faster. The facts have not changed then.
    """
    now = manifest.read(store)
    manifest.clean(store, now, datetime.now(UTC))
    late = access.late(store)
    known, ahead = _to_look_at(store, now, late_days, today or datetime.now(UTC).date(), late)
    if ahead:
        log.warning("Reports of days that have not come yet are not counted: %s.", ", ".join(ahead))
    broken: dict[str, str] = {}
    while True:
        changed, found = _changed(store, now, known)
        made, torn = _make_days(spark, store, changed, pairs)
        for name, why in {**found.broken, **torn}.items():
            log.warning("%s is put aside: %s", name, why)
            quarantine.put_aside(store, name, why)
            broken[name] = why
        if not torn:
            break
    if made:
        _commit(spark, store, now, made)
    for notes in late.values():
        for note in notes:
            store.delete(note)
    malformed: Counter[str] = Counter()
    for day in made.values():
        malformed.update(day.malformed)
    return Outcome(
        tuple(sorted(made)),
        sum(day.rows for day in made.values()),
        dict(malformed),
        broken,
        len(found.again),
        tuple(ahead),
        tuple(sorted(day for day in late if day not in known and day not in ahead)),
    )


def _to_look_at(
    store: Store, now: Manifest, late_days: int, today: date, late: Container[str]
) -> tuple[list[str], list[str]]:
    """Return the days that may have new reports (the newest ones, days that were never counted, and days with a
    note of a late batch, as after an import of old data), and the days in the future beyond a tolerance for
    time zones and clocks.
    """
    last = f"{today + timedelta(days=1):%Y-%m-%d}"
    known = access.days(store)
    ahead = [day for day in known if day > last]
    known = [day for day in known if day <= last]
    if now.newest:
        newest = date.fromisoformat(now.newest)
        young = f"{newest - timedelta(days=late_days):%Y-%m-%d}"
        remembered = f"{newest - timedelta(days=transform.REMEMBERED_DAYS):%Y-%m-%d}"
        known = [
            day
            for day in known
            if day >= young or (day > remembered and (day not in now.days or day in late))
        ]
    return known, ahead


def _changed(store: Store, now: Manifest, known: Iterable[str]) -> tuple[dict[str, Found], Found]:
    """Return the days of ``known`` whose batches differ from the counted ones, and the broken and duplicate
    files of all these days.
    """
    changed: dict[str, Found] = {}
    wrong = Found()
    counted: set[str] = set()
    for day in known:
        hours = access.hours(store, [day])
        named = batch_names(store, hours)
        if named is not None and day in now.days and now.days[day].digest == _digest(named):
            counted |= named
            continue  # without opening a file
        found = look_at(store, hours, counted)
        counted |= found.batches
        wrong.broken |= found.broken
        wrong.again += found.again
        if found.files and (day not in now.days or now.days[day].digest != _digest(found.batches)):
            changed[day] = found
    return changed, wrong


def _digest(batches: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(sorted(batches)).encode(), digest_size=16).hexdigest()


# -- days ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Share:
    """The work of one task: some files of a day, written as ``part`` of the day's place."""

    lake: str
    day: str
    names: tuple[str, ...]
    rows: int
    place: str
    part: int
    pairs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Worked:
    """The result of a share. ``torn``: files that cannot be read to their end, with the reasons."""

    day: str
    malformed: Mapping[str, int]
    torn: Mapping[str, str]


def _make_days(
    spark: SparkSession, store: Store, changed: Mapping[str, Found], pairs: Mapping[str, str]
) -> tuple[dict[str, Day], dict[str, str]]:
    """Write the rows of some days. Return the days; or, when files turned out to be torn, no days and the
    reasons: then the days are made again without these files.
    """
    if not changed:
        return {}, {}
    place = manifest.new_place("daily")
    # Mostly a single day has changed: then it is shared among all cores.
    cores = max(1, spark.sparkContext.defaultParallelism // len(changed))
    shares = [
        _Share(store.url, day, names, rows, f"{place}/date={day}", part, pairs)
        for day, found in changed.items()
        for part, (names, rows) in enumerate(_shares(found.files, cores))
    ]
    for day in changed:
        store.delete_folder(f"{quarantine.ROWS}/date={day}")
    shares.sort(key=lambda share: -share.rows)  # the largest first, so that none is left for the end
    worked = spark.sparkContext.parallelize(shares, len(shares)).map(_work_off).collect()
    torn = {name: why for each in worked for name, why in each.torn.items()}
    malformed: dict[str, Counter[str]] = {day: Counter() for day in changed}
    for each in worked:
        malformed[each.day].update(each.malformed)
    made = {
        day: Day(
            f"{place}/date={day}",
            len(found.batches),
            _digest(found.batches),
            found.rows,
            dict(malformed[day]),
        )
        for day, found in changed.items()
    }
    return ({} if torn else made), torn


def _shares(files: Sequence[ReportFile], cores: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield shares of files with about the same number of rows, and no more than a task holds at once; a larger
    file is a share by itself.

    (With equal shares all cores end at about the same time.)

    :param cores: the wanted number of shares, if there are enough rows.
    """
    left = sum(file.rows for file in files)
    shares = max(1, -(-left // ROWS_AT_ONCE), min(cores, left // ROWS_AT_LEAST))
    names: list[str] = []
    rows = 0
    for file in files:
        is_enough = rows + file.rows / 2 > left / shares or rows + file.rows > ROWS_AT_ONCE
        if names and is_enough:
            yield tuple(names), rows
            left, shares = left - rows, max(1, shares - 1)
            names, rows = [], 0
        names.append(file.name)
        rows += file.rows
    if names:
        yield tuple(names), rows


def _work_off(share: _Share) -> _Worked:
    """Process a share. Runs in a Spark task."""
    store = Store(share.lake)
    came_by = datetime.fromisoformat(f"{share.day}T00:00:00+00:00") + timedelta(days=1)
    malformed: Counter[str] = Counter()
    torn: dict[str, str] = {}
    for number, reports in enumerate(_reports(store, share.names, torn)):
        done = transform.counted(reports, share.pairs, came_by, BUCKETS)
        _write_buckets(store, f"{share.place}/part-{share.part}-{number}.parquet", done.buckets)
        if done.malformed is not None:
            name = f"{quarantine.ROWS}/date={share.day}/part-{share.part}-{number}.parquet"
            store.write_table(name, done.malformed)
            malformed.update(done.reasons)
    return _Worked(share.day, dict(malformed), torn)


def _reports(store: Store, names: Iterable[str], torn: dict[str, str]) -> Iterator[pa.Table]:
    """Yield the rows of some files, in pieces of about ``ROWS_AT_ONCE``. (When a file is torn the whole day is
    made again without it.)
    """
    waiting: list[pa.Table] = []
    rows = 0
    for name in names:
        try:
            with store.open(name) as source:
                # (Read as a whole: an object store takes as long for a part of a file.)
                whole = pa.BufferReader(source.read_buffer())
                footer = pq.read_metadata(whole)
                texts = [name for name in _texts() if name in footer.schema.names]
                file = pq.ParquetFile(whole, metadata=footer, read_dictionary=texts)
                for group in range(file.num_row_groups):
                    # (Each core already has a task: threads would only add cost.)
                    waiting.append(_with_all_columns(file.read_row_group(group, use_threads=False)))
                    rows += waiting[-1].num_rows
                    if rows >= ROWS_AT_ONCE:
                        yield pa.concat_tables(waiting)
                        waiting, rows = [], 0
        except (pa.ArrowException, OSError) as error:
            if not store.is_readable(name):
                raise OSError(f"The lake cannot be read ({name}): {error}") from error
            torn[name] = f"It cannot be read to its end: {str(error).splitlines()[0][:300]}"
    if rows:
        yield pa.concat_tables(waiting)


def _texts() -> list[str]:
    return [f.name for f in access.SCHEMA if f.name in FACT_KEY and pa.types.is_string(f.type)]


def _with_all_columns(table: pa.Table) -> pa.Table:
    """Return a table with the current columns: missing ones are null, and those of newer versions are left out."""
    columns = {}
    for wanted in access.SCHEMA:
        is_text = wanted.name in _texts()
        kind = pa.dictionary(pa.int32(), pa.string()) if is_text else wanted.type
        if wanted.name in table.column_names:
            columns[wanted.name] = table[wanted.name].cast(kind)
        elif is_text:
            nothing = pa.DictionaryArray.from_arrays(
                pa.nulls(table.num_rows, pa.int32()), pa.array([], pa.string())
            )
            columns[wanted.name] = pa.chunked_array([nothing])
        else:
            columns[wanted.name] = pa.nulls(table.num_rows, kind)
    return pa.table(columns)


def _write_buckets(store: Store, name: str, buckets: Sequence[pa.Table]) -> None:
    """Write one row group for each bucket, so that each can be read separately."""
    with store.writing(name) as sink, pq.ParquetWriter(sink, DAILY, compression="zstd") as writer:
        for table in buckets:
            writer.write_table(table, row_group_size=max(1, table.num_rows))


# -- facts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Merge:
    """The work of one task: merging one bucket of the previous facts and of some days, each given as (files,
    age, whether it is taken out).
    """

    lake: str
    bucket: int
    before: str
    days: tuple[tuple[tuple[str, ...], int, bool], ...]
    days_later: int
    place: str


def _commit(spark: SparkSession, store: Store, now: Manifest, made: Mapping[str, Day]) -> None:
    """Merge the new days into the facts, and commit both."""
    newest = max([*made, now.newest])
    days = []
    for day, entry in made.items():
        age = (date.fromisoformat(newest) - date.fromisoformat(day)).days
        if day in now.days:
            days.append((tuple(store.files(now.days[day].place)), age, True))
        days.append((tuple(store.files(entry.place)), age, False))
    later = (date.fromisoformat(newest) - date.fromisoformat(now.newest or newest)).days
    place = manifest.new_place("facts")
    merges = [_Merge(store.url, bucket, now.facts, tuple(days), later, place) for bucket in range(BUCKETS)]
    # (Buckets are equally large: one task for each core is enough.)
    tasks = min(len(merges), spark.sparkContext.defaultParallelism)
    spark.sparkContext.parallelize(merges, tasks).foreach(_merge)
    # (The rows of days that facts no longer cover are not needed.)
    remembered = f"{date.fromisoformat(newest) - timedelta(days=transform.REMEMBERED_DAYS):%Y-%m-%d}"
    kept = {day: entry for day, entry in {**now.days, **made}.items() if day > remembered}
    new = replace(now, newest=newest, facts=place, days=kept)
    manifest.commit(store, now, new)


def _merge(merge: _Merge) -> None:
    """Merge one bucket. Runs in a Spark task."""
    store = Store(merge.lake)
    name = f"bucket-{merge.bucket:02d}.parquet"
    before = None
    if merge.before:
        with store.open(f"{merge.before}/{name}") as source:
            before = _as_today(pq.ParquetFile(source).read(use_threads=False), FACTS)
    changes = []
    for files, age, taken_out in merge.days:
        for file in files:
            with store.open(file) as source:
                rows = pq.ParquetFile(source).read_row_group(merge.bucket, use_threads=False)
            changes.append(transform.Change(_as_today(rows, DAILY), age, taken_out))
    store.write_table(f"{merge.place}/{name}", transform.merged(before, changes, merge.days_later))


def _as_today(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table of an earlier run with the current columns; missing ones are null."""
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def read_days(spark: SparkSession, store: Store, days: Iterable[Day]) -> DataFrame:
    """Return the rows of some days (at least one), each with its ``date``."""
    of_each = [
        spark.read.schema(schemas.DAILY)
        .parquet(store.for_spark(day.place))
        .withColumn("date", F.lit(day.place.rpartition("date=")[2]).cast("date"))
        for day in days
    ]
    # (Days are in places of different runs, and Spark cannot read partitions from several places at once.)
    return reduce(DataFrame.unionByName, of_each)


def read_facts(spark: SparkSession, store: Store, now: Manifest) -> DataFrame:
    """Return all facts. There must be some."""
    return spark.read.schema(schemas.FACTS).parquet(store.for_spark(now.facts))
