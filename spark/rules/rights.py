"""Rules about the rights of AppIDs."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import UNUSED_TOPICS
from hadash.mirroring.effective_rights import GROUP, OPERATIONS, TOPIC
from spark.rules import drift
from spark.rules.base import Inputs, finding, names, rule
from spark.rules.sides import answered, sides

_USER = "User:"
_EVERYTHING = "*"
_EVERYBODY = "User:*"


@rule(Code.SUPER_USER)
def super_user(inputs: Inputs) -> DataFrame:
    """(Brokers do not report their super.users. But where others have rights to a Topic, only a super user can
    use it without one.)
    """
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
    """Return the rights to Topics: cluster, appid (``*``: all users), resource, pattern, operation (READ or
    WRITE).
    """
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
    """Return the Topics that users may read or write: pair, appid, cluster, topic, and ``named``: whether a
    rule names the Topic, or only all Topics.

    :param rights: rights of AppIDs, or of all users (:func:`of_users`).
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
    """Return the rights with the Topics (cluster, topic) that each names, by name or by prefix."""
    literal = rights.where("pattern = 'LITERAL'").withColumn("topic", F.col("resource"))
    # A Topic matches a prefix if its beginning of that length equals it: joins beginnings of all lengths that
    # occur.
    prefixes = rights.where("pattern = 'PREFIXED'")
    lengths = prefixes.select(F.length("resource").alias("length")).distinct()
    beginnings = topics.join(F.broadcast(lengths), F.length("topic") >= F.col("length")).select(
        "cluster", "topic", F.expr("substring(topic, 1, length)").alias("resource")
    )
    by_name = literal.join(topics, ["cluster", "topic"], "left_semi")
    return by_name.unionByName(prefixes.join(beginnings, ["cluster", "resource"]))


@rule(Code.ACL_DRIFT)
def acl_drift(inputs: Inputs) -> DataFrame:
    """(One task processes one pair, because the rights of an AppID depend on the rules for all users, and on
    the mirrored Topics.)
    """
    found = (
        _compared(inputs)
        .groupBy("pair")
        .applyInArrow(drift.of_pair, drift.BEYOND)
        .groupBy("pair", "appid", "cluster")
        .agg(F.count(F.lit(1)).alias("count"), names("right").alias("rights"))
    )
    return finding(
        found, "cluster", "appid", appid="appid", count="count", cluster="cluster", rights="rights"
    )


def _compared(inputs: Inputs) -> DataFrame:
    """Return :data:`spark.rules.drift.COMPARED`: for each pair whose clusters both answered, the rules, the
    uses of its AppIDs, and the mirrored Topics.

    AppIDs whose rules are the same on both clusters are left out if those for all users are, too: these are
    nearly all.
    """
    both = _both_answered(inputs)
    rules = (
        inputs.acls.where(~F.coalesce("by_hadash", F.lit(False)) & F.col("principal").startswith(_USER))
        .where(F.col("resource_type").isin(*OPERATIONS))
        .join(sides(inputs.pairs).join(both, "pair", how="left_semi"), "cluster", how="inner")
        .withColumn("appid", _appid())
    )
    everybodys = rules.where(F.col("appid") == _EVERYTHING)
    own = rules.join(inputs.appids.select("pair", "appid").distinct(), ["pair", "appid"], how="left_semi")
    own = own.join(inputs.own_users, ["cluster", "appid"], how="left_anti")
    suspects = (
        _one_sided(own)
        .select("pair", "appid")
        .unionByName(
            inputs.appids.join(_one_sided(everybodys), "pair", how="left_semi").select("pair", "appid")
        )
        .distinct()
    )
    used = inputs.facts.select(
        "pair",
        "appid",
        F.when(F.col("kind") == "group", F.lit(GROUP)).otherwise(F.lit(TOPIC)).alias("resource_type"),
        "resource",
    ).distinct()
    together = [
        *(
            frame.join(suspects, ["pair", "appid"], how="left_semi")
            for frame in (_as(drift.RULE, own), _as(drift.USE, used))
        ),
        _as(drift.RULE, everybodys),
        _as(drift.MIRRORED, inputs.mirrors.select("pair", F.explode("topics").alias("resource"))),
        _as(drift.PAIR, inputs.pairs.join(both, "pair", how="left_semi")),
    ]
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), together)
    return rows.select(*drift.COMPARED.names).join(
        suspects.select("pair").distinct(), "pair", how="left_semi"
    )


def _as(what: str, rows: DataFrame) -> DataFrame:
    return rows.withColumn("what", F.lit(what))


def _one_sided(rules: DataFrame) -> DataFrame:
    """Return the rules (with pair and appid) that only one cluster has literally."""
    columns = ["pair", "appid", "resource_type", "resource", "pattern", "host", "operation", "permission"]
    return rules.groupBy(*columns).agg(F.count_distinct("cluster").alias("on")).where(F.col("on") == 1)


def of_users(inputs: Inputs) -> DataFrame:
    """Return the rights of all users on the clusters of each pair, without those of hadash's own users, and
    without the rules that hadash has made.
    """
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
    """Return the pairs whose clusters both answered and have an authorizer: rights of a cluster that did not
    answer are not known, and without an authorizer nothing is refused.
    """
    with_rights = inputs.clusters.where("coalesce(authorizer, true)")
    there = sides(inputs.pairs).join(answered(with_rights), "cluster")
    return there.groupBy("pair").agg(F.count(F.lit(1)).alias("n")).where("n = 2").select("pair")


def _appid() -> Column:
    return F.expr(f"substring(principal, {len(_USER) + 1})").alias("appid")
