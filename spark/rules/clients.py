"""Rules about what clients are, and how they are set."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import MAJORS_BEHIND, SKEW_PARTITIONS, SKEW_TIMES
from hadash.lake.access import GATEWAY
from spark.rules.base import Inputs, client, finding, names, number, rule
from spark.rules.prepared import CLIENT
from spark.rules.sides import sides

#: What decides how many replicas have to be in sync; on a broker it is the default of its Topics.
_MIN_IN_SYNC = "min.insync.replicas"

#: Numbers that fit into 32 bits: builds of one's own are named after moments, too.
_RELEASE = r"^(\d{1,6}\.\d{1,6}(\.\d{1,6})?)(?!\d)"
_JAVA, _KAFKA_PYTHON = "apache-kafka-java", "kafka-python"
_BAD_COORDINATOR = ((2, 5, 0), (2, 5, 1), (2, 6, 0), (2, 6, 1), (2, 7, 0))


def _is_java() -> Column:
    return F.col("library") == _JAVA


def release(version: Column) -> Column:
    """The numbers of a version, three of them: arrays compare as versions do. Null for what is none."""
    numbers = F.split(F.regexp_extract(version, _RELEASE, 1), r"\.").try_cast("array<int>")
    three = F.slice(F.concat(numbers, F.array(F.lit(0), F.lit(0))), 1, 3)
    return F.when(version.rlike(_RELEASE), three)


def _version(*numbers: int) -> Column:
    return F.array(*(F.lit(number) for number in numbers))


def _clients(facts: DataFrame, **evidence: Column) -> DataFrame:
    return facts.groupBy(*CLIENT).agg(*(column.alias(name) for name, column in evidence.items()))


def _replicated(inputs: Inputs) -> DataFrame:
    """cluster, resource, ``replicas``: the Topics with more than one replica."""
    replicas = inputs.partitions.groupBy("cluster", F.col("topic").alias("resource")).agg(
        F.min(F.size("replicas")).alias("replicas")
    )
    return replicas.where("replicas > 1")


@rule(Code.ACKS)
def acks(inputs: Inputs) -> DataFrame:
    writers = inputs.facts.where("kind = 'produce' AND acks IN (0, 1)").join(
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
    """Of the Topics whose writers ask for acks of all replicas those for which something ``holds`` of
    ``least``: how many have to be in sync, and null where nobody can tell.

    (A Topic's own configs are those that were set on it. Whichever broker leads a partition decides for all
    others. A broker that can be read says what is in effect, Kafka's default too, so one that says nothing
    could not be read.)
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
    found = _clients(inputs.facts.where("kind = 'produce' AND transactional"), topics=names("resource"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), topics="topics")


@rule(Code.IDEMPOTENT)
def idempotent(inputs: Inputs) -> DataFrame:
    """(Who writes in transactions has a finding of its own.)"""
    writers = inputs.facts.where("kind = 'produce' AND idempotent AND NOT coalesce(transactional, false)")
    found = _clients(writers, topics=names("resource"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), topics="topics")


@rule(Code.NO_RETRIES)
def no_retries(inputs: Inputs) -> DataFrame:
    """(Libraries tell what they are since KIP-511: Java since 2.4, when it retried already. So of Java only a
    file can say that it is so old, and what a Gateway hears of such a client is that it says nothing; some
    say it on their first connection only, so what the same client says on its host counts. Brokers and files
    say nothing of many that retry. Idempotent producers always retry: libraries refuse to be both idempotent
    and without retries.)
    """
    here = {"place": F.coalesce("host", F.lit(""))} | _key_columns()
    writers = inputs.facts.where("kind = 'produce'").withColumns(here)
    says = inputs.facts.where((F.col("source") == GATEWAY) & (F.col("library") != "")).withColumns(here)
    says = says.select(*_KEYS, "place", F.lit(True).alias("says")).distinct()
    may_not = ~F.coalesce(F.col("idempotent") | F.col("transactional"), F.lit(False))
    library, version = F.coalesce("library", F.lit("")), release(F.col("version"))
    old = ((library == _JAVA) & (version < _version(2, 1, 0))) | (
        (library == _KAFKA_PYTHON) & (version < _version(2, 2, 0))
    )
    silent = (library == "") & (F.col("source") == GATEWAY) & F.col("says").isNull()
    said = F.when(library == "", F.lit("–")).otherwise(F.concat_ws(" ", library, "version"))
    hit = writers.join(says, [*_KEYS, "place"], how="left").where(may_not & (old | silent))
    found = _clients(hit, version=names(said), topics=names("resource"))
    return finding(
        found, "client_id", "appid", appid="appid", client=client(), version="version", topics="topics"
    )


def _members(facts: DataFrame) -> DataFrame:
    """Uses of a group by its members, as :attr:`hadash.governance.findings.Seen.is_member`: others only
    commit there.
    """
    return facts.where("kind = 'group' AND (member = 1 OR session_timeout_ms IS NOT NULL)")


@rule(Code.SELF_ASSIGNED)
def self_assigned(inputs: Inputs) -> DataFrame:
    joined = _members(inputs.facts).select(*_keys()).distinct()
    # (Only a Gateway sees who joins a group: of whom brokers or files tell that they read, nothing follows.)
    readers = inputs.facts.where((F.col("kind") == "consume") & (F.col("source") == GATEWAY)).withColumns(
        _key_columns()
    )
    found = _clients(readers.join(joined, [*_KEYS], "left_anti"), topics=names("resource"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), topics="topics")


@rule(Code.KAFKA_10793)
def kafka_10793(inputs: Inputs) -> DataFrame:
    bad = F.array(*(_version(*numbers) for numbers in _BAD_COORDINATOR))
    hit = _members(inputs.facts).where(_is_java() & F.array_contains(bad, release(F.col("version"))))
    found = _clients(hit, version=names("version"))
    return finding(found, "client_id", "appid", appid="appid", client=client(), version="version")


@rule(Code.KAFKA_13563)
def kafka_13563(inputs: Inputs) -> DataFrame:
    groups = inputs.facts.where("kind = 'group'").withColumns(_key_columns())
    joined = _members(inputs.facts).select(*_keys(), "resource").distinct()
    version = release(F.col("version"))
    since_2 = ((2, 6), (2, 7), (2, 8))
    fixed_10793 = (version >= _version(3, 0, 0)) | F.lit(False)
    for (major, minor), first in zip(since_2, (2, 1, 0), strict=True):
        fixed_10793 |= (version >= _version(major, minor, first)) & (version < _version(major, minor + 1, 0))
    hit = fixed_10793 & (version < _version(3, 2, 0)) & (version != _version(3, 1, 2))
    committing = groups.join(joined, [*_KEYS, "resource"], "left_anti").where(_is_java() & hit)
    found = _clients(committing, version=names("version"), group=names("resource"))
    return finding(
        found, "client_id", "appid", appid="appid", client=client(), version="version", group="group"
    )


@rule(Code.LONG_SESSION)
def long_session(inputs: Inputs) -> DataFrame:
    settle = inputs.pairs.select("pair", "settle_seconds")
    long = (
        _members(inputs.facts)
        .join(settle, "pair")
        .where(F.col("session_timeout_ms") > F.col("settle_seconds") * 1000)
    )
    found = _clients(
        long,
        seconds=_seconds(F.max("session_timeout_ms")),
        group=names("resource"),
        settle=number(F.max("settle_seconds")),
    )
    return finding(
        found,
        "client_id",
        "appid",
        appid="appid",
        client=client(),
        seconds="seconds",
        group="group",
        settle="settle",
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
        _members(inputs.facts)
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
    """(Who subscribes to more Topics has more partitions, and means to. Of whom it is not known, that is
    compared among themselves.)
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
    # (A group may be skewed among several sets of members, or on both sides for a moment when it has moved:
    # it is one finding.)
    worst = F.max(F.struct(F.col("most") - F.col("least"), "members", "most", "least"))
    one = found.groupBy("pair", "group").agg(worst.alias("worst")).select("pair", "group", "worst.*")
    return finding(one, "group", group="group", members="members", most="most", least="least")


@rule(Code.CLIENT_VERSION)
def client_version(inputs: Inputs) -> DataFrame:
    engines = sides(inputs.pairs).join(
        inputs.clusters.select("cluster", F.col("version").alias("engine")), "cluster"
    )
    behind = (
        inputs.facts.where(_is_java())
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


_KEYS = ("pair", "appid", "client_key")


def _key_columns() -> dict[str, Column]:
    """A client.id that compares: clients without one are one."""
    return {"client_key": F.coalesce("client_id", F.lit(""))}


def _keys() -> list[Column]:
    return [F.col("pair"), F.col("appid"), _key_columns()["client_key"].alias("client_key")]


def _seconds(milliseconds: Column) -> Column:
    return number(milliseconds / 1000)
