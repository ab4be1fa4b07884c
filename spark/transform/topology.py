"""Facts → edges (uses), nodes with their radii, islands, and sharing degrees. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from hadash.lake.access import LISTING, USES
from hadash.radius.nodes import GROUP, TOPIC, AccessEdge
from spark.schemas import EDGES, ISLANDS, MARKS, NODES_DRAWN, SHARED_BY, SHARING
from spark.transform.fleet import NoPair, fleet_of
from spark.transform.layout import Position
from spark.transform.packing import Before, Circle, Named, packed
from spark.transform.pairwise import SEEN, by_pair
from spark.transform.radii import node_rows


def lately(facts: DataFrame, newest: str, window_days: int) -> DataFrame:
    """Return the facts that count as use: those seen within the window that ends with the newest day."""
    return _within(facts, newest, window_days).where(F.col("kind").isin(*USES))


def listings(facts: DataFrame, newest: str, window_days: int) -> DataFrame:
    """Return the requests for all Topics within the window."""
    return _within(facts, newest, window_days).where(F.col("kind") == LISTING)


def _within(facts: DataFrame, newest: str, window_days: int) -> DataFrame:
    return facts.where(F.col("last_seen") >= F.date_sub(F.lit(newest).cast("date"), window_days - 1))


def edges(facts: DataFrame) -> DataFrame:
    """Return :data:`spark.schemas.EDGES`: facts without host, library and settings."""
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
    """Return :data:`spark.schemas.SHARING`: how many clients, hosts and applications use each AppID, and its
    largest radii.

    :param nodes: :data:`spark.schemas.NODES`.
    :param applications: :data:`spark.schemas.APPLICATIONS`; a missing AppID has one application.
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


#: Most names of clients and of hosts of one application; its row has their numbers.
NAMED = 20


def shared_by(facts: DataFrame, applications: DataFrame) -> DataFrame:
    """Return :data:`spark.schemas.SHARED_BY`.

    :param applications: :data:`spark.schemas.APPLICATIONS`.
    """
    one = ["pair", "appid"]
    several = (
        applications.groupBy(*one).agg(F.count_distinct("application").alias("n")).where("n > 1").select(*one)
    )
    used = facts.select(*one, "client_id", "host").distinct()
    found = applications.join(several, one).join(used, [*one, "client_id"])
    clients, hosts = F.collect_set("client_id"), F.collect_set("host")
    return (
        found.groupBy(*one, "application")
        .agg(
            F.size(clients).cast("bigint").alias("clients"),
            F.size(hosts).cast("bigint").alias("hosts"),
            F.slice(F.sort_array(clients), 1, NAMED).alias("client_ids"),
            F.slice(F.sort_array(hosts), 1, NAMED).alias("host_names"),
        )
        .select(*SHARED_BY.names)
    )


def nodes(edges: DataFrame, registry: DataFrame, before: Before | None = None) -> DataFrame:
    """Return :data:`spark.schemas.NODES_DRAWN`: the radii of each thing, and its position on the map.

    One task processes one pair as one graph, because a radius cannot be computed from parts. (A million edges
    take a gigabyte.) Uses of pairs that are not in the registry are left out.

    :param before: the map of the previous run.
    """
    were = before.things if before else {}

    def of_pair(rows: pa.Table) -> pa.Table:
        found = list(_node_rows(rows, were))
        return pa.Table.from_pylist(found, schema=to_arrow_schema(NODES_DRAWN))

    return by_pair(edges, registry).applyInArrow(of_pair, NODES_DRAWN)


def _node_rows(rows: pa.Table, before: Mapping[str, Mapping[Named, Position]]) -> Iterator[dict[str, object]]:
    pair = rows["pair"][0].as_py()
    is_seen = pc.equal(rows["what"], SEEN)
    seen = rows.filter(is_seen)
    columns = (seen[name].to_pylist() for name in ("appid", "name", "kind", "resource"))
    uses = [AccessEdge(a, c or "", k, r) for a, c, k, r in zip(*columns, strict=True)]
    registry = rows.filter(pc.invert(is_seen)).to_pylist()
    try:
        yield from node_rows(fleet_of(pair, uses, registry), before.get(pair))
    except NoPair:
        return


def marks(nodes: DataFrame) -> DataFrame:
    """Return :data:`spark.schemas.MARKS`: the things that are drawn."""
    return nodes.where("x IS NOT NULL").select(*MARKS.names)


def islands(nodes: DataFrame, before: Before | None = None) -> DataFrame:
    """Return :data:`spark.schemas.ISLANDS`. (The driver computes their layout, because it needs all of them.)"""
    kind = F.col("kind")
    middle = F.max(F.struct("neighbours", (-F.col("number")).alias("first"), "kind", "appid", "names"))
    found = (
        nodes.groupBy("pair", "island")
        .agg(
            middle.alias("middle"),
            F.count("*").alias("things"),
            F.count_distinct(F.when(F.col("appid") != "", F.col("appid"))).alias("appids"),
            F.count_if(~kind.isin(TOPIC, GROUP)).alias("identities"),
            F.count_if(kind == TOPIC).alias("topics"),
            F.count_if(kind == GROUP).alias("groups"),
            F.when(F.count_distinct("cluster") == 1, F.first("cluster")).otherwise("").alias("cluster"),
            F.max("radius_instance").alias("radius_instance"),
            F.max("radius_appid").alias("radius_appid"),
        )
        .select("*", "middle.kind", "middle.appid", "middle.names")
        .drop("middle")
        .toArrow()
    )
    rows = sorted(found.to_pylist(), key=lambda row: (row["pair"], -row["things"], row["island"]))
    for pair, of_pair in groupby(rows, key=lambda row: row["pair"]):
        _place(list(of_pair), before.circles.get(pair, {}) if before else {})
    schema = to_arrow_schema(ISLANDS)
    table = pa.Table.from_pylist(rows, schema=schema)
    session = nodes.sparkSession
    return session.createDataFrame(table) if rows else session.createDataFrame([], ISLANDS)


def _place(rows: list[dict[str, Any]], circles: Mapping[Named, Circle]) -> None:
    """Set the circle of each island. (The thing in its centre identifies an island on the last map.)"""
    were = {row["island"]: circles[_name_of(row)] for row in rows if _name_of(row) in circles}
    found = packed(((row["island"], row["things"]) for row in rows), were)
    for row in rows:
        circle = found.get(row["island"])
        row |= {"x": circle.x, "y": circle.y, "r": circle.r} if circle else {"x": None, "y": None, "r": None}


def _name_of(row: Mapping[str, Any]) -> Named:
    return row["kind"], row["appid"], tuple(row["names"])
