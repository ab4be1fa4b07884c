"""Rules about declared and seen uses, and about the sources that have seen them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import UNSEEN_DAYS
from hadash.lake.access import GATEWAY, SURVIVE_USER
from spark.rules.base import Inputs, client, finding, listed, names, rule
from spark.rules.prepared import CLIENT


@rule(Code.NEVER_SEEN)
def never_seen(inputs: Inputs) -> DataFrame:
    """(It looks further back than the access window, because a job may run once a month.)"""
    lately = F.lit((1 << UNSEEN_DAYS) - 1)
    reaching = inputs.remembered.where(F.col("days") >= 1 << (UNSEEN_DAYS - 1)).select("pair").distinct()
    declared = _declared(inputs).join(reaching, "pair", how="left_semi")
    seen = _uses_of(inputs.remembered.where(F.col("days").bitwiseAND(lately) != 0))
    missing = (
        declared.where("client_id != ''")
        .join(seen, [*_USE], how="left_anti")
        .unionByName(
            declared.where("client_id = ''").join(
                seen.drop("client_id"), ["pair", "appid", "kind", "resource"], how="left_anti"
            )
        )
    )
    found = missing.groupBy("pair", "appid").agg(F.count(F.lit(1)).alias("count"), _uses().alias("uses"))
    return finding(found, "appid", "appid", appid="appid", count="count", uses="uses")


@rule(Code.NOT_DECLARED)
def not_declared(inputs: Inputs) -> DataFrame:
    declared = _declared(inputs)
    of_all = declared.where("client_id = ''").drop("client_id")
    found = (
        _uses_of(inputs.facts)
        .join(declared.select("pair", "appid").distinct(), ["pair", "appid"], "left_semi")
        .join(declared, [*_USE], "left_anti")
        .join(of_all, ["pair", "appid", "kind", "resource"], "left_anti")
        .groupBy("pair", "appid")
        .agg(F.count(F.lit(1)).alias("count"), _uses().alias("uses"))
    )
    return finding(found, "appid", "appid", appid="appid", count="count", uses="uses")


_USE = ("pair", "appid", "client_id", "kind", "resource")


def _declared(inputs: Inputs) -> DataFrame:
    return inputs.declarations.select(
        "pair", "appid", F.coalesce("name", F.lit("")).alias("client_id"), "kind", "resource"
    ).distinct()


def _uses_of(facts: DataFrame) -> DataFrame:
    return facts.select(
        "pair", "appid", F.coalesce("client_id", F.lit("")).alias("client_id"), "kind", "resource"
    ).distinct()


def _uses() -> Column:
    """Return uses as a list of texts like ``web-1 produce orders``."""
    return listed(F.collect_set(F.concat_ws(" ", client(), "kind", "resource")))


@rule(Code.BYPASS)
def bypass(inputs: Inputs) -> DataFrame:
    found = (
        inputs.facts.groupBy(*CLIENT)
        .agg(
            F.max((F.col("source") == GATEWAY).cast("int")).alias("by_gateway"),
            F.max((F.col("source") == SURVIVE_USER).cast("int")).alias("by_brokers"),
            F.array_distinct(F.collect_set("host")).alias("hosts"),
        )
        .where("by_gateway = 0 AND by_brokers = 1")
        .groupBy("pair", "appid")
        .agg(
            F.count(F.lit(1)).alias("count"),
            names(client()).alias("clients"),
            listed(F.flatten(F.collect_list("hosts"))).alias("hosts"),
        )
    )
    return finding(found, "appid", "appid", appid="appid", count="count", clients="clients", hosts="hosts")
