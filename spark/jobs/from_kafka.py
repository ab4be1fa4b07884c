"""Imports a Kafka Topic of access reports into the lake, through Spark's own Kafka connector.

Each record is one batch (:mod:`hadash.lake.importers.messages`) and becomes the file of that name, so reading
it again has no effect. The position in the Topic is in the lake, as the checkpoint of a query that ends when it
has read all available records.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from urllib.parse import quote

from pyspark.sql import DataFrame, Row, SparkSession

from hadash.lake.access import put_batch
from hadash.lake.importers import messages
from hadash.lake.importers.imported import Imported, ImportRefused
from hadash.lake.quarantine import MOST_TEXT, Unreadable, put_lines_aside
from hadash.lake.store import Store
from spark.publishing.progress import followed
from spark.publishing.runs import Kept, Made, Run

#: Records that are read at once, at most: each is a batch of reports with up to some megabytes.
RECORDS_AT_ONCE = 10_000

#: Reasons for unreadable records that a run reports, at most.
SHOWN_REASONS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: the numbers of records, of reports in them, and of unreadable parts, and some reasons."""

    records: int = 0
    reports: int = 0
    unreadable: int = 0
    reasons: tuple[str, ...] = ()


def publish(
    current: Run, spark: SparkSession, store: Store, topic: str, options: Mapping[str, str], kept: Kept
) -> dict[str, object]:
    """Do :func:`run` as a run that pages show; return its number, and the numbers of rows."""
    began = time.monotonic()
    with followed(spark, current, "reports"):
        done = run(spark, store, topic, options)
    made = Made(
        rows={"records": done.records, "reports": done.reports},
        quality={
            "reports": done.reports,
            "unreadable": done.unreadable,
            "unreadable_reasons": list(done.reasons),
        },
        seconds={"reports": time.monotonic() - began},
    )
    return {"run": current.number, "rows": current.publish(store, made, kept)}


def run(spark: SparkSession, store: Store, topic: str, options: Mapping[str, str]) -> Outcome:
    """Import the records since the last run.

    :param options: the cluster's properties for Spark: ``kafka.bootstrap.servers`` and so on.
    :raises pyspark.errors.StreamingQueryException: the Topic cannot be read, or the lake cannot be written to;
        the next run reads these records again.
    """
    url = store.url
    counts: Counter[str] = Counter()
    reasons: dict[str, None] = {}

    def write(records: DataFrame, _: int) -> None:
        for done in records.rdd.mapPartitions(lambda rows: _write(url, topic, rows)).collect():
            counts.update(records=done.records, reports=done.reports, unreadable=done.unreadable)
            reasons.update(dict.fromkeys(done.reasons))

    found = (
        spark.readStream.format("kafka")
        .options(**options)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", RECORDS_AT_ONCE)
        # Records that retention has removed before they were read are lost, but that must not stop the job.
        .option("failOnDataLoss", False)
        .load()
        .select("partition", "offset", "timestamp", "value")
    )
    query = (
        found.writeStream.foreachBatch(write)
        .option("checkpointLocation", store.for_spark(f"imports/kafka/{quote(topic, safe='')}"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return Outcome(**counts, reasons=tuple(reasons)[:SHOWN_REASONS])


def _write(address: str, topic: str, rows: Iterable[Row]) -> Iterator[Outcome]:
    """Write the batches of some records. Runs in a Spark task."""
    store = Store(address)
    counts: Counter[str] = Counter()
    reasons: dict[str, None] = {}
    # Records that are not batches, by partition and day: a file for each would be too many when other programs
    # write to the Topic.
    strange: dict[tuple[int, date], list[Unreadable]] = defaultdict(list)
    first: dict[tuple[int, date], int] = {}
    for row in rows:
        counts["records"] += 1
        try:
            imported = _write_one(store, bytes(row["value"] or b""))
        except ImportRefused as error:
            text = bytes(row["value"] or b"")[:MOST_TEXT].decode(errors="replace")
            # (A record's time is from a client's clock: files of a day in the future would not be removed in
            # time.)
            key = (row["partition"], min(row["timestamp"].date(), datetime.now(UTC).date()))
            first.setdefault(key, row["offset"])
            strange[key].append(Unreadable(text, f"Offset {row['offset']}: {error}"))
            counts["unreadable"] += 1
            why = [str(error)]
        else:
            counts.update(reports=len(imported.rows), unreadable=len(imported.unreadable))
            why = [line.reason for line in imported.unreadable]
        if len(reasons) < SHOWN_REASONS:
            reasons.update(dict.fromkeys(why))
    for (partition, day), lines in strange.items():
        put_lines_aside(store, f"kafka-{topic}-{partition}-{first[partition, day]}", day, lines)
    yield Outcome(**counts, reasons=tuple(reasons)[:SHOWN_REASONS])


def _write_one(store: Store, value: bytes) -> Imported:
    """Write the batch of one record. :raises ImportRefused: it is not a batch."""
    message = messages.parse(value)
    moment = min(message.moment, datetime.now(UTC))
    put_lines_aside(store, message.name, moment.date(), message.imported.unreadable)
    if message.imported.rows:
        put_batch(store, message.name, message.imported.rows, moment)
    return message.imported
