"""Who uses what, and what hangs together: facts → edges, nodes, sharing degrees. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from hadash.lake.access import LISTING, USES
from hadash.switching.things import Use
from spark.schemas import EDGES, NODES, SHARING
from spark.transform.estate import NoPair, estate_of
from spark.transform.pairwise import SEEN, by_pair
from spark.transform.radii import node_rows


def lately(facts: DataFrame, newest: str, window_days: int) -> DataFrame:
    """The facts that count as use: seen within the window before the end of the newest day."""
    return _within(facts, newest, window_days).where(F.col("kind").isin(*USES))


def listings(facts: DataFrame, newest: str, window_days: int) -> DataFrame:
    """Who has asked for all Topics within the window."""
    return _within(facts, newest, window_days).where(F.col("kind") == LISTING)


def _within(facts: DataFrame, newest: str, window_days: int) -> DataFrame:
    return facts.where(F.col("last_seen") >= F.date_sub(F.lit(newest).cast("date"), window_days - 1))


def edges(facts: DataFrame) -> DataFrame:
    """:data:`spark.schemas.EDGES`: facts without host, library and settings."""
    return (
        facts.groupBy("pair", "appid", "client_id", "kind", "resource", "cluster")
        .agg(
            F.count_distinct("host").alias("hosts"),
            *(F.sum(name).alias(name) for name in ("requests", "records", "bytes")),
            F.min("first_seen").alias("first_seen"),
            F.max("last_seen").alias("last_seen"),
        )
        .select(*EDGES.names)
    )


def sharing(facts: DataFrame, nodes: DataFrame, applications: DataFrame) -> DataFrame:
    """:data:`spark.schemas.SHARING`: how many use each AppID, and how many things move with it at most.

    :param nodes: :data:`spark.schemas.NODES`. :param applications: :data:`spark.schemas.APPLICATIONS`; an AppID that is not among them is one
        application's.
    """
    is_group = F.col("kind") == "group"
    used = facts.groupBy("pair", "appid").agg(
        F.count_distinct("client_id").alias("clients"),
        F.count_distinct("host").alias("hosts"),
        F.count_distinct("library").alias("libraries"),
        F.count_distinct(F.when(is_group, F.col("resource"))).alias("groups"),
        F.count_distinct(F.when(~is_group, F.col("resource"))).alias("topics"),
    )
    several = applications.groupBy("pair", "appid").agg(F.count_distinct("application").alias("applications"))
    moving = nodes.groupBy("pair", "appid").agg(
        F.max("radius_instance").alias("radius"), F.max("radius_appid").alias("radius_by_appid")
    )
    return (
        used.join(several, ["pair", "appid"], "left")
        .join(moving, ["pair", "appid"], "left")
        .fillna(1, ["applications"])
        .fillna(0, ["radius", "radius_by_appid"])
        .select(*SHARING.names)
    )


def nodes(edges: DataFrame, registry: DataFrame) -> DataFrame:
    """:data:`spark.schemas.NODES`: what would move with each thing.

    One pair is worked off by one task, as one graph: a radius is no sum of parts. (A million edges take a gigabyte.) What
    belongs to no pair that the registry knows is left out.
    """
    return by_pair(edges, registry).applyInArrow(_nodes_of_pair, NODES)


def _nodes_of_pair(rows: pa.Table) -> pa.Table:
    return pa.Table.from_pylist(list(_node_rows(rows)), schema=to_arrow_schema(NODES))


def _node_rows(rows: pa.Table) -> Iterator[dict[str, object]]:
    is_seen = pc.equal(rows["what"], SEEN)
    seen = rows.filter(is_seen)
    columns = (seen[name].to_pylist() for name in ("appid", "name", "kind", "resource"))
    uses = [Use(a, c or "", k, r) for a, c, k, r in zip(*columns, strict=True)]
    registry = rows.filter(pc.invert(is_seen)).to_pylist()
    try:
        yield from node_rows(estate_of(rows["pair"][0].as_py(), uses, registry))
    except NoPair:
        return
