"""Recorded reports: what goes into the fixture, what stays out of it, and how fleets take clients from it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hadash.lake import access, snapshots
from hadash.lake.store import Store
from spark.fleet.recorded import FOLDER
from spark.fleet.recorded.__main__ import main
from spark.fleet.recorded.clients import recorded
from spark.fleet.recorded.recording import NothingToRecord, record

AT = datetime(2026, 11, 24, 3, tzinfo=UTC)

REPORT = {
    "gateway": "gateway-1",
    "pair": "main",
    "source": "gateway",
    "appid": "shop",
    "client_id": "web",
    "kind": "produce",
    "resource": "orders",
    "cluster": "east",
    "host": "web7.bank.example",
    "library": "librdkafka",
    "version": "2.16.0",
    "acks": -1,
    "idempotent": False,
    "transactional": False,
    "requests": 2,
    "records": 20,
    "bytes": 200,
    "first_seen": AT,
    "last_seen": AT,
}

BROKER_CONFIGS = {
    "num.io.threads": "8",
    "listeners": "SASL_SSL://db1.bank.example:9092",
    "ssl.keystore.password": "12345678",
    "log.dirs": "/data/kafka",
    "super.users": "User:root",
}


@pytest.fixture
def lake(tmp_path: Path) -> Store:
    """Two batches of one client, of which the second goes on where the first ended; and a snapshot."""
    store = Store(str(tmp_path / "lake"))
    later = AT + timedelta(minutes=1)
    access.write_batch(store, "gateway-1", [REPORT], AT)
    access.write_batch(store, "gateway-1", [REPORT | {"first_seen": later, "last_seen": later}], later)
    broker = {"cluster": "east", "broker": 1, "host": "db1.bank.example", "port": 9092, "rack": "hall-2"}
    away = {"cluster": "west", "fault": "db1.bank.example:9092 does not answer."}
    tables = {"brokers": [{**broker, "configs": BROKER_CONFIGS}], "clusters": [away]}
    snapshots.write(store, later, tables)
    return store


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_fact_is_recorded_once_with_all_that_was_counted(lake: Store, tmp_path: Path) -> None:
    record(lake, tmp_path / "out", {})
    (row,) = _rows(tmp_path / "out" / "reports.jsonl")
    assert (row["requests"], row["records"], row["bytes"]) == (4, 40, 400)
    assert (row["first_seen"], row["last_seen"]) == ("2026-11-24T03:00:00+00:00", "2026-11-24T03:01:00+00:00")
    assert (row["library"], row["acks"], row["idempotent"]) == ("librdkafka", -1, False)
    assert "session_timeout_ms" not in row, "what is not known is not there"


def test_nothing_says_where_it_was_recorded(lake: Store, tmp_path: Path) -> None:
    record(lake, tmp_path / "out", {"where": "somewhere"})
    written = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    for secret in ("bank", "hall-2", "12345678", "/data", "root"):
        assert secret not in written
    (broker,) = (row for row in _rows(tmp_path / "out" / "snapshot.jsonl") if row["table"] == "brokers")
    assert broker["configs"] == {"num.io.threads": "8"}


def test_one_host_stays_one_host(lake: Store, tmp_path: Path) -> None:
    record(lake, tmp_path / "out", {})
    broker, cluster = (
        next(row for row in _rows(tmp_path / "out" / "snapshot.jsonl") if row["table"] == table)
        for table in ("brokers", "clusters")
    )
    assert cluster["fault"] == f"{broker['host']}:9092 does not answer."
    (report,) = _rows(tmp_path / "out" / "reports.jsonl")
    assert report["host"] != broker["host"]


def test_a_lake_without_reports_or_snapshot_is_no_recording(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "lake"))
    with pytest.raises(NothingToRecord, match="no access reports"):
        record(store, tmp_path / "out", {})
    access.write_batch(store, "gateway-1", [REPORT], AT)
    with pytest.raises(NothingToRecord, match="no snapshot"):
        record(store, tmp_path / "out", {})
    assert not (tmp_path / "out").exists()


def test_any_lake_can_be_recorded_by_hand(
    lake: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["--lake", lake.address, "--out", str(out), "--where", "the bank's test cluster"]) == 0
    assert json.loads(capsys.readouterr().out)["reports"] == 1
    assert json.loads((out / "about.json").read_text())["where"] == "the bank's test cluster"
    assert main(["--lake", str(tmp_path / "nothing"), "--out", str(out), "--where", "x"]) == 2


def test_a_recorded_client_is_put_into_a_fleet_under_other_names() -> None:
    client = recorded().client("java-3.9.2.reads-stock")
    found = list(client.facts("pair-1", "app", "east-1", "10.0.0.7", ["orders"], group="app-group"))
    assert {(fact.kind, fact.resource) for fact in found} == {("consume", "orders"), ("group", "app-group")}
    assert {fact.client_id for fact in found} == {"consumer-app-group-1"}, (
        "Java's default has the group in it"
    )
    assert {(fact.library, fact.version) for fact in found} == {("apache-kafka-java", "3.9.2")}
    (member,) = (fact for fact in found if fact.kind == "group")
    assert (member.assignors, member.session_timeout_ms) == (("range", "cooperative-sticky"), 45_000)


DOCS = Path(__file__).resolve().parents[2] / "docs" / "pipeline.md"


def _family(library: str) -> str:
    """Without the version of a library, and without how one of them was set.

    >>> _family("java-2.0.1"), _family("franz-go-range"), _family("kafka-go")
    ('java', 'franz-go', 'kafka-go')
    """
    return re.sub(r"-(\d.*|range)$", "", library)


def test_the_docs_name_the_libraries_of_which_something_was_recorded_and_no_others() -> None:
    (row,) = re.findall(r"^\| (librdkafka; .*?): stock", DOCS.read_text(), re.MULTILINE)
    named = {word.lower() for word in re.findall(r"[A-Za-z@][\w/-]*", row)} - {"to", "and"}
    reported = {client.about["library"] for client in recorded().clients.values() if client.about}
    assert len(reported) > 20
    assert named == {_family(library) for library in reported}


def test_the_docs_say_which_clients_are_lacking() -> None:
    """(A client that was recorded is no such client: what the fixture says of itself is compared with its reports.)"""
    missing = recorded().about["not_seen"]
    seen = {client.appid for client in recorded().clients.values()}
    told = {client["appid"] for client in recorded().about["clients"]}
    assert told <= seen
    assert not told & missing.keys()
    (paragraph,) = (
        each
        for each in DOCS.read_text().split("\n\n")
        if "Of the recording in git these are lacking:" in each
    )
    sentence = " ".join(paragraph.split()).partition("Of the recording in git these are lacking:")[2]
    lacking = {appid.partition(".writes-")[0].partition(".reads-")[0] for appid in missing}
    versions = {name.removeprefix("java-") for name in lacking if name.startswith("java-")}
    assert set(re.findall(r"\d+\.\d+\.\d+", sentence)) == versions
    assert ("@platformatic/kafka" in sentence) == ("platformatic" in lacking)
    assert {_family(name) for name in lacking} <= {"java", "platformatic"}


def test_the_fixture_says_where_when_and_with_what_it_was_recorded() -> None:
    about = recorded().about
    assert {"recorded_at", "where", "commit", "brokers", "packages", "clients"} <= about.keys()
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json*")) < 500_000
