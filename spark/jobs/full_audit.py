"""Compares a whole Topic on both sides of a mirror, record by record, as both clusters hold it now.

Spark reads both sides with its Kafka connector, makes checksums of every record, and puts the records of each partition
beside each other: by how many there are between a record and a place at which both sides correspond. (Offsets would not
do: transactions leave gaps on one side only.) From there on :class:`hadash.auditing.whole.WholePartition` compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from hadash.auditing.aligning import Which
from hadash.auditing.prints import NONE, Print
from hadash.auditing.whole import Compared, WholePartition, as_json, from_json
from spark.orders import Order, ProgressFile, Range
from spark.publishing.progress import followed

#: What a task answers: one row for each partition.
ANSWER = "partition INT, compared STRING"

#: The number that stands for each side in Spark's tables: the source's records come first.
NUMBERS = {Which.SOURCE: 0, Which.TARGET: 1}


def carry_out(spark: SparkSession, order: Path, progress: Path) -> dict[str, Any]:
    """Compare a Topic, and return what came of each partition (:func:`as_json`).

    :param order: a file with a :class:`spark.orders.Order`; ``progress``: the one to which it is told how far
        this is.
    :raises OSError, ValueError, KeyError: the order cannot be read.
    :raises Exception: as Spark raises: a cluster cannot be reached, say.
    """
    told = Order.read(order)
    order.unlink()  # (it has passwords, and is not needed any more)
    with followed(spark, ProgressFile(progress), "comparing"):
        found = compare(spark, told)
    return {"partitions": [as_json(partition, found[partition]) for partition in sorted(found)]}


def compare(spark: SparkSession, order: Order) -> dict[int, Compared]:
    """Return what came of each partition of an order."""
    found = {each.partition: Compared() for each in order.ranges}
    sides = [
        side
        for side in (
            _read(spark, order, Which.SOURCE, order.source),
            _read(spark, order, Which.TARGET, order.target),
        )
        if side is not None
    ]
    if not sides:
        return found
    records = sides[0] if len(sides) == 1 else sides[0].unionByName(sides[1])
    own = Window.partitionBy("partition", "side")
    beside = (
        records.repartition(len(order.ranges), "partition")
        .withColumn("place", F.row_number().over(own.orderBy("offset")) - F.sum("is_before").over(own))
        .sortWithinPartitions("partition", "place", "side")
        .select("partition", "side", "offset", "key", "value", "headers", "time")
    )
    noted = order.noted
    for row in beside.mapInArrow(lambda batches: _compared(batches, noted), ANSWER).collect():
        found[row["partition"]] = from_json(json.loads(row["compared"]))
    return found


def _read(spark: SparkSession, order: Order, which: Which, properties: Any) -> DataFrame | None:
    """The records of one side, as checksums; ``None`` if it holds none."""
    ranges = [each for each in order.ranges if _span(each, which)[0] < _span(each, which)[1]]
    if not ranges:
        return None
    begins, ends = (
        json.dumps({order.topic: {str(each.partition): _span(each, which)[end] for each in ranges}})
        for end in (0, 1)
    )
    read = (
        spark.read.format("kafka")
        .options(**{f"kafka.{name}": value for name, value in properties.items()})
        .option("assign", json.dumps({order.topic: [each.partition for each in ranges]}))
        .option("startingOffsets", begins)
        .option("endingOffsets", ends)
        .option("includeHeaders", True)
        # As MirrorMaker reads, which also copies records of aborted transactions.
        .option("kafka.isolation.level", "read_uncommitted")
        # (Retention may remove the oldest records meanwhile: they are among those that were not compared then.)
        .option("failOnDataLoss", False)
        .load()
    )
    places = F.create_map(*[F.lit(number) for each in ranges for number in _place(each, which)])
    return read.select(
        "partition",
        F.lit(NUMBERS[which]).alias("side"),
        "offset",
        _sum("key").alias("key"),
        _sum("value").alias("value"),
        _headers().alias("headers"),
        F.unix_millis("timestamp").alias("time"),
        (F.col("offset") < places[F.col("partition")]).cast("long").alias("is_before"),
    )


def _span(each: Range, which: Which) -> tuple[int, int]:
    return each.source if which is Which.SOURCE else each.target


def _place(each: Range, which: Which) -> tuple[int, int]:
    return each.partition, each.place[NUMBERS[which]]


def _sum(part: str) -> Column:
    """The checksum of a key or value: 64 bits, made by the JVM. (Both sides are checked by the same one, and no other
    program has to know it.)
    """
    return F.when(F.col(part).isNull(), F.lit(NONE).cast("long")).otherwise(F.xxhash64(part))


def _headers() -> Column:
    """The checksum of all headers, in their order. (A part that is missing adds nothing to a checksum: it is said
    beside it, so that no two lists of headers are alike.)
    """
    every = F.transform("headers", lambda each: F.struct(each["key"], each["value"].isNull(), each["value"]))
    return F.when(F.coalesce(F.size("headers"), F.lit(0)) > 0, F.xxhash64(every)).otherwise(
        F.lit(0).cast("long")
    )


# -- in Spark's tasks ----------------------------------------------------------------------------------------------


def _compared(batches: Iterator[pa.RecordBatch], noted: int) -> Iterator[pa.RecordBatch]:
    """Compare partitions, one after the other, whose records come in the order of their places."""
    partition, whole = -1, WholePartition(noted)
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        for begin, end in _runs(columns[0]):
            if columns[0][begin] != partition:
                if partition >= 0:
                    yield _answer(partition, whole)
                partition, whole = columns[0][begin], WholePartition(noted)
            _feed(whole, [column[begin:end] for column in columns])
    if partition >= 0:
        yield _answer(partition, whole)


def _runs(partitions: list[int]) -> Iterator[tuple[int, int]]:
    """Where the records of each partition begin and end.

    >>> list(_runs([3, 3, 5, 5, 5]))
    [(0, 2), (2, 5)]
    """
    changes = [n for n in range(1, len(partitions)) if partitions[n] != partitions[n - 1]]
    yield from pairwise([0, *changes, len(partitions)])


def _feed(whole: WholePartition, columns: list[list[Any]]) -> None:
    _, sides, offsets, *parts = columns
    prints = list(map(Print._make, zip(*parts, strict=True)))
    for which, number in NUMBERS.items():
        mine = [n for n, side in enumerate(sides) if side == number]
        whole.feed(which, [offsets[n] for n in mine], [prints[n] for n in mine])
    whole.compare()


def _answer(partition: int, whole: WholePartition) -> pa.RecordBatch:
    told = json.dumps(as_json(partition, whole.end()))
    return pa.RecordBatch.from_arrays(
        [pa.array([partition], pa.int32()), pa.array([told], pa.string())], ["partition", "compared"]
    )
