"""How long clients of a switch are without a record: noted from the first stop on, for them and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from hadash.gateway.reporting import pauses
from hadash.gateway.reporting.samples import Stream
from hadash.gateway.reporting.traffic import AccessKey, Traffic


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def traffic(clock: Clock) -> Traffic:
    return Traffic(samples=1, clock=clock)


def writes(
    traffic: Traffic, at: float, appid: str = "shop", client_id: str = "web", cluster: str = "east"
) -> None:
    traffic.clock.now = at  # type: ignore[attr-defined]
    key = AccessKey(appid, client_id, "produce", "orders", cluster, "h", "", "")
    traffic.fact(key).note(at, 1, 10)
    traffic.count_produced(Stream(appid, client_id, cluster), 1)


def change(traffic: Traffic, at: float, *, stopped: bool, appid: str = "shop") -> None:
    traffic.clock.now = at  # type: ignore[attr-defined]
    traffic.pauses.bindings_changed(appid, stopped=stopped)


def entries(traffic: Traffic, appid: str | None = "shop") -> list[dict[str, Any]]:
    return traffic.pauses.entries(appid)


def test_from_the_last_record_before_it_goes_on_to_the_first_one_after(traffic: Traffic) -> None:
    writes(traffic, 1000.0)
    change(traffic, 1000.5, stopped=True)
    writes(traffic, 1000.75)  # it quiesces, and is not blocked yet
    change(traffic, 1001.0, stopped=True)
    change(traffic, 1002.0, stopped=False)
    assert [entry["until"] for entry in entries(traffic)] == [None]
    writes(traffic, 1002.25, cluster="west")
    writes(traffic, 1002.5, cluster="west")
    assert entries(traffic) == [
        {"appid": "shop", "client_id": "web", "kind": "produce", "since": 1000.75, "until": 1002.25}
    ]


def test_who_moved_nothing_since_the_stop_is_known_from_before(traffic: Traffic) -> None:
    writes(traffic, 1000.0)
    change(traffic, 1000.5, stopped=True)
    change(traffic, 1001.0, stopped=False)
    writes(traffic, 1003.0)
    (entry,) = entries(traffic)
    assert (entry["since"], entry["until"]) == (1000.0, 1003.0)


def test_whoever_comes_only_afterwards_had_no_pause(traffic: Traffic) -> None:
    change(traffic, 1000.0, stopped=True)
    change(traffic, 1001.0, stopped=False)
    writes(traffic, 1002.0)
    assert entries(traffic) == []


def test_reading_and_writing_are_told_apart(traffic: Traffic, clock: Clock) -> None:
    change(traffic, 1000.0, stopped=True)
    writes(traffic, 1000.1)
    clock.now = 1000.3
    traffic.count_consumed(Stream("shop", "web", "east"), 5)
    change(traffic, 1001.0, stopped=False)
    assert {(e["kind"], e["since"]) for e in entries(traffic)} == {("produce", 1000.1), ("consume", 1000.3)}


def test_an_answer_without_records_is_no_record(traffic: Traffic, clock: Clock) -> None:
    change(traffic, 1000.0, stopped=True)
    traffic.count_consumed(Stream("shop", "web", "east"), 0)
    change(traffic, 1001.0, stopped=False)
    assert entries(traffic) == []


def test_nobody_else_is_noted(traffic: Traffic) -> None:
    change(traffic, 1000.0, stopped=True)
    writes(traffic, 1000.1, appid="crm")
    change(traffic, 1001.0, stopped=False)
    assert entries(traffic, None) == []


def test_while_it_is_stopped_nothing_is_told(traffic: Traffic) -> None:
    writes(traffic, 1000.0)
    change(traffic, 1000.5, stopped=True)
    assert entries(traffic) == []


def test_the_next_switch_begins_anew(traffic: Traffic) -> None:
    writes(traffic, 1000.0)
    change(traffic, 1000.5, stopped=True)
    change(traffic, 1001.0, stopped=False)
    writes(traffic, 1001.5)
    change(traffic, 1010.0, stopped=True)
    change(traffic, 1011.0, stopped=False)
    writes(traffic, 1012.0)
    (entry,) = entries(traffic)
    assert (entry["since"], entry["until"]) == (1001.5, 1012.0)


def test_it_is_forgotten_after_a_while(traffic: Traffic, clock: Clock) -> None:
    writes(traffic, 1000.0)
    change(traffic, 1000.5, stopped=True)
    change(traffic, 1001.0, stopped=False)
    clock.now = 1000.5 + pauses.KEPT_SECONDS + 1
    assert entries(traffic) == [] and not traffic.pauses.watched


def test_memory_has_an_end(traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "MOST_APPIDS", 1)
    monkeypatch.setattr(pauses, "MOST_CLIENTS", 2)
    change(traffic, 1000.0, stopped=True)
    change(traffic, 1000.0, stopped=True, appid="crm")
    for number in range(5):
        writes(traffic, 1000.1, client_id=f"web-{number}")
    change(traffic, 1001.0, stopped=False)
    assert len(entries(traffic)) == 2 and set(traffic.pauses.watched) == {"shop"}
