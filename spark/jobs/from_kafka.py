"""A Kafka Topic of access reports → the lake, through Spark's own Kafka connector.

Each record is one batch (:mod:`hadash.lake.importers.messages`) and becomes the file of that name, so it does not matter how often it is
read. How far the Topic has been read stands in the lake, as the checkpoint of a query that ends when it has read what there is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from pyspark.sql import DataFrame, Row, SparkSession

from hadash.lake.access import put_batch
from hadash.lake.importers import messages
from hadash.lake.importers.imported import ImportRefused
from hadash.lake.quarantine import Unreadable, put_lines_aside
from hadash.lake.store import Store
from spark.publishing.progress import followed
from spark.publishing.runs import Kept, Made, Run

#: Records that are read at once: each is a batch of reports, and some megabytes at most.
RECORDS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run read: records, reports in them, and what no report could be made of."""

    records: int = 0
    reports: int = 0
    unreadable: int = 0


def publish(
    current: Run, spark: SparkSession, store: Store, topic: str, options: Mapping[str, str], kept: Kept
) -> dict[str, object]:
    """:func:`run` as a run that people see: its number, and how much of what there was."""
    began = time.monotonic()
    with followed(spark, current, "reports"):
        done = run(spark, store, topic, options)
    made = Made(
        rows={"records": done.records, "reports": done.reports},
        quality={"reports": done.reports, "unreadable": done.unreadable},
        seconds={"reports": time.monotonic() - began},
    )
    return {"run": current.number, "rows": current.publish(store, made, kept)}


def run(spark: SparkSession, store: Store, topic: str, options: Mapping[str, str]) -> Outcome:
    """Read what has come since the last run.

    :param options: how the cluster is reached, as Spark wants it: ``kafka.bootstrap.servers`` and so on.
    :raises pyspark.errors.StreamingQueryException: the Topic cannot be read, or the lake not be written to; what was read is
        read again.
    """
    url = store.url
    counts: Counter[str] = Counter()

    def write(records: DataFrame, _: int) -> None:
        for reports, unreadable in records.rdd.mapPartitions(lambda rows: _write(url, topic, rows)).collect():
            counts.update(records=1, reports=reports, unreadable=unreadable)

    found = (
        spark.readStream.format("kafka")
        .options(**options)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", RECORDS_AT_ONCE)
        # What retention has removed before it was read is lost, and no reason to stop.
        .option("failOnDataLoss", False)
        .load()
        .select("partition", "offset", "value")
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
    return Outcome(**counts)


def _write(address: str, topic: str, rows: Iterable[Row]) -> Iterator[tuple[int, int]]:
    """In a task of Spark. (reports, what could not be read) of each record."""
    store = Store(address)
    for row in rows:
        yield _write_one(store, topic, row["partition"], row["offset"], row["value"])


def _write_one(store: Store, topic: str, partition: int, offset: int, value: Any) -> tuple[int, int]:
    try:
        message = messages.parse(bytes(value or b""))
    except ImportRefused as error:
        text = bytes(value or b"").decode(errors="replace")
        put_lines_aside(
            store,
            quote(f"kafka-{topic}-{partition}-{offset}", safe=""),
            [Unreadable(text[:10_000], str(error))],
        )
        return 0, 1
    name = quote(message.name, safe="")
    put_lines_aside(store, name, message.imported.unreadable)
    if message.imported.rows:
        put_batch(store, message.name, message.imported.rows, min(message.moment, datetime.now(UTC)))
    return len(message.imported.rows), len(message.imported.unreadable)
