"""Lag samples → one row a mirror and day. Each day is worked off by itself, and kept in the lake as a file of
its own: what one more day costs does not depend on how many there are.
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

#: Days before the newest that are made again, with what has come since.
LATE_DAYS = 1


def roll_up(lag: DataFrame, pairs: DataFrame) -> DataFrame:
    """:data:`spark.schemas.LAG_DAYS`.

    :param lag: samples, :data:`hadash.lake.snapshots.TABLES`; one that came twice counts once.
    :param pairs: with ``rpo_seconds``.
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
    """All days, of which those are made (again) that are not there or may have got more samples. Run again,
    it does the same.
    """
    there = {name.rsplit("/", 1)[-1].removesuffix(".parquet") for name in store.files(_FOLDER)}
    # The first snapshot of a day has what was sampled on the day before, too.
    whole = snapshots.whole(store)
    days = sorted({f"{each.at - timedelta(days=back):%Y-%m-%d}" for each in whole for back in (0, 1)})
    settled = f"{date.fromisoformat(days[-1]) - timedelta(days=LATE_DAYS):%Y-%m-%d}" if days else ""
    for day in days:
        if day not in there or day >= settled:
            _make(spark, store, pairs, day, whole)
    files = [store.for_spark(name) for name in store.files(_FOLDER)]
    return spark.read.schema(LAG_DAYS).parquet(*files) if files else spark.createDataFrame([], LAG_DAYS)


def _make(spark: SparkSession, store: Store, pairs: DataFrame, day: str, whole: Sequence[Snapshot]) -> None:
    """A sample lies in the first snapshot after it, which may be the next day's."""
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
