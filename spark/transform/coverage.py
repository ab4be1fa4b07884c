"""How well the clients of each AppID are known: facts → coverage. Pure."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from hadash.lake.access import GATEWAY, SURVIVE_USER
from spark.schemas import COVERAGE, COVERAGE_CELLS

#: Seconds for which one client.id has to be seen on two hosts at once to count as two clients: after a restart
#: on another host the times overlap by the delay of a report and a clock.
OVERLAP_SECONDS = 120

#: Days on which a client that may have moved to another host and back has to seem to be on both.
SURE_DAYS = 2

_CLIENT = ("pair", "appid", "client_id")


#: AppIDs of a pair in the map of coverage (those with the most clients to do something about), and Topics of
#: each, at most: more than a user looks at, and few enough to be stored with each run of a pair with 100,000 AppIDs.
CELL_APPIDS, CELL_TOPICS = 1000, 40


def known_clients(
    facts: DataFrame, instances: DataFrame, daily: DataFrame | None = None, *, days: int
) -> DataFrame:
    """Return one row for each client: pair, appid, client_id, ``days`` on which it was seen, and the flags (0
    or 1) ``registered``, ``nameless``, ``new``, ``twice``, ``bypassing``.

    :param facts: the facts that count as use.
    :param instances: the registered InstanceIDs: pair, appid, name.
    :param daily: the rows of the days in which clients on two hosts at once are searched; ``None``: not at all.
    :param days: the number of newest days in which client.ids count as new.
    """
    clients = facts.groupBy(*_CLIENT).agg(
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
    return counted.select(
        *_CLIENT,
        "days",
        _flag(F.col("known").isNotNull()).alias("registered"),
        _flag(F.coalesce("client_id", F.lit("")) == "").alias("nameless"),
        _flag(_is_new(days)).alias("new"),
        _flag(F.col("twice").isNotNull()).alias("twice"),
        _flag((F.col("by_gateway") == 0) & (F.col("by_brokers") == 1)).alias("bypassing"),
    )


def coverage(clients: DataFrame, facts: DataFrame, mirrors: DataFrame, *, days: int) -> DataFrame:
    """Return :data:`spark.schemas.COVERAGE`: one row for each AppID.

    :param clients: the result of :func:`known_clients`.
    :param mirrors: pair, and the ``topics`` that each copies.
    """
    found = clients.groupBy("pair", "appid").agg(
        F.count(F.lit(1)).alias("clients"),
        F.sum("registered").alias("registered"),
        F.sum("nameless").alias("nameless"),
        F.sum("new").alias("new_clients"),
        F.bit_count(F.bit_or("days").bitwiseAND(F.lit((1 << days) - 1))).cast("long").alias("days"),
        F.sum("twice").alias("duplicates"),
        F.sum("bypassing").alias("bypassing"),
    )
    return found.join(_topics(facts, mirrors), ["pair", "appid"], "left").fillna(0).select(*COVERAGE.names)


def cells(clients: DataFrame, facts: DataFrame, changing: DataFrame) -> DataFrame:
    """Return :data:`spark.schemas.COVERAGE_CELLS`: how well the clients that use a Topic are known, for the
    AppIDs with the most clients that are not registered, are there twice at once, or bypass the Gateways.

    :param clients: the result of :func:`known_clients`.
    :param changing: pair and appid of AppIDs whose client.ids change at each start.
    """
    with_work = (F.col("registered") == 0) | (F.col("twice") == 1) | (F.col("bypassing") == 1)
    to_do = clients.groupBy("pair", "appid").agg(F.sum(with_work.cast("int")).alias("to_do"))
    worst = Window.partitionBy("pair").orderBy(F.desc("to_do"), "appid")
    chosen = to_do.withColumn("place", F.row_number().over(worst)).where(F.col("place") <= CELL_APPIDS)
    uses = facts.where(F.col("kind") != "group").select(*_CLIENT, F.col("resource").alias("topic")).distinct()
    own = uses.join(chosen.select("pair", "appid"), ["pair", "appid"])
    most = Window.partitionBy("pair", "appid").orderBy(F.desc("users"), "topic")
    topics = (
        own.groupBy("pair", "appid", "topic")
        .agg(F.count(F.lit(1)).alias("users"))
        .withColumn("place", F.row_number().over(most))
        .where(F.col("place") <= CELL_TOPICS)
    )
    again = changing.select("pair", "appid", F.lit(1).alias("again")).distinct()
    return (
        own.join(topics.select("pair", "appid", "topic"), ["pair", "appid", "topic"])
        .join(clients, [*_CLIENT])
        .join(again, ["pair", "appid"], "left")
        .groupBy("pair", "appid", "topic")
        .agg(
            F.count(F.lit(1)).alias("clients"),
            F.sum("registered").alias("registered"),
            F.sum("nameless").alias("nameless"),
            F.sum(_flag(F.col("again").isNotNull() & (F.col("registered") == 0))).alias("changing"),
            F.sum("twice").alias("duplicates"),
            F.sum("bypassing").alias("bypassing"),
        )
        .select(*COVERAGE_CELLS.names)
    )


def _topics(facts: DataFrame, mirrors: DataFrame) -> DataFrame:
    """Return pair, appid, the number of ``topics`` that it uses, and how many of them are ``mirrored``."""
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


def _flag(holds: Column) -> Column:
    return holds.cast("long")


def _is_new(days: int) -> Column:
    """Return whether a client was seen on exactly one day, which is one of the newest. Names that change at
    each start are seen like that.
    """
    recent = F.lit((1 << days) - 1)
    return (F.bit_count("days") == 1) & (F.col("days").bitwiseAND(recent) != 0)


def twice_at_once(daily: DataFrame) -> DataFrame:
    """Return the client.ids that ran on two hosts at once for longer than :data:`OVERLAP_SECONDS` on a day:
    pair, appid, client_id, ``twice`` (1).

    For each day only the first and the last time on each host are known. So a client that was on one host
    before and after it was on another may have moved there and back: it counts only if that happens on
    :data:`SURE_DAYS` days.
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
        )  # (the first row has none before it)
        .withColumn("within", F.col("end") <= still_there)
        .where(F.col("shared") > OVERLAP_SECONDS)
        .groupBy(*_CLIENT)
        .agg(F.bool_and("within").alias("within"), F.count_distinct("date").alias("dates"))
        .where(~F.col("within") | (F.col("dates") >= SURE_DAYS))
        .select(*_CLIENT, F.lit(1).alias("twice"))
    )
