"""What the stages of a switch keep for each other, and whether it fits into one node of ZooKeeper."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hadash.bindings.journals import FACTS_BYTES, packed
from hadash.kafka.values import Partition
from hadash.switching.stages import context as facts_module
from hadash.switching.stages.context import StageContext, room_for


def partitions(count: int) -> list[Partition]:
    return [Partition(f"team-{n % 500}.orders-of-the-day", n // 500) for n in range(count)]


def drained(count: int) -> list[list[Any]]:
    """What a drain keeps, with offsets as large as any."""
    chance = random.Random(7)
    return [
        [p.topic, p.partition, chance.randrange(10**12), chance.randrange(10**12)] for p in partitions(count)
    ]


def test_each_value_that_is_kept_has_a_larger_number() -> None:
    saved: list[dict[str, Any]] = []
    facts = StageContext({}, saved.append)
    facts.put("seen", 1)
    facts.put("seen", 2)
    assert saved == [{"seen": 1, "number": 1}, {"seen": 2, "number": 2}]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Nodes that hold a twentieth of what they do."""
    most = FACTS_BYTES // 20
    monkeypatch.setattr(facts_module, "FACTS_BYTES", most)
    return most


def test_there_is_room_for_most_switches() -> None:
    assert room_for({"seen": {"clients": ["shop › web-1"]}}, partitions(5_000)) is None


def test_what_there_is_room_for_fits(small: int) -> None:
    most = room_for({}, partitions(5_000))
    assert most is not None
    assert 500 < most < 5_000
    assert len(packed({"drained": drained(most)})) < small


def test_a_forced_switch_keeps_what_is_lost_besides(small: int) -> None:
    planned, forced = room_for({}, partitions(5_000)), room_for({}, partitions(5_000), forced=True)
    assert planned is not None
    assert forced is not None
    assert forced < planned


def test_clients_take_room_from_partitions(small: int) -> None:
    chance = random.Random(7)
    seen = {"clients": [f"shop › till-{chance.randrange(10**15)}" for _ in range(2_000)]}
    alone, beside = room_for({}, partitions(5_000)), room_for({"seen": seen}, partitions(5_000))
    assert alone is not None
    assert beside is not None
    assert beside < alone
