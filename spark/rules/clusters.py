"""Rules about clusters and their mirrors."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import (
    CONTROLLER_CHANGES,
    OVER_RPO_MINUTES,
    OVER_RPO_PERCENT,
    STALLED_MINUTES,
    STALLED_PERCENT,
)
from hadash.mirroring.topic_settings import KEPT
from spark.rules.base import Inputs, finding, listed, number, rule
from spark.rules.sides import answered, mirrored_topics, sides

_OFFSETS = "__consumer_offsets"

#: The dialect of pairs whose Gateways redirect clients to the brokers.
_REDIRECTED = "didi"

#: Configs that may differ: those that are about the brokers of a Topic, and those that hadash itself keeps
#: different on a standby.
_MAY_DIFFER = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas", *KEPT)


def _both(inputs: Inputs, table: DataFrame) -> DataFrame:
    """Return pair, first, second, and each other column of ``table`` (one row for each cluster) as first_… and
    second_….
    """
    found = inputs.pairs.select("pair", "first", "second")
    for side in ("first", "second"):
        columns = [
            F.col("cluster").alias(side) if name == "cluster" else F.col(name).alias(f"{side}_{name}")
            for name in table.columns
        ]
        found = found.join(table.select(*columns), side)
    return found


@rule(Code.ENGINE_VERSIONS)
def engine_versions(inputs: Inputs) -> DataFrame:
    known = inputs.clusters.where("version != ''").select("cluster", "version")
    found = _both(inputs, known).where("first_version != second_version")
    return finding(
        found,
        "pair",
        first="first",
        first_version="first_version",
        second="second",
        second_version="second_version",
    )


@rule(Code.OFFSETS_PARTITIONS)
def offsets_partitions(inputs: Inputs) -> DataFrame:
    """(A cluster that has had no group yet does not have this Topic.)"""
    counts = (
        inputs.partitions.where(F.col("topic") == _OFFSETS)
        .groupBy("cluster")
        .agg(F.count(F.lit(1)).alias("partitions"))
    )
    found = _both(inputs, counts).where("first_partitions != second_partitions")
    return finding(
        found,
        "pair",
        first="first",
        first_partitions="first_partitions",
        second="second",
        second_partitions="second_partitions",
    )


@rule(Code.BROKER_IDS)
def broker_ids(inputs: Inputs) -> DataFrame:
    """(A redirecting Gateway shows the brokers' own ids; any other gives them virtual ids:
    :mod:`hadash.gateway.brokers.nodes`.)
    """
    redirected = inputs.pairs.where(F.col("dialect") == _REDIRECTED).select("pair")
    ids = inputs.brokers.groupBy("cluster").agg(F.collect_set(F.col("broker").cast("string")).alias("ids"))
    both = F.array_intersect("first_ids", "second_ids")
    found = (
        _both(inputs, ids)
        .join(redirected, "pair", how="left_semi")
        .withColumn("ids", both)
        .where(F.size("ids") > 0)
    )
    return finding(found, "pair", first="first", second="second", ids=listed(F.col("ids")))


@rule(Code.CONTROLLER)
def controller(inputs: Inputs) -> DataFrame:
    """(A cluster that was made again counts from the beginning: a lower epoch is not a change.)"""
    before = F.lag("controller_epoch").over(Window.partitionBy("cluster").orderBy("at"))
    risen = inputs.controllers.withColumn("risen", F.greatest(F.col("controller_epoch") - before, F.lit(0)))
    changes = risen.groupBy("cluster").agg(F.sum("risen").alias("count"))
    found = changes.where(F.col("count") >= CONTROLLER_CHANGES).join(sides(inputs.pairs), "cluster")
    return finding(found, "cluster", cluster="cluster", count="count")


@rule(Code.UNDER_REPLICATED)
def under_replicated(inputs: Inputs) -> DataFrame:
    return _on_target(inputs, (F.col("leader") >= 0) & (F.size("in_sync") < F.size("replicas")))


@rule(Code.LEADERLESS)
def leaderless(inputs: Inputs) -> DataFrame:
    return _on_target(inputs, F.col("leader") < 0)


def _on_target(inputs: Inputs, holds: Column) -> DataFrame:
    """Return the findings on partitions of each mirror's target for which ``holds`` is true."""
    each = inputs.partitions.where(holds).select(F.col("cluster").alias("target"), "topic", "partition")
    found = (
        mirrored_topics(inputs.mirrors)
        .join(each, ["target", "topic"])
        .groupBy("pair", "mirror", "target")
        .agg(
            F.count(F.lit(1)).alias("count"),
            listed(F.collect_set(F.concat_ws("-", "topic", "partition"))).alias("partitions"),
        )
    )
    return finding(found, "mirror", mirror="mirror", count="count", cluster="target", partitions="partitions")


@rule(Code.FEWER_PARTITIONS)
def fewer_partitions(inputs: Inputs) -> DataFrame:
    counts = inputs.partitions.groupBy("cluster", "topic").agg(F.count(F.lit(1)).alias("partitions"))
    source = counts.withColumnsRenamed({"cluster": "source", "partitions": "source_partitions"})
    target = counts.withColumnsRenamed({"cluster": "target", "partitions": "target_partitions"})
    found = (
        mirrored_topics(inputs.mirrors)
        .join(answered(inputs.clusters).withColumnRenamed("cluster", "target"), "target")
        .join(source, ["source", "topic"])
        .join(target, ["target", "topic"], "left")
        .fillna(0, ["target_partitions"])
        .where("target_partitions < source_partitions")
    )
    return finding(
        found,
        "topic",
        topic="topic",
        source="source",
        source_partitions="source_partitions",
        target="target",
        target_partitions="target_partitions",
    )


@rule(Code.CONFIG_DRIFT)
def config_drift(inputs: Inputs) -> DataFrame:
    configs = inputs.topics.select(
        "cluster",
        "topic",
        F.explode(F.coalesce("configs", F.expr("cast(map() as map<string, string>)"))).alias(
            "config", "value"
        ),
    ).where(~F.col("config").isin(*_MAY_DIFFER))
    there = inputs.topics.select("cluster", "topic")
    # Only where both clusters have the Topic: a missing one is another finding.
    mirrored = (
        mirrored_topics(inputs.mirrors)
        .join(there.withColumnRenamed("cluster", "source"), ["source", "topic"])
        .join(there.withColumnRenamed("cluster", "target"), ["target", "topic"])
    )
    source = configs.withColumnsRenamed({"cluster": "source", "value": "source_value"})
    target = configs.withColumnsRenamed({"cluster": "target", "value": "target_value"})
    on_source = mirrored.join(source, ["source", "topic"])
    on_target = mirrored.join(target, ["target", "topic"])
    key = ["pair", "mirror", "source", "target", "topic", "config"]
    differing = on_source.join(on_target, key, "full").where(
        ~F.col("source_value").eqNullSafe(F.col("target_value"))
    )
    shown = F.format_string(
        "%s %s ≠ %s", "config", F.coalesce("source_value", F.lit("–")), F.coalesce("target_value", F.lit("–"))
    )
    found = differing.groupBy("pair", "topic").agg(listed(F.collect_set(shown)).alias("configs"))
    return finding(found, "topic", topic="topic", configs="configs")


@rule(Code.OVER_RPO)
def over_rpo(inputs: Inputs) -> DataFrame:
    """(An unknown sample counts like a late one: then it is not known how much would be lost.)"""
    late = F.coalesce(F.col("seconds") > F.col("rpo_seconds"), F.lit(True))
    over = F.sum("lasting")
    share = F.sum(F.when(late, F.col("lasting")).otherwise(0.0)) / over
    found = (
        _lasting(inputs.lag)
        .join(inputs.pairs.select("pair", "rpo_seconds"), "pair", how="inner")
        .groupBy("pair", "mirror", "rpo_seconds")
        .agg((share * 100).alias("percent"), over.alias("over"), F.max("seconds").alias("most"))
        .where((F.col("percent") > OVER_RPO_PERCENT) & (F.col("over") >= OVER_RPO_MINUTES * 60))
    )
    return finding(
        found,
        "mirror",
        mirror="mirror",
        rpo=number("rpo_seconds"),
        percent=number("percent"),
        most=F.when(F.col("most").isNull(), F.lit("–")).otherwise(number("most")),
    )


def _lasting(lag: DataFrame) -> DataFrame:
    """Return the samples with ``lasting``: the seconds until the next one; for the last one, the seconds since
    the one before.

    (While a cluster does not answer there are fewer samples, because each waits for it; before a switch there
    are more.)
    """
    of_mirror = Window.partitionBy("pair", "mirror").orderBy("at")
    at = F.col("at").cast("double")
    to_next, from_last = F.lead(at).over(of_mirror) - at, at - F.lag(at).over(of_mirror)
    once = lag.dropDuplicates(["pair", "mirror", "at"])
    return once.withColumn("lasting", F.coalesce(to_next, from_last, F.lit(1.0)))


@rule(Code.STALLED)
def stalled(inputs: Inputs) -> DataFrame:
    found = (
        inputs.mirrors.select("pair", "mirror", "state", F.coalesce("fault", F.lit("")).alias("why"))
        .join(_later(inputs), ["pair", "mirror"], "left")
        .fillna(0, ["later", "over"])
        .where(
            F.col("state").isin("stopped", "failed")
            | (
                (F.col("over") >= STALLED_MINUTES * 60 / 2)
                & (F.col("later") * 100 >= F.col("over") * STALLED_PERCENT)
            )
        )
    )
    return finding(
        found,
        "mirror",
        mirror="mirror",
        state="state",
        later=number("later"),
        minutes=F.lit(STALLED_MINUTES),
        why="why",
    )


def _later(inputs: Inputs) -> DataFrame:
    """Return pair, mirror, ``later``: the seconds by which the lag grew within the last minutes of its samples,
    and
    ``over``: the seconds that these cover.
    """
    seen = _supposed(inputs.lag)
    last = seen.groupBy("pair", "mirror").agg(F.max("at").alias("last"))
    recent = seen.join(last, ["pair", "mirror"], how="inner").where(
        F.col("at") >= F.col("last") - F.expr(f"INTERVAL {STALLED_MINUTES} MINUTES")
    )
    return recent.groupBy("pair", "mirror").agg(
        F.greatest(F.max_by("seconds", "at") - F.min_by("seconds", "at"), F.lit(0.0)).alias("later"),
        (F.max("at").cast("double") - F.min("at").cast("double")).alias("over"),
    )


def _supposed(lag: DataFrame) -> DataFrame:
    """Return the samples with an assumed lag where it is unknown: the last known lag (or 0 if there is none),
    plus the time since then.
    """
    before = Window.partitionBy("pair", "mirror").orderBy("at").rowsBetween(Window.unboundedPreceding, 0)
    known = F.when(F.col("seconds").isNotNull(), F.struct("seconds", "at"))
    first = F.struct(F.lit(0.0).alias("seconds"), F.first("at").over(before).alias("at"))
    since = lag.withColumn("since", F.coalesce(F.last(known, ignorenulls=True).over(before), first))
    passed = F.col("at").cast("double") - F.col("since.at").cast("double")
    return since.select("pair", "mirror", "at", (F.col("since.seconds") + passed).alias("seconds"))
