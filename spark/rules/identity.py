"""Rules about identities: AppIDs, InstanceIDs, groups and bindings."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import (
    BOTH_DAYS,
    BOTH_OF_DAYS,
    CHANGING_DAYS,
    CHANGING_NAMES,
    MANY_TOPICS,
)
from spark.rules.base import Inputs, client, finding, names, rule
from spark.rules.prepared import CLIENT, is_named, stem


@rule(Code.SHARED_APPID)
def shared_appid(inputs: Inputs) -> DataFrame:
    found = (
        inputs.applications.groupBy("pair", "appid")
        .agg(F.count_distinct("application").alias("count"), names("application").alias("applications"))
        .where("count > 1")
    )
    return finding(found, "appid", "appid", appid="appid", count="count", applications="applications")


@rule(Code.NAMELESS)
def nameless(inputs: Inputs) -> DataFrame:
    found = (
        inputs.facts.where(~is_named())
        .groupBy("pair", "appid")
        .agg(
            F.count_distinct(client(), F.coalesce("host", F.lit(""))).alias("count"),
            names(client()).alias("clients"),
            names("host").alias("hosts"),
        )
    )
    return finding(found, "appid", "appid", appid="appid", count="count", clients="clients", hosts="hosts")


@rule(Code.CHANGING)
def changing(inputs: Inputs) -> DataFrame:
    recent = F.lit((1 << CHANGING_DAYS) - 1)
    once = (
        inputs.facts.where(is_named())
        .groupBy(*CLIENT)
        .agg(F.bit_or("days").alias("days"))
        .where((F.bit_count("days") == 1) & (F.col("days").bitwiseAND(recent) != 0))
        .withColumn("stem", stem(F.col("client_id")))
    )
    found = (
        once.groupBy("pair", "appid", "stem")
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.bit_count(F.bit_or("days")).alias("on_days"),
            names("client_id").alias("examples"),
        )
        .where((F.col("count") >= CHANGING_NAMES) & (F.col("on_days") > 1))
    )
    return finding(found, "stem", "appid", appid="appid", count="count", examples="examples")


@rule(Code.SEVERAL_APPIDS)
def several_appids(inputs: Inputs) -> DataFrame:
    found = (
        inputs.facts.where(is_named())
        .groupBy("pair", "client_id")
        .agg(F.count_distinct("appid").alias("count"), names("appid").alias("appids"))
        .where("count > 1")
    )
    return finding(found, "client_id", client="client_id", appids="appids")


@rule(Code.SEVERAL_KINDS)
def several_kinds(inputs: Inputs) -> DataFrame:
    library = F.when(F.col("library") != "", F.col("library"))
    found = (
        inputs.facts.where(is_named())
        .groupBy(*CLIENT)
        .agg(
            F.max((F.col("kind") == "produce").cast("int")).alias("writes"),
            F.max((F.col("kind") != "produce").cast("int")).alias("reads"),
            F.collect_set(library).alias("libraries"),
        )
    )
    kinds = F.concat(
        F.when(
            (F.col("writes") == 1) & (F.col("reads") == 1), F.array(F.lit("produce"), F.lit("consume"))
        ).otherwise(F.array().cast("array<string>")),
        F.when(F.size("libraries") > 1, F.array_sort("libraries")).otherwise(F.array().cast("array<string>")),
    )
    several = found.withColumn("kinds", kinds).where(F.size("kinds") > 0)
    return finding(
        several, "client_id", "appid", appid="appid", client="client_id", kinds=F.array_join("kinds", ", ")
    )


@rule(Code.MANY_TOPICS)
def many_topics(inputs: Inputs) -> DataFrame:
    found = (
        inputs.facts.where(is_named() & (F.col("kind") != "group"))
        .groupBy(*CLIENT)
        .agg(F.count_distinct("resource").alias("count"))
        .where(F.col("count") > MANY_TOPICS)
    )
    return finding(found, "client_id", "appid", appid="appid", client="client_id", count="count")


@rule(Code.BOTH_CLUSTERS)
def both_clusters(inputs: Inputs) -> DataFrame:
    bound = inputs.bindings.select(
        "pair", "appid", F.col("kind").alias("bound_kind"), F.col("name").alias("bound_name")
    )
    # Clients with a binding of their own may be on another cluster than the AppID.
    by_itself = (F.col("f.pair") == F.col("b.pair")) & (F.col("f.appid") == F.col("b.appid"))
    by_itself &= (
        ((F.col("bound_kind") == "instance") & (F.col("client_id") == F.col("bound_name")))
        | (
            (F.col("bound_kind") == "topic")
            & (F.col("f.kind") != "group")
            & (F.col("resource") == F.col("bound_name"))
        )
        | (
            (F.col("bound_kind") == "group")
            & (F.col("f.kind") == "group")
            & (F.col("resource") == F.col("bound_name"))
        )
    )
    free = inputs.facts.alias("f").join(bound.alias("b"), by_itself, "left_anti")
    sides = free.join(inputs.pairs.select("pair", "first", "second"), "pair")
    recent = F.lit((1 << BOTH_OF_DAYS) - 1)

    def days_on(side: str) -> Column:
        return F.bit_or(F.when(F.col("cluster") == F.col(side), F.col("days")).otherwise(F.lit(0)))

    found = (
        sides.where((F.col("cluster") == F.col("first")) | (F.col("cluster") == F.col("second")))
        .groupBy("pair", "appid")
        .agg(
            days_on("first").bitwiseAND(days_on("second")).bitwiseAND(recent).alias("both"),
            names("cluster").alias("clusters"),
            names(client()).alias("clients"),
        )
        .where(F.bit_count("both") >= BOTH_DAYS)
    )
    return finding(found, "appid", "appid", appid="appid", clusters="clusters", clients="clients")


@rule(Code.TWO_PAIRS)
def two_pairs(inputs: Inputs) -> DataFrame:
    used = inputs.facts.select("pair", "appid").distinct()
    several = (
        used.groupBy("appid")
        .agg(F.count(F.lit(1)).alias("count"), names("pair").alias("pairs"))
        .where("count > 1")
    )
    return finding(used.join(several, "appid"), "appid", "appid", appid="appid", pairs="pairs")


@rule(Code.NOT_UNIQUE)
def not_unique(inputs: Inputs) -> DataFrame:
    bound = inputs.bindings.where("kind != 'instance'").select(
        "pair", "appid", (F.col("kind") == "group").alias("is_group"), F.col("name").alias("resource")
    )
    uses = inputs.facts.select(*CLIENT, (F.col("kind") == "group").alias("is_group"), "resource").distinct()
    found = (
        uses.join(bound.distinct(), ["pair", "appid", "is_group", "resource"])
        .join(inputs.applications, [*CLIENT])
        .groupBy("pair", "appid", "resource")
        .agg(F.count_distinct("application").alias("count"), names("application").alias("applications"))
        .where("count > 1")
    )
    return finding(
        found,
        "resource",
        "appid",
        appid="appid",
        resource="resource",
        count="count",
        applications="applications",
    )


@rule(Code.REGEX)
def regex(inputs: Inputs) -> DataFrame:
    bound = (
        inputs.bindings.where("kind = 'topic'")
        .groupBy("pair", "appid")
        .agg(F.count_distinct("name").alias("count"))
    )
    members = inputs.facts.where("kind = 'group'").select(*CLIENT).distinct()
    found = inputs.listings.select(*CLIENT).distinct().join(members, [*CLIENT]).join(bound, ["pair", "appid"])
    return finding(found, "client_id", "appid", appid="appid", client=client(), count="count")


@rule(Code.GROUP_APPIDS)
def group_appids(inputs: Inputs) -> DataFrame:
    found = (
        inputs.facts.where("kind = 'group'")
        .groupBy("pair", "resource")
        .agg(F.count_distinct("appid").alias("count"), names("appid").alias("appids"))
        .where("count > 1")
    )
    return finding(found, "resource", group="resource", appids="appids")


@rule(Code.GROUP_INSTANCES)
def group_instances(inputs: Inputs) -> DataFrame:
    known = inputs.instances.select(
        "pair", "appid", F.col("name").alias("client_id"), F.lit(1).alias("known")
    )
    found = (
        inputs.facts.where("kind = 'group'")
        .select(*CLIENT, "resource")
        .distinct()
        .join(known.distinct(), [*CLIENT], "left")
        .groupBy("pair", "appid", "resource")
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.count("known").alias("registered"),
            names(client()).alias("clients"),
        )
        .where("count > 1 AND registered > 0")
    )
    return finding(
        found,
        "resource",
        "appid",
        appid="appid",
        group="resource",
        count="count",
        registered="registered",
        clients="clients",
    )
