"""What others report becomes access reports; what makes no sense is put aside with its reason, and stops nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hadash.lake import quarantine
from hadash.lake.access import hours, late, put_batch, table_of
from hadash.lake.batches import look_at
from hadash.lake.importers import csv_file, survive_user
from hadash.lake.importers.imported import ImportRefused, put_imported
from hadash.lake.store import Store

#: 2026-11-20T12:30:00Z in milliseconds.
MS = 1_795_177_800_000
NOON = datetime.fromtimestamp(MS / 1000, UTC)


def heartbeat(**parts: Any) -> bytes:
    return json.dumps(parts).encode()


class TestSurviveUser:
    def test_who_is_connected_uses_the_topic(self) -> None:
        body = heartbeat(
            produce={"orders": [f"shop#10.0.0.1:40312#3.9.0#web-1#{MS}"]},
            fetch={"orders": [f"billing#10.0.0.2:40313#2.5.0-d-300#job#{MS}"]},
        )
        found = survive_user.parse(body, "main", "east", "3")
        assert found.unreadable == []
        assert [
            (r["appid"], r["client_id"], r["kind"], r["resource"], r["host"], r["version"], r["cluster"])
            for r in found.rows
        ] == [
            ("shop", "web-1", "produce", "orders", "10.0.0.1", "3.9.0", "east"),
            ("billing", "job", "consume", "orders", "10.0.0.2", "2.5.0-d-300", "east"),
        ]
        assert {(r["gateway"], r["pair"], r["source"], r["last_seen"]) for r in found.rows} == {
            ("east/3", "main", "survive-user", NOON)
        }
        assert table_of(found.rows).num_rows == 2

    @pytest.mark.parametrize(
        ("entry", "read"),
        [
            (f"shop#10.0.0.1:40312#3.9.0#HA#shop#orders#{MS}", ("shop", "10.0.0.1", "HA#shop#orders")),
            (f"sh#op#10.0.0.1:40312#3.9.0#web-1#{MS}", ("sh#op", "10.0.0.1", "web-1")),
            (f"购物#/10.0.0.1:40312#3.9.0#网页#{MS}", ("购物", "10.0.0.1", "网页")),
            (f"shop#[fe80::1%eth0]:40312#3.9.0##{MS}".replace("%eth0", ""), ("shop", "fe80::1", "")),
            (f"shop#web.example:40312##web-1#{MS}", ("shop", "web.example", "web-1")),
        ],
    )
    def test_names_may_hold_what_separates_them(self, entry: str, read: tuple[str, str, str]) -> None:
        (row,) = survive_user.parse(heartbeat(produce={"orders": [entry]}), "main", "east", "3").rows
        assert (row["appid"], row["host"], row["client_id"]) == read

    def test_whom_the_broker_does_not_know_is_skipped(self) -> None:
        body = heartbeat(produce={"orders": [f"unknown#10.0.0.1:40312#3.9.0#web-1#{MS}"]})
        found = survive_user.parse(body, "main", "east", "3")
        assert (found.rows, found.unreadable) == ([], [])

    @pytest.mark.parametrize(
        ("parts", "why"),
        [
            ({"produce": {"orders": ["shop"]}}, "It is not appId#ip:port#version#clientId#milliseconds."),
            ({"produce": {"orders": [7]}}, "It is not appId#ip:port#version#clientId#milliseconds."),
            ({"produce": {"orders": ["shop#a:1#3#web#9999999999999999"]}}, "Its time is none."),
            ({"produce": {"orders": "shop"}}, "A Topic has no list."),
            ({"produce": {}, "fetch": ["orders"]}, '"fetch" holds no Topics.'),
        ],
    )
    def test_what_makes_no_sense_stops_nothing_else(self, parts: dict[str, Any], why: str) -> None:
        parts.setdefault("produce", {})["others"] = [f"shop#10.0.0.1:40312#3.9.0#web-1#{MS}"]
        found = survive_user.parse(heartbeat(**parts), "main", "east", "3")
        assert len(found.rows) == 1
        assert [line.reason for line in found.unreadable] == [why]

    @pytest.mark.parametrize("body", [b"\xff", b"[]", b"{}", b'{"produce": "orders"}'])
    def test_another_body_is_refused(self, body: bytes) -> None:
        with pytest.raises(ImportRefused):
            survive_user.parse(body, "main", "east", "3")


HEAD = "appid,client_id,kind,resource,cluster,last_seen,acks,idempotent,assignors\n"


class TestCsv:
    def test_a_line_is_a_report(self) -> None:
        text = HEAD + "购物,web-1,produce,orders,east,2026-11-20T12:30:00Z,all,yes,\n"
        (row,) = csv_file.parse(text.encode(), "old.csv").rows
        assert row == {
            "appid": "购物",
            "client_id": "web-1",
            "kind": "produce",
            "resource": "orders",
            "cluster": "east",
            "last_seen": NOON,
            "first_seen": NOON,
            "acks": -1,
            "idempotent": True,
            "requests": 0,
            "records": 0,
            "bytes": 0,
            "gateway": "old.csv",
            "source": "csv",
        }
        assert table_of([row]).num_rows == 1

    def test_as_spreadsheets_write_it(self) -> None:
        text = (
            "\ufeff"
            + HEAD.replace(",", ";")
            + ";;;;;;;;\nshop;web-1;group;g;east;2026-11-20 20:30:00+08:00;;;a|b\n"
        )
        (row,) = csv_file.parse(text.encode(), "old.csv").rows
        assert (row["last_seen"], row["assignors"]) == (NOON, ["a", "b"])

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            (",web-1,produce,orders,east,2026-11-20,,,", "appid is empty."),
            (
                "shop,web-1,reads,orders,east,2026-11-20,,,",
                "kind is 'reads'; it is one of produce, consume, group.",
            ),
            (
                "shop,web-1,produce,orders,east,yesterday,,,",
                "last_seen is 'yesterday'; write it as 2026-11-21T17:05:00Z.",
            ),
            (
                "shop,web-1,produce,orders,east,2026-11-20,most,,",
                "acks is 'most', which is no whole number.",
            ),
            ("shop,web-1,produce,orders,east,2026-11-20,99999,,", "acks is 99999, which is too much."),
            (
                "shop,web-1,produce,orders,east,2026-11-20,,maybe,",
                "idempotent is 'maybe'; write true or false.",
            ),
            ("shop,web-1", "It has 2 cells instead of 9."),
        ],
    )
    def test_a_line_that_makes_no_sense_is_put_aside(self, line: str, why: str) -> None:
        text = f"{HEAD}{line}\nshop,web-1,produce,orders,east,2026-11-20,,,\n"
        found = csv_file.parse(text.encode(), "old.csv")
        assert len(found.rows) == 1
        assert [(u.text, u.reason) for u in found.unreadable] == [(line, why)]

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (b"", "columns; appid, kind, resource, cluster, last_seen are missing"),
            (HEAD.replace("cluster,", "").encode(), "columns; cluster is missing"),
            (b"mood," + HEAD.encode(), "There is no column 'mood'"),
            (b"appid," + HEAD.encode(), "A column is there twice"),
            ("appid,购物".encode("gb18030"), "not in UTF-8"),
        ],
    )
    def test_another_file_is_refused(self, content: bytes, why: str) -> None:
        with pytest.raises(ImportRefused, match=why):
            csv_file.parse(content, "old.csv")


class TestPutting:
    def test_the_same_content_again_is_the_same_batch(self, tmp_path: Path) -> None:
        store = Store(str(tmp_path))
        body = heartbeat(produce={"orders": [f"shop#10.0.0.1:40312#3.9.0#web-1#{MS}", "nonsense"]})
        for _ in range(2):
            batch = put_imported(store, "survive-user", body, survive_user.parse(body, "main", "east", "3"))
        found = look_at(store, hours(store))
        assert [file.name for file in found.files] == [f"access/date=2026-11-20/hour=12/{batch}.parquet"]
        (aside,) = quarantine.lines(store)
        assert store.read_json(aside) == [
            {"text": "nonsense", "reason": "It is not appId#ip:port#version#clientId#milliseconds."}
        ]

    def test_where_nothing_can_be_read_only_the_quarantine_has_it(self, tmp_path: Path) -> None:
        store = Store(str(tmp_path))
        body = heartbeat(produce={"orders": ["nonsense"]})
        put_imported(store, "survive-user", body, survive_user.parse(body, "main", "east", "3"))
        assert hours(store) == []
        (aside,) = quarantine.lines(store)
        assert aside.startswith(f"quarantine/lines/date={datetime.now(UTC):%Y-%m-%d}/")
        assert len(quarantine.reasons(store, [aside], 5)) == 1

    def test_of_very_many_lines_the_first_are_kept(self, tmp_path: Path) -> None:
        store = Store(str(tmp_path))
        body = heartbeat(produce={"orders": ["x" * 20_000] * (quarantine.MOST_LINES + 2)})
        put_imported(store, "survive-user", body, survive_user.parse(body, "main", "east", "3"))
        lines = store.read_json(quarantine.lines(store)[0])
        assert (len(lines), len(lines[0]["text"])) == (quarantine.MOST_LINES + 1, quarantine.MOST_TEXT)
        assert lines[-1]["reason"] == "And 2 more."

    def test_half_a_character_is_kept_as_json_calls_it(self, tmp_path: Path) -> None:
        store = Store(str(tmp_path))
        body = b'{"produce": {"orders": ["\\ud800"]}}'
        put_imported(store, "survive-user", body, survive_user.parse(body, "main", "east", "3"))
        assert store.read_json(quarantine.lines(store)[0])[0]["text"] == "\ud800"

    def test_what_comes_for_an_old_day_leaves_a_note(self, tmp_path: Path) -> None:
        """Else nobody would look at that day again."""
        store = Store(str(tmp_path))
        old, now = datetime.now(UTC) - timedelta(days=20), datetime.now(UTC)
        put_batch(store, "new", [], now)
        assert late(store) == {}
        put_batch(store, "old/1", [], old)
        put_batch(store, "old/2", [], old)
        day = f"{old:%Y-%m-%d}"
        assert late(store) == {day: [f"late/date={day}/old%2F1.json", f"late/date={day}/old%2F2.json"]}
