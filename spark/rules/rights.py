"""Rules about what AppIDs may do."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import UNUSED_TOPICS
from spark.rules.base import Inputs, finding, listed, names, rule
from spark.rules.sides import answered, sides

_USER = "User:"
_EVERYTHING = "*"
_EVERYBODY = "User:*"


@rule(Code.SUPER_USER)
def super_user(inputs: Inputs) -> DataFrame:
    """(Brokers do not tell their super.users. But where others have rights to a Topic, nobody else uses it without one.)"""
    operation = F.when(F.col("kind") == "produce", F.lit("WRITE")).otherwise(F.lit("READ"))
    used = (
        inputs.facts.where("kind != 'group'")
        .select("pair", "cluster", "appid", F.col("resource").alias("topic"), operation.alias("operation"))
        .distinct()
    )
    rights = _exploded(inputs.acls)
    every = (F.col("resource") == _EVERYTHING) & (F.col("pattern") == "LITERAL")
    topics = used.select("cluster", "topic").distinct()
    named = of_topics(rights.where(~every), topics).cache()
    alike = ["cluster", "operation"]
    found = (
        used.join(named.select("cluster", "topic").distinct(), ["cluster", "topic"], "left_semi")
        .join(named.where("appid != '*'"), [*alike, "topic", "appid"], "left_anti")
        .join(named.where("appid = '*'"), [*alike, "topic"], "left_anti")
        .join(rights.where(every & (F.col("appid") != "*")), [*alike, "appid"], "left_anti")
        .join(rights.where(every & (F.col("appid") == "*")), alike, "left_anti")
        .join(inputs.appids.select("pair", "appid").distinct(), ["pair", "appid"])
        .groupBy("pair", "appid")
        .agg(names("cluster").alias("clusters"), names("topic").alias("topics"))
    )
    return finding(found, "appid", "appid", appid="appid", clusters="clusters", topics="topics")


def _exploded(acls: DataFrame) -> DataFrame:
    """cluster, appid (``*``: everybody), resource, pattern, operation (READ or WRITE): what somebody may do with Topics."""
    both = F.array(F.lit("READ"), F.lit("WRITE"))
    operations = F.when(F.col("operation") == "ALL", both).otherwise(F.array("operation"))
    return (
        acls.where(
            "resource_type = 'TOPIC' AND permission = 'ALLOW' AND operation IN ('READ', 'WRITE', 'ALL')"
        )
        .where(F.col("principal").startswith(_USER))
        .select("cluster", _appid(), "resource", "pattern", F.explode(operations).alias("operation"))
        .distinct()
    )


@rule(Code.UNUSED_RIGHTS)
def unused_rights(inputs: Inputs) -> DataFrame:
    used = (
        inputs.facts.where("kind != 'group'")
        .select("pair", "appid", F.col("resource").alias("topic"))
        .distinct()
    )
    found = (
        allowed_topics(inputs, _of_appids(inputs))
        .select("pair", "appid", "topic")
        .distinct()
        .join(used, ["pair", "appid", "topic"], "left_anti")
        .groupBy("pair", "appid")
        .agg(F.count(F.lit(1)).alias("count"), names("topic").alias("topics"))
        .where(F.col("count") > UNUSED_TOPICS)
    )
    return finding(found, "appid", "appid", appid="appid", count="count", topics="topics")


def allowed_topics(inputs: Inputs, rights: DataFrame) -> DataFrame:
    """pair, appid, cluster, topic, ``named``: what some may read or write, and whether a rule names it, or only all.

    :param rights: of AppIDs or of all users: :func:`of_users`.
    """
    rights = (
        rights.where(
            "resource_type = 'TOPIC' AND permission = 'ALLOW' AND operation IN ('READ', 'WRITE', 'ALL')"
        )
        .select("pair", "appid", "cluster", "resource", "pattern")
        .distinct()
    )
    topics = inputs.topics.select("cluster", "topic").where(~F.col("topic").startswith("__"))
    everything = (F.col("resource") == _EVERYTHING) & (F.col("pattern") == "LITERAL")
    columns = ["pair", "appid", "cluster", "topic"]
    named = of_topics(rights.where(~everything), topics).select(*columns).withColumn("named", F.lit(True))
    others = (
        rights.where(everything).join(topics, "cluster").select(*columns).withColumn("named", F.lit(False))
    )
    return named.union(others)


def of_topics(rights: DataFrame, topics: DataFrame) -> DataFrame:
    """The rights with the Topics (cluster, topic) that each names, by name or by prefix."""
    literal = rights.where("pattern = 'LITERAL'").withColumn("topic", F.col("resource"))
    # A Topic is allowed by a prefix if its own beginning, of as many characters as some prefix has, is that prefix.
    prefixes = rights.where("pattern = 'PREFIXED'")
    lengths = prefixes.select(F.length("resource").alias("length")).distinct()
    beginnings = topics.join(F.broadcast(lengths), F.length("topic") >= F.col("length")).select(
        "cluster", "topic", F.expr("substring(topic, 1, length)").alias("resource")
    )
    by_name = literal.join(topics, ["cluster", "topic"], "left_semi")
    return by_name.unionByName(prefixes.join(beginnings, ["cluster", "resource"]))


@rule(Code.ACL_DRIFT)
def acl_drift(inputs: Inputs) -> DataFrame:
    mirrored = inputs.mirrors.select("pair", F.explode("topics").alias("resource")).distinct()
    of_topic = (
        (F.col("resource_type") == "TOPIC")
        & (F.col("pattern") == "LITERAL")
        & (F.col("resource") != _EVERYTHING)
    )
    rights = _of_appids(inputs).join(_both_answered(inputs), "pair")
    # A Topic that nobody mirrors is on one cluster only, and so may be who uses it.
    counted = (
        rights.where(of_topic)
        .join(mirrored, ["pair", "resource"], "left_semi")
        .unionByName(
            rights.where(~of_topic & F.col("resource_type").isin("TOPIC", "GROUP", "TRANSACTIONAL_ID"))
        )
    )
    right = ["resource_type", "resource", "pattern", "host", "operation", "permission"]
    alone = (
        counted.groupBy("pair", "appid", *right)
        .agg(F.collect_set("cluster").alias("on"))
        .where(F.size("on") == 1)
    )
    said = F.concat_ws(" ", F.lower("permission"), F.lower("operation"), F.lower("resource_type"), "resource")
    found = (
        alone.withColumn("cluster", F.col("on")[0])
        .groupBy("pair", "appid", "cluster")
        .agg(F.count(F.lit(1)).alias("count"), listed(F.collect_set(said)).alias("rights"))
    )
    return finding(
        found, "cluster", "appid", appid="appid", count="count", cluster="cluster", rights="rights"
    )


def of_users(inputs: Inputs) -> DataFrame:
    """The rights of all users on the clusters of each pair, without hadash's own users, and without what hadash has made."""
    return (
        inputs.acls.where(~F.coalesce("by_hadash", F.lit(False)) & F.col("principal").startswith(_USER))
        .where(F.col("principal") != _EVERYBODY)
        .withColumn("appid", _appid())
        .join(inputs.own_users, ["cluster", "appid"], "left_anti")
        .join(sides(inputs.pairs), "cluster")
    )


def _of_appids(inputs: Inputs) -> DataFrame:
    return of_users(inputs).join(inputs.appids.select("pair", "appid").distinct(), ["pair", "appid"])


def _both_answered(inputs: Inputs) -> DataFrame:
    """The pairs of which both clusters were there and have rights: what is not seen on one that is away may well be there, and
    where there is no authorizer nobody is refused."""
    with_rights = inputs.clusters.where("coalesce(authorizer, true)")
    there = sides(inputs.pairs).join(answered(with_rights), "cluster")
    return there.groupBy("pair").agg(F.count(F.lit(1)).alias("n")).where("n = 2").select("pair")


def _appid() -> Column:
    return F.expr(f"substring(principal, {len(_USER) + 1})").alias("appid")
