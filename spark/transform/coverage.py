"""How well the clients of each AppID are known: facts → coverage. Pure."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from hadash.lake.access import GATEWAY, SURVIVE_USER
from spark.schemas import COVERAGE

#: Seconds that one client.id has to be seen on two hosts at once before it counts as two clients: a restart on another
#: host overlaps by what a report and a clock are late.
OVERLAP_SECONDS = 120

#: Days on which a client has to seem to be on two hosts at once that may have moved from one to the other and back.
SURE_DAYS = 2

_CLIENT = ("pair", "appid", "client_id")


def coverage(
    facts: DataFrame, instances: DataFrame, mirrors: DataFrame, daily: DataFrame | None = None, *, days: int
) -> DataFrame:
    """:data:`spark.schemas.COVERAGE`: one row an AppID.

    :param facts: those that count as use.
    :param instances: the registered InstanceIDs: pair, appid, name.
    :param mirrors: pair and ``topics`` that they copy.
    :param daily: the rows of some days, of which two hosts at once are looked for; ``None``: they are not.
    :param days: how many of the newest days new client.ids are counted in.
    """
    clients = facts.groupBy(*_CLIENT).agg(
        F.min("first_seen").alias("first_seen"),
        F.bit_or("days").alias("days"),
        F.max((F.col("source") == GATEWAY).cast("int")).alias("by_gateway"),
        F.max((F.col("source") == SURVIVE_USER).cast("int")).alias("by_brokers"),
    )
    known = instances.select(
        "pair", "appid", F.col("name").alias("client_id"), F.lit(1).alias("known")
    ).distinct()
    counted = clients.join(known, [*_CLIENT], "left")
    if daily is not None:
        counted = counted.join(twice_at_once(daily), [*_CLIENT], "left")
    else:
        counted = counted.withColumn("twice", F.lit(None).cast("int"))
    found = counted.groupBy("pair", "appid").agg(
        F.count(F.lit(1)).alias("clients"),
        _how_many(F.col("known").isNotNull()).alias("registered"),
        _how_many(F.coalesce("client_id", F.lit("")) == "").alias("nameless"),
        _how_many(_is_new(days)).alias("new_clients"),
        F.bit_count(F.bit_or("days").bitwiseAND(F.lit((1 << days) - 1))).cast("long").alias("days"),
        _how_many(F.col("twice").isNotNull()).alias("duplicates"),
        _how_many((F.col("by_gateway") == 0) & (F.col("by_brokers") == 1)).alias("bypassing"),
    )
    return found.join(_topics(facts, mirrors), ["pair", "appid"], "left").fillna(0).select(*COVERAGE.names)


def _topics(facts: DataFrame, mirrors: DataFrame) -> DataFrame:
    """pair, appid, ``topics`` that it uses, and how many of them are ``mirrored``."""
    used = (
        facts.where(F.col("kind") != "group")
        .select("pair", "appid", F.col("resource").alias("topic"))
        .distinct()
    )
    copied = mirrors.select("pair", F.explode("topics").alias("topic"), F.lit(1).alias("copied")).distinct()
    return (
        used.join(copied, ["pair", "topic"], "left")
        .groupBy("pair", "appid")
        .agg(F.count(F.lit(1)).alias("topics"), F.count("copied").alias("mirrored"))
    )


def _how_many(holds: Column) -> Column:
    return F.sum(holds.cast("long"))


def _is_new(days: int) -> Column:
    """Seen on exactly one day, and on one of the newest: a client.id that is made anew at each start comes and goes so."""
    recent = F.lit((1 << days) - 1)
    return (F.bit_count("days") == 1) & (F.col("days").bitwiseAND(recent) != 0)


def twice_at_once(daily: DataFrame) -> DataFrame:
    """The client.ids that ran on two hosts at once for longer than :data:`OVERLAP_SECONDS` on some day: pair, appid,
    client_id, ``twice`` (1).

    Of a day it is known when a host saw a client first and last, and not what was in between. So one that was on a host before and
    after it was on another may have moved there and back: it counts when that is so on :data:`SURE_DAYS`.
    """
    by_host = (
        daily.where(F.coalesce("client_id", F.lit("")) != "")
        .groupBy(*_CLIENT, "date", "host")
        .agg(F.min("first_seen").alias("begin"), F.max("last_seen").alias("end"))
    )
    earlier = (
        Window.partitionBy(*_CLIENT, "date")
        .orderBy("begin", "host")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    still_there = F.max("end").over(earlier)
    shared = F.least(F.col("end"), still_there).cast("double") - F.col("begin").cast("double")
    return (
        by_host.withColumn(
            "shared", F.when(still_there.isNotNull(), shared)
        )  # (the first has nobody before it)
        .withColumn("within", F.col("end") <= still_there)
        .where(F.col("shared") > OVERLAP_SECONDS)
        .groupBy(*_CLIENT)
        .agg(F.bool_and("within").alias("within"), F.count_distinct("date").alias("dates"))
        .where(~F.col("within") | (F.col("dates") >= SURE_DAYS))
        .select(*_CLIENT, F.lit(1).alias("twice"))
    )
