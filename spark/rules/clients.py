"""Rules about clients and their configuration."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import MAJORS_BEHIND, SKEW_PARTITIONS, SKEW_TIMES
from hadash.governance.client_risks import JAVA, RISKS
from hadash.lake.access import GATEWAY
from spark.rules.base import Inputs, client, finding, names, number, rule
from spark.rules.prepared import CLIENT
from spark.rules.risky import KEYS, hit, key_columns, one_of, release
from spark.rules.sides import sides

#: The config for the number of replicas that have to be in sync; on a broker it is the default of its Topics.
_MIN_IN_SYNC = "min.insync.replicas"


def _clients(facts: DataFrame, **evidence: Column) -> DataFrame:
    return facts.groupBy(*CLIENT).agg(*(column.alias(name) for name, column in evidence.items()))


def _replicated(inputs: Inputs) -> DataFrame:
    """Return the Topics with more than one replica: cluster, resource, ``replicas``."""
    replicas = inputs.partitions.groupBy("cluster", F.col("topic").alias("resource")).agg(
        F.min(F.size("replicas")).alias("replicas")
    )
    return replicas.where("replicas > 1")


@rule(Code.ACKS)
def acks(inputs: Inputs) -> DataFrame:
    writers = hit(RISKS[Code.ACKS], inputs.facts).join(
        _replicated(inputs), ["cluster", "resource"], how="left_semi"
    )
    found = _clients(writers, acks=names(F.col("acks").cast("string")), topics=names("resource"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), acks="acks", topics="topics")


@rule(Code.MIN_IN_SYNC)
def min_in_sync(inputs: Inputs) -> DataFrame:
    return _waiting_for(inputs, F.col("least") == 1)


@rule(Code.MIN_IN_SYNC_UNKNOWN)
def min_in_sync_unknown(inputs: Inputs) -> DataFrame:
    return _waiting_for(inputs, F.col("least").isNull())


def _waiting_for(inputs: Inputs, holds: Column) -> DataFrame:
    """Return the Topics with acks=all writers where ``holds`` is true of ``least``, the number of replicas that
    have to be in sync (null where it is not known).

    (A Topic's own configs are those that were set on it. The leader of a partition decides for all its
    replicas. A readable broker reports the value in effect, also Kafka's default, so a missing value means that
    it could not be read.)
    """
    said = F.col("configs")[_MIN_IN_SYNC].cast("int")
    known = (F.min(said) == 1) | F.every(said.isNotNull())
    of_brokers = inputs.brokers.groupBy("cluster").agg(F.when(known, F.min(said)).alias("default"))
    own = inputs.topics.select("cluster", F.col("topic").alias("resource"), said.alias("own"))
    found = (
        inputs.facts.where("kind = 'produce' AND acks = -1")
        .join(_replicated(inputs), ["cluster", "resource"], how="inner")
        .join(own, ["cluster", "resource"], how="left")
        .join(of_brokers, "cluster", how="left")
        .withColumn("least", F.coalesce("own", "default"))
        .where(holds)
        .groupBy("pair", "resource")
        .agg(
            names("appid").alias("appids"),
            names("cluster").alias("cluster"),
            F.max("replicas").alias("replicas"),
        )
    )
    return finding(
        found, "resource", appids="appids", topic="resource", cluster="cluster", replicas="replicas"
    )


@rule(Code.TRANSACTIONS)
def transactions(inputs: Inputs) -> DataFrame:
    found = _clients(hit(RISKS[Code.TRANSACTIONS], inputs.facts), topics=names("resource"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), topics="topics")


@rule(Code.IDEMPOTENT)
def idempotent(inputs: Inputs) -> DataFrame:
    found = _clients(hit(RISKS[Code.IDEMPOTENT], inputs.facts), topics=names("resource"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), topics="topics")


@rule(Code.NO_RETRIES)
def no_retries(inputs: Inputs) -> DataFrame:
    """(Libraries report their name since KIP-511: Java since 2.4, which already retried. So only a file can
    name an older Java; to a Gateway such a client has no library. Some clients report it only on their first
    connection, so a report of the same client and host counts for all. A missing library in reports of brokers
    and files means nothing, because many of these clients retry.)
    """
    risk = RISKS[Code.NO_RETRIES]
    here = {"place": F.coalesce("host", F.lit(""))} | key_columns()
    writers = hit(replace(risk, versions=()), inputs.facts).withColumns(here)
    says = inputs.facts.where((F.col("source") == GATEWAY) & (F.col("library") != "")).withColumns(here)
    says = says.select(*KEYS, "place", F.lit(True).alias("says")).distinct()
    library = F.coalesce("library", F.lit(""))
    silent = (library == "") & (F.col("source") == GATEWAY) & F.col("says").isNull()
    said = F.when(library == "", F.lit("–")).otherwise(F.concat_ws(" ", library, "version"))
    may_not = writers.join(says, [*KEYS, "place"], how="left").where(one_of(risk.versions) | silent)
    found = _clients(may_not, version=names(said), topics=names("resource"))
    return finding(
        found, "client_id", "appid", appid="appid", client=client(), version="version", topics="topics"
    )


@rule(Code.SELF_ASSIGNED)
def self_assigned(inputs: Inputs) -> DataFrame:
    # (Only a Gateway sees who joins a group: reports of brokers and files prove nothing.)
    readers = hit(RISKS[Code.SELF_ASSIGNED], inputs.facts).where(F.col("source") == GATEWAY)
    found = _clients(readers, topics=names("resource"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), topics="topics")


@rule(Code.KAFKA_10793)
def kafka_10793(inputs: Inputs) -> DataFrame:
    found = _clients(hit(RISKS[Code.KAFKA_10793], inputs.facts), version=names("version"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), version="version")


@rule(Code.KAFKA_13563)
def kafka_13563(inputs: Inputs) -> DataFrame:
    found = _clients(
        hit(RISKS[Code.KAFKA_13563], inputs.facts), version=names("version"), group=names("resource")
    )
    return finding(
        found, "client_id", "appid", appid="appid", client=client(), version="version", group="group"
    )


@rule(Code.LONG_SESSION)
def long_session(inputs: Inputs) -> DataFrame:
    quiesce = inputs.pairs.select("pair", "quiesce_seconds")
    long = (
        hit(RISKS[Code.LONG_SESSION], inputs.facts)
        .join(quiesce, "pair")
        .where(F.col("session_timeout_ms") > F.col("quiesce_seconds") * 1000)
    )
    found = _clients(
        long,
        seconds=_seconds(F.max("session_timeout_ms")),
        group=names("resource"),
        quiesce=number(F.max("quiesce_seconds")),
    )
    return finding(
        found,
        "client_id",
        "appid",
        appid="appid",
        client=client(),
        seconds="seconds",
        group="group",
        quiesce="quiesce",
    )


@rule(Code.SESSION_BOUNDS)
def session_bounds(inputs: Inputs) -> DataFrame:
    configs = F.col("configs")
    bounds = inputs.brokers.groupBy("cluster").agg(
        F.max(configs["group.min.session.timeout.ms"].cast("long")).alias("least"),
        F.min(configs["group.max.session.timeout.ms"].cast("long")).alias("most"),
    )
    timeout = F.col("session_timeout_ms")
    outside = (
        hit(RISKS[Code.SESSION_BOUNDS], inputs.facts)
        .drop("cluster")
        .join(sides(inputs.pairs), "pair")
        .join(bounds, "cluster")
        .where((timeout < F.col("least")) | (timeout > F.col("most")))
    )
    found = outside.groupBy(*CLIENT).agg(
        names(_seconds(timeout)).alias("seconds"),
        names("resource").alias("group"),
        names("cluster").alias("cluster"),
        _seconds(F.max("least")).alias("least"),
        _seconds(F.min("most")).alias("most"),
    )
    return finding(
        found,
        "client_id",
        "appid",
        appid="appid",
        client=client(),
        seconds="seconds",
        group="group",
        cluster="cluster",
        least="least",
        most="most",
    )


@rule(Code.SKEWED)
def skewed(inputs: Inputs) -> DataFrame:
    """(Members with more Topics have more partitions on purpose, so only members with the same Topics are
    compared; those with an unknown subscription are compared with each other.)
    """
    by_range = inputs.groups.where("protocol = 'range'").select("cluster", "group")
    shares = inputs.members.select(
        "cluster",
        "group",
        F.array_sort("topics").alias("topics"),
        F.coalesce(F.size("partitions"), F.lit(0)).alias("partitions"),
    )
    found = (
        shares.join(by_range, ["cluster", "group"], how="inner")
        .groupBy("cluster", "group", "topics")
        .agg(
            F.count(F.lit(1)).alias("members"),
            F.max("partitions").alias("most"),
            F.min("partitions").alias("least"),
        )
        .where(
            (F.col("most") >= F.col("least") * SKEW_TIMES)
            & (F.col("most") - F.col("least") >= SKEW_PARTITIONS)
        )
        .join(sides(inputs.pairs), "cluster")
    )
    # (A group may be skewed in several sets of members, or for a moment on both clusters when it has moved:
    # that is one finding.)
    worst = F.max(F.struct(F.col("most") - F.col("least"), "members", "most", "least"))
    one = found.groupBy("pair", "group").agg(worst.alias("worst")).select("pair", "group", "worst.*")
    return finding(one, "group", group="group", members="members", most="most", least="least")


@rule(Code.CLIENT_VERSION)
def client_version(inputs: Inputs) -> DataFrame:
    engines = sides(inputs.pairs).join(
        inputs.clusters.select("cluster", F.col("version").alias("engine")), "cluster"
    )
    behind = (
        inputs.facts.where(F.col("library") == JAVA)
        .drop("cluster")
        .join(engines, "pair")
        .where(release(F.col("engine"))[0] - release(F.col("version"))[0] > MAJORS_BEHIND)
    )
    found = _clients(behind, version=names("version"), cluster=names("cluster"), engine=names("engine"))
    return finding(
        found,
        "client_id",
        "appid",
        appid="appid",
        client=client(),
        version="version",
        cluster="cluster",
        engine="engine",
    )


def _seconds(milliseconds: Column) -> Column:
    return number(milliseconds / 1000)
