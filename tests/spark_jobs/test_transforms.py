"""What is made of facts with DataFrames: edges, nodes, sharing degrees, coverage."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from lake.reports import NOON, put, report
from pyspark.sql import DataFrame, SparkSession

from hadash.lake.store import Store
from spark import manifest
from spark.jobs import facts
from spark.schemas import APPLICATIONS, REGISTRY
from spark.transform.coverage import cells, coverage, known_clients
from spark.transform.packing import Before, Circle
from spark.transform.topology import edges, islands, lately, marks, nodes, shared_by, sharing
from spark.transform.work_list import advice

pytestmark = pytest.mark.spark

PAIR = {"pair": "main", "what": "pair", "names": ["east", "west", "east"]}


def facts_of(spark: SparkSession, store: Store, *reports: dict[str, Any], age: int = 0) -> DataFrame:
    put(store, f"batch-{age}", *reports, at=NOON - timedelta(days=age))
    facts.run(spark, store, {"east": "main", "west": "main"})
    return facts.read_facts(spark, store, manifest.read(store))


def registry_of(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    return spark.createDataFrame([{name: row.get(name) for name in REGISTRY.names} for row in rows], REGISTRY)


def by(frame: DataFrame, *names: str) -> dict[Any, dict[str, Any]]:
    """Rows by some of their columns."""
    return {tuple(row[name] for name in names): row.asDict() for row in frame.collect()}


def test_edges_are_facts_whatever_host_or_library(spark: SparkSession, store: Store) -> None:
    found = facts_of(
        spark,
        store,
        report(records=1, host="10.0.0.1"),
        report(records=2, host="10.0.0.2", library="kafka-python"),
        report(records=4, cluster="west"),
    )
    rows = by(edges(found), "cluster")
    assert (rows["east",]["records"], rows["east",]["hosts"]) == (3, 2)
    assert (rows["west",]["records"], rows["west",]["hosts"]) == (4, 1)


def test_what_was_seen_before_the_window_is_no_use(spark: SparkSession, store: Store) -> None:
    facts_of(spark, store, report("old", NOON - timedelta(days=8)), age=8)
    found = facts_of(spark, store, report("new"))
    assert set(by(lately(found, "2026-11-20", 9), "client_id")) == {("old",), ("new",)}
    assert set(by(lately(found, "2026-11-20", 8), "client_id")) == {("new",)}


def test_nodes_say_what_would_move_with_each_thing(spark: SparkSession, store: Store) -> None:
    found = facts_of(
        spark,
        store,
        report("web-1"),
        report("job", kind="consume", resource="people"),
        report("audit-1", appid="audit", kind="consume"),
        report("elsewhere", pair="other"),
    )
    registry = registry_of(
        spark, PAIR, {"pair": "main", "what": "instance", "appid": "shop", "name": "web-1"}
    )
    rows = by(nodes(edges(found), registry), "kind", "appid")
    assert {row["pair"] for row in rows.values()} == {"main"}, "nobody knows the clusters of the other pair"
    assert rows["instance", "shop"]["radius_instance"] == 3, "orders, and audit, which reads it"
    assert rows["instance", "shop"]["radius_appid"] == 0, "by whole AppIDs no InstanceID moves by itself"
    assert rows["appid", "audit"]["radius_appid"] == 4, "shop with both Topics"


def test_islands_say_what_hangs_together_and_keep_their_places(spark: SparkSession, store: Store) -> None:
    shop = [report("web-1"), report("web-2"), report("job", kind="consume", resource="people")]
    registry = registry_of(spark, PAIR)
    found = nodes(edges(facts_of(spark, store, *shop, report("x", appid="alone", resource="own"))), registry)
    rows = by(islands(found), "appid")
    assert (rows["shop",]["things"], rows["shop",]["topics"], rows["shop",]["appids"]) == (3, 2, 1)
    assert (rows["alone",]["things"], rows["alone",]["cluster"]) == (2, "east")
    lines = {row["number"]: row["leads_to"] for row in marks(found).collect()}
    (hub,) = [row for row in marks(found).collect() if row["appid"] == "shop"]
    assert len(lines[hub["number"]]) == 2, "both Topics follow from it"

    kept = {("appid", name, ()): Circle(90.0 + n, 7.0, 2.0) for n, name in enumerate(("shop", "alone"), 0)}
    before = Before({}, {"main": {("appid", "shop", ()): kept["appid", "shop", ()]}})
    again = by(islands(found, before), "appid")
    assert (again["shop",]["x"], again["shop",]["y"]) == (90.0, 7.0)
    assert again["alone",]["x"] is not None


def test_the_sharing_degree_counts_clients_and_where_they_are(spark: SparkSession, store: Store) -> None:
    found = facts_of(
        spark,
        store,
        report("web-1"),
        report("web-2", host="10.0.0.2", library="sarama"),
        report("web-2", kind="group", resource="readers"),
    )
    together = nodes(edges(found), registry_of(spark, PAIR))
    told_apart = spark.createDataFrame(
        [("main", "shop", client, application) for client, application in (("web-1", "web"), ("job", "job"))],
        APPLICATIONS,
    )
    row = by(sharing(found, together, told_apart), "appid")["shop",]
    assert (row["clients"], row["hosts"], row["libraries"], row["groups"], row["topics"]) == (2, 2, 2, 1, 1)
    whole = by(together, "kind", "appid")["appid", "shop"]
    assert (row["applications"], row["radius_by_appid"]) == (2, whole["radius_appid"])
    assert row["radius_by_appid"] > 0
    row = by(sharing(found, together, told_apart.where("false")), "appid")["shop",]
    assert row["applications"] == 1


def test_applications_that_share_an_appid_have_names_clients_and_hosts(
    spark: SparkSession, store: Store
) -> None:
    found = facts_of(
        spark,
        store,
        report("web-1"),
        report("web-2", host="10.0.0.2"),
        report("job", host="10.0.0.3"),
    )
    rows = [
        ("main", "shop", "web-1", "web-*"),
        ("main", "shop", "web-2", "web-*"),
        ("main", "shop", "job", "job"),
    ]
    told_apart = spark.createDataFrame(rows, APPLICATIONS)
    web = by(shared_by(found, told_apart), "application")["web-*",]
    assert (web["clients"], web["hosts"], list(web["client_ids"])) == (2, 2, ["web-1", "web-2"])
    assert "10.0.0.2" in web["host_names"]
    alone = spark.createDataFrame(rows[:2], APPLICATIONS)
    assert shared_by(found, alone).count() == 0, "one application shares it with nobody"


def test_coverage_counts_clients_by_how_well_they_are_known(spark: SparkSession, store: Store) -> None:
    yesterday = NOON - timedelta(days=1)
    facts_of(spark, store, report("known", yesterday), report("stays", yesterday), age=1)
    found = facts_of(
        spark,
        store,
        report("known"),
        report("stays"),
        report(""),
        report("new-1234"),
        report("aside", source="survive-user"),
        report("aside-too", source="survive-user"),
        report("aside-too"),
    )
    registered = registry_of(spark, {"pair": "main", "what": "instance", "appid": "shop", "name": "known"})
    mirrors = registry_of(spark, {"pair": "main", "what": "mirror", "names": ["orders", "other"]})
    clients = known_clients(found, registered, days=7)
    row = by(coverage(clients, found, mirrors.withColumnRenamed("names", "topics"), days=7), "appid")["shop",]
    assert row == {
        "pair": "main",
        "appid": "shop",
        "clients": 6,
        "registered": 1,
        "nameless": 1,
        "new_clients": 4,
        "days": 2,
        "duplicates": 0,
        "bypassing": 1,
        "topics": 1,
        "mirrored": 1,
    }


def test_the_map_of_coverage_says_it_of_each_topic(spark: SparkSession, store: Store) -> None:
    found = facts_of(
        spark,
        store,
        report("known"),
        report("known", resource="people"),
        report("job-1234"),
        report(""),
        report("known", kind="group", resource="readers"),
        report("web", appid="audit"),
    )
    registered = registry_of(spark, {"pair": "main", "what": "instance", "appid": "shop", "name": "known"})
    again = spark.createDataFrame([("main", "shop")], "pair string, appid string")
    rows = by(cells(known_clients(found, registered, days=7), found, again), "appid", "topic")
    assert set(rows) == {("shop", "orders"), ("shop", "people"), ("audit", "orders")}
    names = ("clients", "registered", "nameless", "changing")
    assert [rows["shop", "orders"][name] for name in names] == [3, 1, 1, 2]
    assert [rows["shop", "people"][name] for name in names] == [1, 1, 0, 0]
    assert [rows["audit", "orders"][name] for name in names] == [1, 0, 0, 0]


def test_the_map_has_the_most_used_topics_of_each_appid(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that one AppID uses leave those of others their place."""
    monkeypatch.setattr("spark.transform.coverage.CELL_TOPICS", 1)
    found = facts_of(
        spark,
        store,
        report("web-1", resource="orders"),
        report("web-2", resource="orders"),
        report("web-1", resource="people"),
        report("web", appid="audit", resource="logs"),
    )
    again = spark.createDataFrame([], "pair string, appid string")
    rows = by(cells(known_clients(found, registry_of(spark), days=7), found, again), "appid", "topic")
    assert set(rows) == {("shop", "orders"), ("audit", "logs")}


def test_a_client_id_on_two_hosts_at_once_is_there_twice(spark: SparkSession, store: Store) -> None:
    def seen(client_id: str, host: str, begin: int, end: int, days: int = 0) -> dict[str, Any]:
        """From one minute to another, so many days ago."""
        at = NOON - timedelta(days=days)
        times = {"first_seen": at + timedelta(minutes=begin), "last_seen": at + timedelta(minutes=end)}
        return report(client_id, host=host, **times)

    day_before = (seen("each day", "a", 0, 30, days=1), seen("each day", "b", 10, 20, days=1))
    facts_of(spark, store, *day_before, age=1)
    found = facts_of(
        spark,
        store,
        seen("twice", "a", 0, 30),
        seen("twice", "b", 10, 40),
        seen("moved and came back", "a", 0, 30),
        seen("moved and came back", "b", 10, 20),
        seen("each day", "a", 0, 30),
        seen("each day", "b", 10, 20),
        seen("moved", "a", 0, 10),
        seen("moved", "b", 11, 20),
        seen("overlaps a little", "a", 0, 11),
        seen("overlaps a little", "b", 10, 20),
        seen("", "a", 0, 30),
        seen("", "b", 0, 30),
    )
    days = facts.read_days(spark, store, manifest.read(store).days.values())
    nobody = registry_of(spark, PAIR)
    none = registry_of(spark).withColumnRenamed("names", "topics")
    row = by(coverage(known_clients(found, nobody, days, days=7), found, none, days=7), "appid")["shop",]
    assert (row["clients"], row["duplicates"]) == (6, 2)


def test_advice_names_clients_and_their_hosts(spark: SparkSession, store: Store) -> None:
    """A shared AppID ties two Topics together that nobody else does."""
    found = facts_of(
        spark,
        store,
        report("a", appid="shared", resource="orders", host="10.0.0.1"),
        report("b", appid="shared", resource="people", host="10.0.0.2"),
        report("b", appid="shared", resource="people", host="10.0.0.3"),
        report("web", appid="shop", resource="orders"),
        report("crm", appid="crm", resource="people"),
    )
    nobody = registry_of(spark, PAIR)
    (row,) = advice(found, nobody, least_radius=2).collect()
    assert row.asDict() == {
        "pair": "main",
        "place": 1,
        "appid": "shared",
        "before": 2,
        "after": 1,
        "critical_before": None,
        "critical_after": None,
        "island": 1,
        "clients": ["a", "b"],
        "hosts": ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
    }
    critical = registry_of(spark, PAIR, {"pair": "main", "what": "critical", "appid": "crm"})
    (row,) = advice(found, critical, least_radius=2).collect()
    assert (row["critical_before"], row["critical_after"]) == (2, 1)
    registered = registry_of(
        spark, PAIR, *({"pair": "main", "what": "instance", "appid": "shared", "name": name} for name in "ab")
    )
    assert advice(found, registered, least_radius=2).collect() == []
    lasting = spark.createDataFrame([("main", "shop")], "pair string, appid string")
    assert advice(found, nobody, lasting, least_radius=2).collect() == [], "its client.ids do not last"
