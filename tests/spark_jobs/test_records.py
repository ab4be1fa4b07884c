"""What a task does with records of a Topic: whatever stands in one, the others are read. (With a real Topic:
test_from_kafka.py.)
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row

from hadash.lake import quarantine
from hadash.lake.access import hours
from hadash.lake.batches import look_at
from hadash.lake.store import Store
from spark.jobs.from_kafka import SHOWN_REASONS, Outcome, _write

MS = 1_795_177_800_000
NOON = datetime.fromtimestamp(MS / 1000, UTC)
REPORT = {"appid": "shop", "kind": "produce", "resource": "orders", "cluster": "east", "last_seen": MS}
#: The longest name that a Topic can have.
TOPIC = "t" * 249


def record(offset: int, *reports: Any, **others: Any) -> Row:
    value = {"reporter": "gateway-1", "batch": MS + offset, "reports": reports, **others}
    return strange(offset, json.dumps(value).encode())


def strange(offset: int, value: bytes | None) -> Row:
    return Row(partition=0, offset=offset, timestamp=datetime(2026, 11, 20, 12, 30), value=value)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


@pytest.mark.parametrize(
    "odd",
    [
        strange(2, b"[" * 200_000),
        strange(2, b"nonsense"),
        strange(2, b"\xff\xfe"),
        strange(2, None),
        record(2, REPORT, reporter="\ud800"),
        record(2, REPORT, batch=1),
    ],
)
def test_a_record_that_is_no_batch_is_put_aside(store: Store, odd: Row) -> None:
    (done,) = _write(store.address, TOPIC, [record(1, REPORT), odd, record(3, REPORT)])
    assert (done.records, done.reports, done.unreadable) == (3, 2, 1)
    assert len(look_at(store, hours(store)).files) == 2
    (aside,) = quarantine.lines(store)
    (line,) = store.read_json(aside)
    assert line["reason"] == f"Offset 2: {done.reasons[0]}"


def test_a_name_that_no_file_system_takes_is_cut(store: Store) -> None:
    (done,) = _write(store.address, TOPIC, [record(1, REPORT, reporter="网关" * 100)])
    assert (done.reports, done.unreadable) == (1, 0)
    (file,) = look_at(store, hours(store)).files
    assert file.rows == 1


def test_what_cannot_be_read_of_very_many_records_is_one_file(store: Store) -> None:
    """Somebody else writes to the Topic: a file for each of their records would be very many."""
    said = [strange(offset, b"nonsense") for offset in range(50)]
    (done,) = _write(store.address, "reports", [*said, record(50, *(["no report"] * 20))])
    assert done == Outcome(51, 0, 70, done.reasons)
    assert len(quarantine.lines(store)) == 2
    assert len(done.reasons) <= SHOWN_REASONS
    # Read once more, as after the death of the one that read: the same files.
    list(_write(store.address, "reports", said))
    assert len(quarantine.lines(store)) == 2
