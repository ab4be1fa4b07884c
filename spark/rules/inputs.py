"""What the rules are given, read from the lake."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from hadash.lake import snapshots
from hadash.lake.access import USES
from hadash.lake.snapshots import TABLES, Snapshot
from hadash.lake.store import Store
from spark.rules import prepared
from spark.rules.base import Inputs
from spark.rules.sides import sides
from spark.transform.topology import lately, listings

#: What one looks back over for what changes quickly: controllers, and the lag of mirrors.
HISTORY = timedelta(days=1)


def read(
    spark: SparkSession, store: Store, facts: DataFrame, newest_day: str, snapshot: Snapshot, window_days: int
) -> Inputs:
    """:param facts: all of them (:data:`spark.schemas.FACTS`). :param newest_day: the last one in them.
    :param window_days: what was seen within so many days counts as use.
    """
    table = partial(_table, spark, store, [snapshot])
    history = snapshots.whole(store, snapshot.at - HISTORY)
    history = [each for each in history if each.at <= snapshot.at]
    # hadash's own users, and those of its mirrors, are no applications.
    own = table("own_users").select("cluster", F.col("user").alias("appid")).distinct()
    # What a cluster has that its pair does not (somebody has mistyped one of them in a file) is nobody's.
    pairs = table("pairs")
    facts = facts.join(F.broadcast(sides(pairs)), ["pair", "cluster"], "left_semi")
    facts = facts.join(F.broadcast(own), ["cluster", "appid"], "left_anti")
    used = lately(facts, newest_day, window_days).cache()
    return Inputs(
        facts=used,
        remembered=facts.where(F.col("kind").isin(*USES)),
        listings=listings(facts, newest_day, window_days),
        documents=table("documents"),
        bindings=prepared.bindings(table("documents")).cache(),
        applications=prepared.applications(used).cache(),
        clusters=table("clusters"),
        controllers=_table(spark, store, history, "clusters")
        .where("controller_epoch IS NOT NULL")
        .withColumn("at", F.input_file_name()),  # a snapshot's place begins with its day and time
        brokers=table("brokers"),
        topics=table("topics"),
        partitions=table("partitions").cache(),
        acls=table("acls").cache(),
        own_users=own,
        groups=table("groups"),
        members=table("members"),
        pairs=pairs,
        appids=table("appids"),
        instances=table("instances"),
        declarations=table("declarations"),
        mirrors=table("mirrors"),
        lag=_table(spark, store, history, "lag").where(F.col("at") >= F.lit(snapshot.at - HISTORY)),
    )


def _table(spark: SparkSession, store: Store, of: Iterable[Snapshot], name: str) -> DataFrame:
    """One table of some snapshots, with today's columns: what older ones did not have is null."""
    schema = from_arrow_schema(TABLES[name])
    files = [store.for_spark(each.table(name)) for each in of if store.exists(each.table(name))]
    return spark.read.schema(schema).parquet(*files) if files else spark.createDataFrame([], schema)
