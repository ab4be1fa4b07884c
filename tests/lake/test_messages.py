"""A record of a Topic is a batch; what makes no sense in it stops nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from hadash.lake.access import table_of
from hadash.lake.importers.imported import ImportRefused
from hadash.lake.importers.messages import parse

MS = 1_795_177_800_000
NOON = datetime.fromtimestamp(MS / 1000, UTC)


def message(*reports: Any, **others: Any) -> bytes:
    return json.dumps({"reporter": "gateway-1", "batch": MS, "reports": reports, **others}).encode()


def test_a_record_is_a_batch() -> None:
    found = parse(
        message(
            {
                "appid": "购物",
                "kind": "produce",
                "acks": -1,
                "assignors": ["range"],
                "idempotent": True,
                "last_seen": MS,
                "host": None,
                "of a later version": 7,
            }
        )
    )
    assert (found.name, found.moment) == (f"gateway-1-{MS}", NOON)
    (row,) = found.imported.rows
    assert row == {
        "gateway": "gateway-1",
        "appid": "购物",
        "kind": "produce",
        "acks": -1,
        "assignors": ["range"],
        "idempotent": True,
        "last_seen": NOON,
    }
    assert table_of([row]).num_rows == 1


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("shop", "A report is an object."),
        ({"acks": "most"}, "acks is 'most', which is no int16."),
        ({"acks": 99999}, "acks is 99999, which is no int16."),
        ({"last_seen": "noon"}, "last_seen is 'noon', which is no timestamp[ms, tz=UTC]."),
        ({"appid": 7}, "appid is 7, which is no string."),
    ],
)
def test_a_report_that_makes_no_sense_is_put_aside(report: Any, why: str) -> None:
    found = parse(message(report, {"appid": "shop"}))
    assert [row["appid"] for row in found.imported.rows] == ["shop"]
    assert [line.reason for line in found.imported.unreadable] == [why]


def test_half_a_character_spoils_only_its_report() -> None:
    found = parse(message({"appid": "\ud800"}, {"appid": "shop"}))
    assert [row["appid"] for row in found.imported.rows] == ["shop"]
    assert [line.reason for line in found.imported.unreadable] == ["appid is '\\ud800', which is no string."]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        message(reports=7),
        message(reporter=""),
        message(batch="now"),
        message(batch=10**30),
        message(batch=MS // 1000),
        message(reporter="\ud800"),
        message(reporter=["gateway"]),
        b"[" * 200_000,
        message(reports=[]).replace(b'"reports": []', b'"reports": [' + b"[" * 200_000),
    ],
)
def test_another_record_is_refused(value: bytes) -> None:
    with pytest.raises(ImportRefused):
        parse(value)
