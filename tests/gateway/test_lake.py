"""Access reports in the lake: each fact's additions once, whole files, and nothing lost when the lake is away."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hadash.gateway.reporting import lake as module
from hadash.gateway.reporting.lake import AccessReports
from hadash.gateway.reporting.traffic import AccessKey, Circumstances, Traffic
from hadash.gateway.waiting.slices import Slices
from hadash.lake.access import write_batch
from hadash.lake.store import Store


def key(client_id: str = "web-1") -> AccessKey:
    circumstances = Circumstances(acks=-1, idempotent=True, transactional=False)
    return AccessKey(
        "购物", client_id, "produce", "orders", "east", "10.0.0.1", "librdkafka", "2.16.0", circumstances
    )


class Lake:
    """A traffic of its own, and the reports of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.traffic = Traffic(samples=1, clock=lambda: 1_000_000.0, reports=True)
        slices = Slices(asyncio.get_running_loop())
        self.reports = AccessReports(
            Store(str(folder)), "main", "gateway-1", 60.0, 20.0, self.traffic, slices
        )

    def rows(self) -> list[dict[str, Any]]:
        files = sorted(self.folder.glob("access/date=*/hour=*/*.parquet"))
        return [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]


@pytest.fixture
async def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


async def test_a_row_says_all_that_is_known(lake: Lake) -> None:
    lake.traffic.fact(key()).note(1_000_060.0, 5, 500)
    group = Circumstances.of_member(("range", "roundrobin"), 45000)
    lake.traffic.fact(key()._replace(kind="group", resource="readers", circumstances=group)).note(
        1_000_000.0, 0, 0
    )
    await lake.reports.write()
    produced, joined = lake.rows()
    assert produced == {
        "gateway": "gateway-1",
        "appid": "购物",
        "client_id": "web-1",
        "kind": "produce",
        "resource": "orders",
        "cluster": "east",
        "host": "10.0.0.1",
        "library": "librdkafka",
        "version": "2.16.0",
        "acks": -1,
        "idempotent": True,
        "transactional": False,
        "assignors": None,
        "session_timeout_ms": None,
        "requests": 1,
        "records": 5,
        "bytes": 500,
        "first_seen": datetime.fromtimestamp(1_000_000, UTC),
        "last_seen": datetime.fromtimestamp(1_000_060, UTC),
        "pair": "main",
        "source": "gateway",
        "member": None,
    }
    assert (joined["assignors"], joined["session_timeout_ms"], joined["member"], joined["acks"]) == (
        ["range", "roundrobin"],
        45000,
        True,
        None,
    )


async def test_each_batch_holds_what_was_added_and_only_what_changed(lake: Lake) -> None:
    lake.traffic.fact(key()).note(1.0, 5, 500)
    lake.traffic.fact(key("quiet")).note(1.0, 1, 10)
    await lake.reports.write()
    lake.traffic.fact(key()).note(2.0, 3, 300)
    await lake.reports.write()
    await lake.reports.write()
    assert [(r["client_id"], r["requests"], r["records"], r["bytes"]) for r in lake.rows()] == [
        ("web-1", 1, 5, 500),
        ("quiet", 1, 1, 10),
        ("web-1", 1, 3, 300),
    ]
    assert lake.reports.rows_written == 3


async def test_what_cannot_be_written_waits_for_the_next_batch(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    (lake.folder / "access").write_text("in the way")
    lake.traffic.fact(key()).note(1.0, 5, 500)
    await lake.reports.write()
    assert "access reports cannot be written" in caplog.text
    assert (lake.reports.failures, lake.reports.rows_written) == (1, 0)
    (lake.folder / "access").unlink()
    lake.traffic.fact(key()).note(2.0, 3, 300)
    await lake.reports.write()
    assert [(r["requests"], r["records"]) for r in lake.rows()] == [(2, 8)]


async def test_a_fact_that_had_to_go_is_reported_all_the_same(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hadash.gateway.reporting.traffic.MAX_FACTS", 2)
    for number in range(5):
        lake.traffic.fact(key(f"web-{number}")).note(float(number), 1, 10)
    await lake.reports.write()
    # As many of those that went are kept as may be at once; the oldest is lost, rather than the process's memory.
    assert {row["client_id"] for row in lake.rows()} == {"web-1", "web-2", "web-3", "web-4"}
    assert lake.traffic.evicted == []
    assert lake.traffic.unreported == 1


async def test_a_batch_that_is_asked_for_while_one_is_written_holds_what_came_since(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Gateway that stops writes its last batch, perhaps in the middle of another."""
    began, go_on = threading.Event(), threading.Event()

    def slow(*args: Any) -> str:
        began.set()
        assert go_on.wait(20)
        return write_batch(*args)

    monkeypatch.setattr(module, "write_batch", slow)
    lake.traffic.fact(key()).note(1.0, 5, 500)
    first = asyncio.ensure_future(lake.reports.write())
    await asyncio.to_thread(began.wait)
    lake.traffic.fact(key()).note(2.0, 3, 300)
    last = asyncio.ensure_future(lake.reports.write())
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(first, last)
    assert [row["records"] for row in lake.rows()] == [5, 3]


async def test_a_fact_that_goes_while_it_is_written_is_not_forgotten(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = lake.traffic.fact(key())
    fact.note(1.0, 5, 500)

    def meanwhile(*args: Any) -> str:
        fact.note(2.0, 3, 300)
        lake.traffic._evict()
        return write_batch(*args)

    monkeypatch.setattr(module, "write_batch", meanwhile)
    await lake.reports.write()
    monkeypatch.undo()
    await lake.reports.write()
    assert [row["records"] for row in lake.rows()] == [5, 3]
    assert lake.traffic.evicted == []


async def test_what_cannot_be_made_is_no_end_of_reports(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lake.traffic.fact(key()).note(1.0, 5, 500)
    monkeypatch.setattr(module, "row", lambda *args: 1 / 0)
    await lake.reports.write()
    assert lake.reports.failures == 1
    assert "division by zero" in caplog.text
    monkeypatch.undo()
    await lake.reports.write()
    assert [row["records"] for row in lake.rows()] == [5]


async def test_without_a_lake_nothing_is_written() -> None:
    traffic = Traffic(samples=1)
    traffic.fact(key()).note(1.0, 1, 1)
    reports = AccessReports(
        None, "main", "gateway-1", 60.0, 20.0, traffic, Slices(asyncio.get_running_loop())
    )
    await reports.run()
    await reports.write()
    assert reports.rows_written == 0
