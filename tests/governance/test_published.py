"""Runs in PostgreSQL: readers see the last one that is whole; findings open, stay, are resolved and come up again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db.models import F
from django.utils import timezone
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from hadash.governance.catalogue import CATALOGUE, Code
from hadash.governance.models.findings import Acceptance, Finding
from hadash.governance.models.posture import Posture
from hadash.governance.models.published import Edge, Found
from hadash.governance.models.runs import Run
from hadash.inventory.models import Cluster, Pair
from hadash.lake.store import Store
from hadash.pipeline.running import conninfo
from spark import schemas
from spark.publishing.faults import DIED
from spark.publishing.runs import TABLES, Busy, Kept, Made, begun

SCHEMAS: dict[str, StructType] = {
    "edges": schemas.EDGES,
    "nodes": schemas.NODES,
    "marks": schemas.MARKS,
    "islands": schemas.ISLANDS,
    "sharing": schemas.SHARING,
    "shared_by": schemas.SHARED_BY,
    "coverage": schemas.COVERAGE,
    "coverage_cells": schemas.COVERAGE_CELLS,
    "advice": schemas.ADVICE,
    "lag_days": schemas.LAG_DAYS,
    "findings": schemas.FINDINGS,
}


@pytest.mark.parametrize("name", TABLES)
def test_each_column_of_a_table_of_the_jobs_is_one_of_the_database(name: str) -> None:
    models = {model._meta.db_table: model for model in apps.get_app_config("governance").get_models()}
    columns = {field.column for field in models[TABLES[name]]._meta.concrete_fields}
    assert columns - {"id", "run_id"} == set(SCHEMAS[name].names)


pytestmark = pytest.mark.stack

LOST_ACKS = ("main", Code.ACKS.value, "shop", "web-1")
SHARED = ("main", Code.SHARED_APPID.value, "shop", "shop")
LEADERLESS = ("main", Code.LEADERLESS.value, "", "orders")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "lake"))


@pytest.fixture
def database(transactional_db: None) -> str:
    return conninfo()


def put(store: Store, name: str, rows: Iterable[dict[str, Any]], part: str = "made") -> str:
    """Rows of a table as a job leaves them in the lake."""
    place = f"tables/{name}/{part}"
    fields = [
        pa.field(f.name, pa.string() if pa.types.is_list(f.type) or pa.types.is_map(f.type) else f.type)
        for f in to_arrow_schema(SCHEMAS[name], timezone="UTC")
    ]
    store.write_table(f"{place}/part-0.parquet", pa.Table.from_pylist(list(rows), schema=pa.schema(fields)))
    return place


def publish(
    store: Store,
    database: str,
    *found: tuple[str, str, str, str],
    keep: int = 10,
    undecided: Iterable[tuple[str, str]] = (),
    evidence: Mapping[str, str] | None = None,
) -> int:
    """A run of the job risk that has found these."""
    rows = [
        {
            "pair": pair,
            "code": code,
            "appid": appid,
            "name": name,
            "evidence": json.dumps({"appid": appid, **(evidence or {})}),
        }
        for pair, code, appid, name in found
    ]
    with begun(database, "risk") as run:
        run.publish(
            store,
            Made({"findings": put(store, "findings", rows)}, undecided=frozenset(undecided)),
            Kept(keep, 0),
        )
        return run.number


def states() -> dict[tuple[str, str], str]:
    return {(f.code, f.name): f.state for f in Finding.objects.all()}


def test_a_run_is_there_with_all_its_rows_or_not_at_all(store: Store, database: str) -> None:
    seen = timezone.now()
    edge = {
        "pair": "main",
        "appid": "shop",
        "client_id": None,
        "kind": "produce",
        "resource": 'an "odd", name\n',
        "cluster": "east",
        **dict.fromkeys(("hosts", "requests", "records", "bytes"), 7),
        "first_seen": seen,
        "last_seen": seen,
    }
    with begun(database, "topology", "olga") as run:
        assert Run.objects.get().state == "running"
        run.tell("edges", 3, 8)
        assert Run.objects.get().progress == {"step": "edges", "done": 3, "total": 8}
        rows = run.publish(
            store,
            Made({"edges": put(store, "edges", [edge, edge | {"client_id": ""}])}, {"day": "2026-11-20"}),
            Kept(),
        )
    assert rows == {"edges": 2}
    published = Run.objects.get()
    assert (published.state, published.asked_by, published.rows) == ("published", "olga", rows)
    assert published.watermark == {"day": "2026-11-20"} and published.ended_at
    nobody, empty = Edge.objects.filter(run=published).order_by("pk")
    assert (nobody.client_id, empty.client_id) == (None, "")
    assert nobody.resource == edge["resource"]
    assert nobody.first_seen == seen


def test_a_run_notes_how_each_pair_stands_today(store: Store, database: str) -> None:
    for name, number in (("main", 1), ("quiet", 3)):
        first, second = (
            Cluster.objects.create(name=f"{name}-{side}", number=number + side) for side in (0, 1)
        )
        Pair.objects.create(name=name, first=first, second=second, default=first)
    zero = dict.fromkeys(("nameless", "new_clients", "days", "duplicates", "bypassing"), 0)
    shop = {
        "pair": "main",
        "appid": "shop",
        "clients": 3,
        "registered": 1,
        "topics": 2,
        "mirrored": 2,
        **zero,
    }
    audit = shop | {"appid": "audit", "clients": 2, "registered": 0, "mirrored": 1}
    with begun(database, "coverage") as run:
        run.publish(store, Made({"coverage": put(store, "coverage", [shop, audit])}), Kept())
    publish(store, database, LOST_ACKS, SHARED)
    accepted = Finding.objects.get(name="web-1")
    who = get_user_model().objects.create_user("olga")
    Acceptance.objects.create(finding=accepted, until=date.today(), reason="x", accepted_by=who)
    publish(store, database, LOST_ACKS, SHARED, LEADERLESS)
    main = Posture.objects.get(pair="main")
    assert (main.appids, main.mirrored_appids, main.clients, main.registered) == (2, 1, 5, 1)
    weights = sorted(CATALOGUE[Code(code)].weight for _pair, code, *_ in (SHARED, LEADERLESS))
    counted = {10: main.high, 4: main.medium, 1: main.low}
    assert [counted[weight] for weight in (1, 4, 10)] == [weights.count(weight) for weight in (1, 4, 10)]
    assert main.shared_appids is None, "no run has said it"
    quiet = Posture.objects.get(pair="quiet")
    assert (quiet.high, quiet.medium, quiet.low, quiet.appids) == (0, 0, 0, None)


def test_one_that_fails_says_why_and_leaves_what_was_published(store: Store, database: str) -> None:
    first = publish(store, database, LOST_ACKS)
    with pytest.raises(psycopg.Error), begun(database, "risk") as run:
        bad = put(
            store,
            "findings",
            [{"pair": "main", "code": "x" * 100, "appid": "", "name": "", "evidence": "{}"}],
        )
        run.publish(store, Made({"findings": bad}), Kept())
    failed = Run.objects.get(pk=run.number)
    assert failed.state == "failed" and "too long" in str(failed.fault)
    assert set(Found.objects.values_list("run", flat=True)) == {first}
    assert states() == {(LOST_ACKS[1], LOST_ACKS[3]): "open"}


def test_nobody_runs_the_same_job_beside_another(store: Store, database: str) -> None:
    with begun(database, "risk"):
        with pytest.raises(Busy, match="risk is running already"), begun(database, "risk"):
            pass
        with begun(database, "lag"):
            pass
    with begun(database, "risk"):
        pass


def test_one_whose_process_has_died_is_not_waited_for(store: Store, database: str) -> None:
    Run.objects.create(job="risk", began_at=timezone.now())
    number = publish(store, database, LOST_ACKS)
    dead, alive = Run.objects.order_by("pk")
    assert (dead.state, dead.fault) == ("failed", DIED)
    assert (alive.pk, alive.state) == (number, "published")


def test_the_last_runs_stay_and_older_ones_go_with_their_rows(store: Store, database: str) -> None:
    numbers = [publish(store, database, LOST_ACKS, keep=2) for _ in range(4)]
    with begun(database, "lag") as other:
        pass
    assert set(Run.objects.filter(job="risk").values_list("pk", flat=True)) == set(numbers[2:])
    assert set(Found.objects.values_list("run", flat=True)) == set(numbers[2:])
    assert Run.objects.filter(pk=other.number).exists(), "each job has its own"


def test_findings_open_stay_are_resolved_and_come_up_again(store: Store, database: str) -> None:
    publish(store, database, LOST_ACKS, SHARED)
    first = Finding.objects.get(code=LOST_ACKS[1])
    assert (first.state, first.weight, first.reopened) == ("open", CATALOGUE[Code.ACKS].weight, 0)
    publish(store, database, LOST_ACKS)
    stayed = Finding.objects.get(pk=first.pk)
    assert (stayed.opened_at, stayed.reopened) == (first.opened_at, 0)
    assert states() == {(LOST_ACKS[1], "web-1"): "open", (SHARED[1], "shop"): "resolved"}
    gone = Finding.objects.get(code=SHARED[1])
    assert gone.resolved_at is not None
    publish(store, database, LOST_ACKS, SHARED)
    again = Finding.objects.get(pk=gone.pk)
    assert (again.state, again.reopened, again.first_at) == ("open", 1, gone.first_at)
    assert again.opened_at > gone.opened_at


def test_a_finding_got_worse_when_there_is_half_as_much_again(store: Store, database: str) -> None:
    def found() -> tuple[float | None, bool]:
        now = Finding.objects.get()
        return now.measure, now.worse_at is not None and now.worse_at >= Run.objects.latest("pk").began_at

    said = []
    for count in ("4", "5", "6", "8", "9", "4", "5", "2", "3", "many", "5"):
        publish(store, database, SHARED, evidence={"count": count})
        said.append(found())
        if count != "6":  # (all but that one a day apart)
            Finding.objects.update(worse_at=F("worse_at") - timedelta(days=1))
    assert said == [
        (4, False),  # it has come up
        (5, False),
        (6, True),  # than 4
        (8, False),  # than 6, at which it was said
        (9, True),
        (4, False),
        (5, False),  # than 4: it is not much more
        (2, False),
        (3, False),  # than 2: neither is one more
        (None, False),  # nobody knows
        (5, True),  # than 2: what got better can get worse
    ]
    publish(store, database)
    publish(store, database, SHARED, evidence={"count": "50"})
    assert found() == (50, False), "it came up again, which is another thing"
    publish(store, database, LOST_ACKS, evidence={"count": "1"})
    publish(store, database, LOST_ACKS, evidence={"count": "9"})
    assert Finding.objects.get(code=LOST_ACKS[1]).worse_at is None, "its rule counts nothing"


def test_what_nobody_could_look_at_stays_as_it_is(store: Store, database: str) -> None:
    publish(store, database, LEADERLESS, SHARED)
    publish(store, database, undecided=[("main", LEADERLESS[1]), ("other", SHARED[1])])
    assert states() == {(LEADERLESS[1], "orders"): "open", (SHARED[1], "shop"): "resolved"}


def test_an_acceptance_survives_runs_and_a_finding_that_comes_and_goes(store: Store, database: str) -> None:
    publish(store, database, LOST_ACKS)
    ada = get_user_model().objects.create(username="ada")
    until = date.today() + timedelta(days=30)
    Acceptance.objects.create(finding=Finding.objects.get(), until=until, reason="旧系统", accepted_by=ada)
    publish(store, database)
    publish(store, database, LOST_ACKS)
    assert Finding.objects.get().acceptances.get().until == until
