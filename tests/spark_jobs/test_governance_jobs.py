"""The jobs that publish, from reports in the lake to rows in PostgreSQL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from lake.reports import report
from pyspark.sql import SparkSession
from support.waiting import eventually

from hadash.governance.catalogue import Code
from hadash.governance.models.findings import Finding
from hadash.governance.models.published import AdviceStep, Coverage, Edge, LagDay, Node, Sharing
from hadash.governance.models.runs import Run
from hadash.lake import snapshots
from hadash.lake.access import put_batch
from hadash.lake.store import Store
from hadash.pipeline.running import conninfo
from spark import manifest
from spark.fleet.clean import Size
from spark.fleet.model import Fleet, write
from spark.fleet.seeded import generate
from spark.jobs import facts, governance
from spark.jobs.given import Reader
from spark.jobs.governance import NothingYet, Settings
from spark.publishing.faults import DIED

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.in_turn]

MISTYPED = "eest-" * 12

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return generate(Size(appids=30, pairs=3), times=1)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Reports, facts and snapshots. (The jobs add nothing to it that lasts but the lag of days.)"""
    made = Store(str(tmp_path_factory.mktemp("lake")))
    write(made, fleet)
    # Somebody has mistyped a cluster: their pair does not have it, and no table could hold its name.
    at = fleet.at - timedelta(hours=1)
    odd = report(at=at, appid="odd", pair=fleet.tables["pairs"][0]["pair"], cluster=MISTYPED)
    put_batch(made, "mistyped", [odd], at)
    facts.run(spark, made, {})
    return made


@pytest.fixture
def database(transactional_db: None) -> str:
    return conninfo()


def test_without_facts_or_a_snapshot_it_says_what_is_missing(
    spark: SparkSession, store: Store, lake: Store, fleet: Fleet, database: str
) -> None:
    with pytest.raises(NothingYet, match="There are no facts"):
        governance.run(Reader(spark, store), store, "coverage", database, Settings())
    failed = Run.objects.get()
    assert (failed.state, str(failed.fault)[:18]) == ("failed", "There are no facts")


def test_topology(spark: SparkSession, lake: Store, fleet: Fleet, database: str) -> None:
    done = governance.run(Reader(spark, lake), lake, "topology", database, Settings(), "olga")
    run = Run.objects.get()
    assert (run.pk, run.state, run.asked_by, run.rows) == (done["run"], "published", "olga", done["rows"])
    assert run.watermark["day"] == fleet.newest_day
    assert run.quality["malformed"] == {} and run.quality["away"] == []
    assert run.quality["of_no_pair"] == [MISTYPED]
    assert set(run.seconds) == {"reading", "edges", "nodes", "marks", "islands", "sharing", "shared_by"}
    own = {row["user"] for row in fleet.tables["own_users"]}
    lately = [f for f in fleet.facts if min(f.ages) < Settings().window_days]
    seen = [f for f in lately if f.kind != "list" and f.appid not in own]
    uses = {(f.pair, f.appid, f.client_id, f.kind, f.resource, f.cluster) for f in seen}
    assert Edge.objects.filter(run=run).count() == len(uses) > 0
    assert Sharing.objects.filter(run=run).count() == len({use[:2] for use in uses})
    nodes = {
        name
        for names in Node.objects.filter(run=run, kind="topic").values_list("names", flat=True)
        for name in names
    }
    assert {f.resource for f in seen if f.kind != "group"} <= nodes
    for name in ("edges", "nodes", "marks", "islands", "sharing", "shared_by"):
        assert not lake.folders(f"{manifest.FOLDER}/{name}"), "what was published is not kept twice"


def test_jobs_of_one_application_read_once_until_there_is_something_newer(
    spark: SparkSession, lake: Store, fleet: Fleet, database: str
) -> None:
    reader = Reader(spark, lake)
    first = reader.read(Settings())
    assert reader.read(Settings()) is first
    assert reader.read(Settings(window_days=3)) is not first, "other days count"
    again = reader.read(Settings())
    later = snapshots.write(lake, fleet.at + timedelta(minutes=1), fleet.tables)
    try:
        assert reader.read(Settings()) is not again, "a newer snapshot"
    finally:
        lake.delete_folder(later.place)


def test_coverage_advice_and_lag(spark: SparkSession, lake: Store, fleet: Fleet, database: str) -> None:
    for job in ("coverage", "advice", "lag"):
        governance.run(Reader(spark, lake), lake, job, database, Settings())
    assert Coverage.objects.filter(nameless__gt=0).exists()
    assert Coverage.objects.filter(bypassing__gt=0).exists()
    for step in AdviceStep.objects.all():
        assert step.after <= step.before and step.clients
    days = LagDay.objects.filter(mirror="mirror-1").order_by("date")
    samples = [row for row in fleet.tables["lag"] if row["mirror"] == "mirror-1"]
    assert sum(day.samples for day in days) == len(samples)
    assert [day.date for day in days] == sorted({row["at"].date() for row in samples})
    assert sum(day.over_rpo for day in days) == sum(1 for row in samples if row["seconds"] > 60)


def test_risk_and_what_has_changed_since(
    spark: SparkSession, lake: Store, fleet: Fleet, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # (Some rules: test_rules.py lets all of them look, which takes a minute.)
    some = (Code.LEADERLESS, Code.ACKS, Code.OVER_RPO, Code.SHARED_APPID, Code.ACL_DRIFT)
    monkeypatch.setattr(governance, "RULES", dict.fromkeys(some))
    governance.run(Reader(spark, lake), lake, "risk", database, Settings())
    found = {(f.code, f.pair, f.appid, f.name) for f in Finding.objects.filter(state="open")}
    assert found == {(a.code.value, a.pair, a.appid, a.name) for a in fleet.answers if a.code in some}
    assert {code for code, *_ in found} == {code.value for code in some}
    # A cluster is away when the next snapshot is taken: nobody knows whether its mirrors have leaders again.
    leaderless = Finding.objects.get(code="target-leaderless")
    away = next(p["second"] for p in fleet.tables["pairs"] if p["pair"] == leaderless.pair)
    tables = {
        name: [row for row in rows if row.get("cluster") != away] for name, rows in fleet.tables.items()
    }
    tables["clusters"] = [*tables["clusters"], {"cluster": away, "fault": "It does not answer."}]
    # Another one lets everybody do everything: nobody will be refused there.
    drifts = Finding.objects.filter(code="acl-drift")
    (drifting,) = set(drifts.values_list("pair", flat=True))
    sides = next(p for p in fleet.tables["pairs"] if p["pair"] == drifting)
    free = sides["first"] if sides["first"] != away else sides["second"]
    tables["clusters"] = [row | {"authorizer": row["cluster"] != free} for row in tables["clusters"]]
    tables["acls"] = [row for row in tables["acls"] if row["cluster"] != free]
    # And the Connect of a mirror that is late is away, so that nobody knows how late.
    late = Finding.objects.filter(code="lag-over-rpo").first()
    assert late is not None
    own = lambda row: row["pair"] == late.pair  # noqa: E731
    tables["mirrors"] = [row | ({"state": "unknown"} if own(row) else {}) for row in tables["mirrors"]]
    tables["lag"] = [row | ({"seconds": None} if own(row) else {}) for row in tables["lag"]]
    later = snapshots.write(lake, fleet.at + timedelta(minutes=1), tables)
    try:
        governance.run(Reader(spark, lake), lake, "risk", database, Settings())
    finally:
        lake.delete_folder(later.place)
    for finding in (leaderless, late):
        finding.refresh_from_db()
    assert (leaderless.state, late.state) == ("open", "open")
    assert set(drifts.values_list("state", flat=True)) == {
        "open" if drifting == leaderless.pair else "resolved"
    }
    assert set(drifts.values_list("pair", flat=True)) == {drifting}
    assert Run.objects.first().quality["away"] == [away]  # type: ignore[union-attr]


@pytest.fixture
def jobs(lake: Store, database: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Real processes, which end with the test."""
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        process.kill()
        process.wait()


def begin(
    jobs: list[subprocess.Popen[bytes]], lake: Store, database: str, job: str
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "spark", job, "--lake", lake.address, "--database", database]
    environment = {**os.environ, "SPARK_MASTER": "local[2]", "HADASH_SPARK_MEMORY": "1g"}
    environment["HADASH_SPARK_PARTITIONS"] = "4"
    jobs.append(subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True))
    return jobs[-1]


#: What a run of each job says it does while its first table is written.
FIRST_TABLES = {
    "topology": "edges", "coverage": "coverage", "advice": "advice", "risk": "findings", "lag": "lag_days",
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("job", FIRST_TABLES)
def test_a_job_that_is_killed_leaves_what_was_published_and_the_next_one_repairs(
    jobs: list[subprocess.Popen[bytes]], spark: SparkSession, lake: Store, database: str, job: str
) -> None:
    first = governance.run(Reader(spark, lake), lake, job, database, Settings())
    process = begin(jobs, lake, database, job)
    writing = Run.objects.filter(state="running", progress__step=FIRST_TABLES[job])
    eventually(writing.exists, "its first table", patience=120)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert published() == [first["run"]]
    second = governance.run(Reader(spark, lake), lake, job, database, Settings())
    assert published() == [second["run"], first["run"]]
    assert Run.objects.get(state="failed").fault == DIED
    assert second["rows"] == first["rows"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("job", "last_table", "seen"),
    [
        # It has copied two of its tables and waits for the third.
        ("topology", "governance_sharing", Edge),
        ("coverage", "governance_coverage", Coverage),
        ("advice", "governance_advicestep", AdviceStep),
        # It has copied what it has found, and is about to say what has come up and what is resolved.
        ("risk", "governance_finding", Finding),
        ("lag", "governance_lagday", LagDay),
    ],
)
def test_one_that_is_killed_in_the_middle_of_publishing_has_published_nothing(
    jobs: list[subprocess.Popen[bytes]],
    spark: SparkSession,
    lake: Store,
    database: str,
    job: str,
    last_table: str,
    seen: Any,
) -> None:
    first = governance.run(Reader(spark, lake), lake, job, database, Settings())
    before = sorted(map(str, seen.objects.values_list()))
    with psycopg.connect(database) as holder:
        # (Others still read; it cannot write.)
        holder.execute(f"LOCK TABLE {last_table} IN SHARE MODE")
        process = begin(jobs, lake, database, job)
        eventually(lambda: waits_for(last_table), "its last table", patience=180)
        assert sorted(map(str, seen.objects.values_list())) == before, "nobody sees what is half there"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert published() == [first["run"]]
    eventually(lambda: not others_write(), "the end of its transaction")
    assert sorted(map(str, seen.objects.values_list())) == before
    second = governance.run(Reader(spark, lake), lake, job, database, Settings())
    assert published() == [second["run"], first["run"]]
    assert second["rows"] == first["rows"]


@pytest.mark.long
def test_facts_that_are_killed_are_those_of_before_and_the_next_run_makes_them(
    jobs: list[subprocess.Popen[bytes]], spark: SparkSession, store: Store, database: str
) -> None:
    def batch(name: str, *client_ids: str) -> None:
        now = datetime.now(UTC)
        put_batch(store, name, [report(client_id, now) for client_id in client_ids], now)

    def known() -> list[str]:
        found = facts.read_facts(spark, store, manifest.read(store)).select("client_id").collect()
        return sorted(row["client_id"] for row in found)

    batch("first", "web-1")
    facts.run(spark, store, {})
    batch("second", *(f"web-{number}" for number in range(2, 2000)))
    process = begin(jobs, store, database, "facts")
    eventually(Run.objects.filter(progress__step="facts").exists, "its work", patience=120)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert known() == ["web-1"]
    facts.run(spark, store, {})
    assert len(known()) == 1999
    assert facts.run(spark, store, {}) == facts.Outcome()


def published() -> list[int]:
    return list(Run.objects.filter(state="published").values_list("pk", flat=True))


def waits_for(table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation WHERE relname = %s AND NOT granted",
            [table],
        )
        return bool(cursor.fetchone()[0])


def others_write() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation"
            " WHERE relname LIKE 'governance_%%' AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()",
            [],
        )
        return bool(cursor.fetchone()[0])
