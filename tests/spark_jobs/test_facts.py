"""Reports become facts: each batch once, whatever comes late, twice or broken, and however the days arrive."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from lake.reports import NOON, put, report
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from hadash.lake import access, quarantine
from hadash.lake.access import Hour
from hadash.lake.batches import ReportFile
from hadash.lake.compaction import compact
from hadash.lake.store import Store
from spark import manifest
from spark.jobs import facts

pytestmark = [pytest.mark.spark, pytest.mark.in_turn]

PAIRS = {"east": "main", "west": "main"}


def run(spark: SparkSession, store: Store, **others: Any) -> facts.Outcome:
    return facts.run(spark, store, PAIRS, **{"today": NOON.date(), **others})


def rows(spark: SparkSession, store: Store) -> list[dict[str, Any]]:
    """The facts that count, sorted; times and days as texts, so that a difference can be read."""
    found = facts.read_facts(spark, store, manifest.read(store)).withColumn("days", F.bin("days"))
    return sorted((row.asDict() for row in found.collect()), key=str)


def sums(spark: SparkSession, store: Store) -> dict[str, tuple[int, str]]:
    """By client.id: records, and the days on which it was seen."""
    return {row["client_id"]: (row["records"], row["days"]) for row in rows(spark, store)}


def day(age: int) -> datetime:
    return NOON - timedelta(days=age)


def test_reports_of_one_fact_become_one(spark: SparkSession, store: Store) -> None:
    later = NOON + timedelta(minutes=5)
    put(store, "gateway-1-1", report(records=5), report("web-2", records=7))
    put(store, "gateway-2-1", report(records=3, first_seen=later, last_seen=later))
    outcome = run(spark, store)
    assert (outcome.days, outcome.rows, outcome.malformed, outcome.broken) == (("2026-11-20",), 3, {}, {})
    first, second = rows(spark, store)
    if first["client_id"] != "web-1":
        first, second = second, first
    assert (first["records"], first["requests"], first["bytes"]) == (8, 2, 1000)
    assert (first["first_seen"], first["last_seen"]) == (
        NOON.replace(tzinfo=None),
        later.replace(tzinfo=None),
    )
    assert (first["pair"], first["appid"], first["acks"], first["days"]) == ("main", "shop", -1, "1")
    assert second["records"] == 7


def test_run_again_it_changes_nothing(spark: SparkSession, store: Store) -> None:
    put(store, "a", report())
    run(spark, store)
    before = manifest.read(store)
    assert run(spark, store) == facts.Outcome()
    assert manifest.read(store) == before


def test_an_empty_lake_has_no_facts(spark: SparkSession, store: Store) -> None:
    assert run(spark, store) == facts.Outcome()
    assert manifest.read(store) == manifest.Manifest()


def test_what_an_old_gateway_wrote_counts_with_the_pair_of_its_cluster(
    spark: SparkSession, store: Store
) -> None:
    put(store, "old", report(records=1), version=1)
    put(store, "new", report(records=2))
    run(spark, store)
    (row,) = rows(spark, store)
    assert (row["pair"], row["source"], row["records"]) == ("main", "gateway", 3)


def test_who_is_a_member_is_known_once_a_report_has_said_so(spark: SparkSession, store: Store) -> None:
    group = {"kind": "group", "resource": "billing"}
    put(store, "a", *(report(name, member=said, **group) for name, said in (("web", True), ("flink", False))))
    put(store, "b", report("web", member=False, **group), report("old", **group))
    run(spark, store)
    assert {row["client_id"]: row["member"] for row in rows(spark, store)} == {"web": 1, "flink": 0, "old": 0}


def without_members(store: Store, folder: str) -> None:
    """The files of a folder as a run of before wrote them, who knew nothing of members."""
    for name in list(store.files(folder)):
        with store.open(name) as source:
            file = pq.ParquetFile(source)
            groups = [file.read_row_group(n).drop_columns(["member"]) for n in range(file.num_row_groups)]
        with store.writing(name) as sink, pq.ParquetWriter(sink, groups[0].schema) as writer:
            for group in groups:
                writer.write_table(group, row_group_size=max(1, group.num_rows))


def test_to_what_a_run_of_before_wrote_members_come(spark: SparkSession, store: Store) -> None:
    group = {"kind": "group", "resource": "billing"}
    put(store, "a", report(at=day(1), records=1, **group), at=day(1))
    run(spark, store)
    now = manifest.read(store)
    for folder in (now.facts, *(entry.place for entry in now.days.values())):
        without_members(store, folder)
    # The day before comes again with one more, and a new day comes.
    put(store, "late", report(at=day(1), records=2, **group), at=day(1))
    put(store, "b", report(records=4, member=True, **group))
    run(spark, store)
    (found,) = rows(spark, store)
    assert (found["records"], found["reports"], found["days"], found["member"]) == (7, 3, "11", 1)


def test_a_new_day_comes_to_what_was_there(spark: SparkSession, store: Store) -> None:
    put(store, "a", report("old", day(2)), report("both", day(2)), at=day(2))
    run(spark, store)
    put(store, "b", report("both"), report("new"), at=day(0))
    assert run(spark, store).days == ("2026-11-20",)
    assert sums(spark, store) == {"old": (5, "100"), "both": (10, "101"), "new": (5, "1")}


def test_what_comes_late_is_counted_once(spark: SparkSession, store: Store) -> None:
    put(store, "a", report("early", day(2)), at=day(2))
    put(store, "b", report("early"), at=day(0))
    run(spark, store)
    put(store, "late", report("early", day(2)), report("late", day(2)), at=day(2))
    assert run(spark, store).days == ("2026-11-18",)
    assert sums(spark, store) == {"early": (15, "101"), "late": (5, "100")}
    assert run(spark, store) == facts.Outcome()


def test_what_comes_too_late_is_not(spark: SparkSession, store: Store) -> None:
    put(store, "a", report(at=day(5)), at=day(5))
    put(store, "b", report(), at=day(0))
    run(spark, store)
    put(store, "late", report(at=day(5)), at=day(5))
    assert run(spark, store, late_days=4) == facts.Outcome()
    assert run(spark, store, late_days=5).days == ("2026-11-15",)


def test_what_comes_for_an_old_day_with_a_note_is(spark: SparkSession, store: Store) -> None:
    """As from a Topic that nobody has read for a while, beside Gateways whose reports of that day have been counted."""
    put(store, "a", report("early", day(20)), report("both", day(20)), at=day(20))
    put(store, "b", report("new"))
    run(spark, store)
    access.put_batch(store, "late", [report("late", day(20)), report("both", day(20))], day(20))
    access.put_batch(store, "forgotten", [report("forgotten", day(80))], day(80))
    outcome = run(spark, store)
    assert (outcome.days, outcome.too_late) == ((f"{day(20):%Y-%m-%d}",), (f"{day(80):%Y-%m-%d}",))
    age = "1" + "0" * 20
    assert sums(spark, store) == {"early": (5, age), "both": (10, age), "late": (5, age), "new": (5, "1")}
    assert access.late(store) == {}
    assert run(spark, store) == facts.Outcome()


def test_what_is_old_and_was_never_counted_is(spark: SparkSession, store: Store) -> None:
    """Somebody imports what was reported before there were Gateways."""
    put(store, "b", report("new"))
    run(spark, store)
    put(store, "a", report("old", day(20)), at=day(20))
    assert run(spark, store).days == (f"{day(20):%Y-%m-%d}",)
    assert sums(spark, store)["old"] == (5, "1" + "0" * 20)
    assert run(spark, store).days == ()


def test_a_day_that_has_not_come_yet_stops_nothing(spark: SparkSession, store: Store) -> None:
    """A clock is wrong: the days that there are count all the same, and go on counting."""
    put(store, "a", report("wrong", day(-365)), at=day(-365))
    put(store, "b", report("today"))
    outcome = run(spark, store, today=NOON.date())
    assert outcome.ahead == (f"{day(-365):%Y-%m-%d}",)
    assert sums(spark, store) == {"today": (5, "1")}
    put(store, "c", report("tomorrow", day(-1)), at=day(-1))
    assert run(spark, store, today=day(-1).date()).days == (f"{day(-1):%Y-%m-%d}",)


def test_a_client_that_comes_no_more_is_forgotten(spark: SparkSession, store: Store) -> None:
    put(store, "a", report("gone", day(70)), at=day(70))
    run(spark, store)
    put(store, "b", report("here"))
    run(spark, store)
    assert sums(spark, store) == {"here": (5, "1")}
    assert list(manifest.read(store).days) == [f"{NOON:%Y-%m-%d}"]


def test_names_are_as_the_tables_hold_them(spark: SparkSession, store: Store) -> None:
    put(store, "a", report("x" * 300), report("x" * 301), report(None, resource="y" * 255))
    run(spark, store)
    names = sorted(row["client_id"] for row in rows(spark, store))
    assert [len(name) for name in names] == [0, 200, 200]
    assert len(set(names)) == 3


def test_a_batch_that_comes_twice_counts_once(spark: SparkSession, store: Store) -> None:
    put(store, "a", report())
    put(store, "a", report(), at=NOON + timedelta(hours=3))
    put(store, "b", report())
    outcome = run(spark, store)
    assert (outcome.rows, outcome.again) == (2, 1)
    assert sums(spark, store) == {"web-1": (10, "1")}


def test_compaction_changes_nothing(spark: SparkSession, store: Store) -> None:
    for number in range(5):
        put(store, f"a-{number}", report(records=number), version=1 + number % 2)
    run(spark, store)
    before = rows(spark, store)
    assert compact(store, Hour.of(NOON)) is not None
    assert run(spark, store) == facts.Outcome()
    put(store, "b", report(records=100))
    run(spark, store)
    assert rows(spark, store)[0]["records"] == before[0]["records"] + 100


def test_days_in_any_order_give_the_same_facts(spark: SparkSession, tmp_path: Path) -> None:
    """All at once, one after the other, or with parts that come late."""
    made = random.Random(3)
    batches = [
        (f"batch-{number}", made.randrange(4), [_some(made) for _ in range(6)]) for number in range(12)
    ]

    def facts_of(name: str, runs: Iterable[Iterable[tuple[str, int, list[dict[str, Any]]]]]) -> list[Any]:
        store = Store(str(tmp_path / name))
        for batches in runs:
            for batch, age, reports in batches:
                put(store, batch, *reports, at=day(age))
            run(spark, store)
        return rows(spark, store)

    at_once = facts_of("at once", [batches])
    by_day = sorted(batches, key=lambda batch: -batch[1])
    one_by_one = facts_of("one by one", [[batch] for batch in by_day])
    # The newest day has to be there first, or what comes after it is no late report of it.
    mixed = facts_of("mixed", [by_day[6:], by_day[:3], by_day[3:6]])
    assert at_once == one_by_one == mixed


def _some(made: random.Random) -> dict[str, Any]:
    moment = day(made.randrange(4)) + timedelta(seconds=made.randrange(3600))
    return report(
        f"web-{made.randrange(3)}",
        moment,
        records=made.randrange(100),
        host=f"10.0.0.{made.randrange(2)}",
        acks=made.choice((None, -1, 1)),
        assignors=made.choice((None, ["range"], ["range", "sticky"])),
    )


WRONG: dict[str, dict[str, Any]] = {
    "no AppID": {"appid": " "},
    "no Topic or group": {"resource": None},
    "no cluster": {"cluster": ""},
    "unknown kind": {"kind": "reads"},
    "name too long": {"client_id": "x" * 5000},
    "negative number": {"records": -1},
    "impossible number": {"bytes": 2**60},
    "no time": {"last_seen": None},
    "ends before it begins": {"first_seen": NOON + timedelta(seconds=1)},
    "from the future": {"last_seen": NOON + timedelta(days=2)},
}


def test_reports_that_make_no_sense_are_put_aside_and_counted(spark: SparkSession, store: Store) -> None:
    put(store, "a", report("good"), *(report(**wrong) for wrong in WRONG.values()))
    outcome = run(spark, store)
    assert outcome.malformed == dict.fromkeys(WRONG, 1)
    assert sums(spark, store) == {"good": (5, "1")}
    assert manifest.read(store).days["2026-11-20"].malformed == dict.fromkeys(WRONG, 1)
    (name,) = store.files(f"{quarantine.ROWS}/date=2026-11-20")
    with store.open(name) as source:
        aside = pq.read_table(source).to_pylist()
    assert sorted(row["reason"] for row in aside) == sorted(WRONG)


def test_they_are_put_aside_once_although_their_day_is_made_anew(spark: SparkSession, store: Store) -> None:
    put(store, "a", report(appid=""))
    assert run(spark, store).malformed == {"no AppID": 1}
    put(store, "late", report("good"))
    assert run(spark, store).malformed == {"no AppID": 1}
    assert len(store.files(f"{quarantine.ROWS}/date=2026-11-20")) == 1
    assert sums(spark, store) == {"good": (5, "1")}


def test_a_day_of_nonsense_is_no_day(spark: SparkSession, store: Store) -> None:
    put(store, "a", report(appid=""))
    run(spark, store)
    assert rows(spark, store) == []
    assert run(spark, store) == facts.Outcome()


def test_a_day_is_worked_off_in_parts(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "ROWS_AT_ONCE", 3)
    for number in range(5):
        put(store, f"a-{number}", *(report(f"web-{n}", records=1) for n in range(2)))
    run(spark, store)
    assert sums(spark, store) == {"web-0": (5, "1"), "web-1": (5, "1")}
    (day,) = manifest.read(store).days.values()
    assert len(store.files(day.place)) == 5


def test_files_that_cannot_be_read_stop_nothing(spark: SparkSession, store: Store) -> None:
    put(store, "good", report("good"))
    name = f"{Hour.of(NOON).folder}/broken.parquet"
    store.write_json(name, {"no": "parquet"})
    outcome = run(spark, store)
    assert list(outcome.broken) == [name]
    assert [file.name for file in quarantine.files(store)] == [name]
    assert sums(spark, store) == {"good": (5, "1")}


def test_nor_do_those_whose_pages_are_torn(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    """The footer is whole, so nobody knows before the rows are read."""
    put(store, "good", report("good"))
    name = put(store, "torn%", *(report(f"web-{n}", records=n) for n in range(1000)))
    path = tmp_path / "the lake" / name
    content = bytearray(path.read_bytes())
    content[4:600] = bytes(596)
    path.write_bytes(content)
    run(spark, store)
    assert [file.name for file in quarantine.files(store)] == [name]
    assert sums(spark, store) == {"good": (5, "1")}


@pytest.mark.parametrize("where", ["daily", "facts", "manifest"])
def test_killed_anywhere_nothing_is_half_done(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    put(store, "a", report("old", day(1)), at=day(1))
    run(spark, store)
    put(store, "b", report("new"))
    before = rows(spark, store)
    with monkeypatch.context() as patch:
        if where == "manifest":
            patch.setattr(Store, "write_json", _dies)
        elif where == "facts":
            patch.setattr(facts, "_commit", _dies)
        else:
            patch.setattr(facts, "Day", _dies)
        with pytest.raises(SystemExit):
            run(spark, store)
    assert rows(spark, store) == before
    assert run(spark, store).days == ("2026-11-20",)
    assert sums(spark, store) == {"old": (5, "10"), "new": (5, "1")}
    # What was left is removed when nobody can be writing to it any more.
    monkeypatch.setattr(manifest, "ABANDONED", timedelta(0))
    run(spark, store)
    left = {
        f"{manifest.FOLDER}/{table}/{name}"
        for table in store.folders(manifest.FOLDER)
        for name in store.folders(f"{manifest.FOLDER}/{table}")
    }
    now = manifest.read(store)
    in_use = now.places | set(now.before)
    assert {place for place in left if not any(used.startswith(place) for used in in_use)} == set()


def test_of_two_runs_beside_each_other_the_second_gives_up(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "a", report("first"))
    commit = facts._commit

    def later(*args: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(facts, "_commit", commit)
            put(store, "b", report("second"))
            run(spark, store)
        commit(*args)

    with monkeypatch.context() as patch, pytest.raises(manifest.Overtaken, match="one at a time"):
        patch.setattr(facts, "_commit", later)
        run(spark, store)
    assert sums(spark, store) == {"first": (5, "1"), "second": (5, "1")}
    assert run(spark, store) == facts.Outcome()


def _dies(*args: Any) -> None:
    raise SystemExit


def files(*rows: int) -> list[ReportFile]:
    return [ReportFile(f"f-{number}.parquet", 1, each, ()) for number, each in enumerate(rows)]


def shared(found: list[ReportFile], cores: int) -> list[int]:
    """The rows of each share."""
    shares = list(facts._shares(found, cores))
    assert [name for names, _ in shares for name in names] == [file.name for file in found], "each file once"
    return [rows for _, rows in shares]


def test_all_cores_have_a_part_of_a_single_day_unless_it_is_small() -> None:
    hours = files(*[20_000] * 24)
    assert shared(hours, 1) == [480_000]
    assert shared(hours, 4) == [120_000] * 4
    assert shared(hours, 64) == [120_000] * 4, "fewer than that are not worth it"
    assert shared(files(5, 5, 5), 4) == [15]


def test_a_task_has_no_more_than_it_can_hold_and_a_large_file_is_one_by_itself() -> None:
    assert shared(files(*[500_000] * 10), 1) == [1_500_000, 2_000_000, 1_500_000]
    assert shared(files(10, 9_000_000, 10), 2) == [10, 9_000_000, 10]
