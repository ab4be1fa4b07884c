"""Lag samples → one row for each mirror and day. Each day is processed separately, and kept in the lake as a
file: the cost of one more day does not depend on the number of days.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from hadash.lake import snapshots
from hadash.lake.snapshots import TABLES, Snapshot
from hadash.lake.store import Store
from spark import manifest
from spark.schemas import LAG_DAYS

_FOLDER = f"{manifest.FOLDER}/lag-days"

#: Days before the newest that are made again, with later samples.
LATE_DAYS = 1


def roll_up(lag: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return :data:`spark.schemas.LAG_DAYS`.

    :param lag: the samples (:data:`hadash.lake.snapshots.TABLES`); duplicates count once.
    :param pairs: the pairs with their ``rpo_seconds``.
    """
    known = F.col("seconds").isNotNull()
    found = (
        lag.dropDuplicates(["pair", "mirror", "at"])
        .join(F.broadcast(pairs.select("pair", "rpo_seconds")), "pair")
        .groupBy("pair", "mirror", F.to_date("at").alias("date"))
        .agg(
            F.count(F.lit(1)).alias("samples"),
            F.sum((~known).cast("long")).alias("unknown"),
            F.sum((known & (F.col("seconds") > F.col("rpo_seconds"))).cast("long")).alias("over_rpo"),
            F.percentile_approx("seconds", 0.5).alias("seconds_p50"),
            F.percentile_approx("seconds", 0.95).alias("seconds_p95"),
            F.max("seconds").alias("seconds_most"),
            F.max("records").alias("records_most"),
        )
    )
    return found.select(*LAG_DAYS.names)


def bring_up(spark: SparkSession, store: Store, pairs: DataFrame) -> DataFrame:
    """Return all days; missing ones, and those that may have more samples now, are made (again). Idempotent."""
    there = {name.rsplit("/", 1)[-1].removesuffix(".parquet") for name in store.files(_FOLDER)}
    # The first snapshot of a day also has samples of the day before.
    whole = snapshots.whole(store)
    days = sorted({f"{each.at - timedelta(days=back):%Y-%m-%d}" for each in whole for back in (0, 1)})
    settled = f"{date.fromisoformat(days[-1]) - timedelta(days=LATE_DAYS):%Y-%m-%d}" if days else ""
    for day in days:
        if day not in there or day >= settled:
            _make(spark, store, pairs, day, whole)
    files = [store.for_spark(name) for name in store.files(_FOLDER)]
    return spark.read.schema(LAG_DAYS).parquet(*files) if files else spark.createDataFrame([], LAG_DAYS)


def _make(spark: SparkSession, store: Store, pairs: DataFrame, day: str, whole: Sequence[Snapshot]) -> None:
    """Make the file of one day. (A sample is in the first snapshot after it, which may be the next day's.)"""
    begin = date.fromisoformat(day)
    after = [
        each
        for each in whole
        if begin <= each.at.date() <= begin + timedelta(days=1) and store.exists(each.table("lag"))
    ]
    schema = from_arrow_schema(TABLES["lag"])
    samples = spark.read.schema(schema).parquet(*(store.for_spark(each.table("lag")) for each in after))
    rows = roll_up(samples.where(F.to_date("at") == F.lit(day).cast("date")), pairs)
    store.write_table(f"{_FOLDER}/{day}.parquet", rows.toArrow())
