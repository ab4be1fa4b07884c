"""What the stages of a switch keep for each other, and whether it fits into one node of ZooKeeper."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from hadash.bindings.journals import FACTS_BYTES, packed
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.switching.stages import context as context_module
from hadash.switching.stages.commands import RecordSeen
from hadash.switching.stages.context import Loss, StageContext


def partitions(count: int) -> list[Partition]:
    return [Partition(f"team-{n % 500}.orders-of-the-day", n // 500) for n in range(count)]


def drained(count: int) -> list[list[Any]]:
    """What a drain keeps, with offsets as large as any."""
    chance = random.Random(7)
    return [
        [p.topic, p.partition, chance.randrange(10**12), chance.randrange(10**12)] for p in partitions(count)
    ]


NOBODY = RecordSeen((), (), ())


def test_each_value_that_is_kept_has_a_larger_number() -> None:
    saved: list[dict[str, Any]] = []
    context = StageContext({}, saved.append)
    context.keep_drained({})
    context.keep_drained({Partition("orders", 0): OffsetSync(100, 60)})
    assert saved == [{"drained": [], "number": 1}, {"drained": [["orders", 0, 100, 60]], "number": 2}]


ORDERS, CARTS = Partition("orders", 0), Partition("carts", 12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("blocked_at", datetime(2026, 11, 27, 3, 4, 5, 678900, tzinfo=UTC)),
        (
            "seen",
            RecordSeen(("shop › web-1", "商店"), ("billing",), (("produce", "orders"), ("consume", "carts"))),
        ),
        ("reading", {"billing": {ORDERS: 7, CARTS: 0}, "等": {ORDERS: 10**13}}),
        ("drained", {ORDERS: OffsetSync(100, 60), CARTS: OffsetSync(0, 0)}),
        ("loss", Loss({ORDERS: 12}, 3.25, {ORDERS: OffsetSync(88, 48)})),
        ("loss", Loss({}, None, {})),
    ],
)
def test_what_is_kept_comes_back_from_its_stored_form(name: str, value: Any) -> None:
    context = StageContext()
    getattr(context, f"keep_{name}")(value)
    stored = json.loads(json.dumps(context.values))
    assert getattr(StageContext(stored), name) == value


def test_before_anything_is_kept_it_says_so() -> None:
    context = StageContext()
    assert context.seen == NOBODY
    assert (context.blocked_at, context.reading, context.drained, context.loss) == (None, None, None, None)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Nodes that hold a twentieth of what they do."""
    most = FACTS_BYTES // 20
    monkeypatch.setattr(context_module, "FACTS_BYTES", most)
    return most


def test_there_is_room_for_most_switches() -> None:
    assert StageContext().room_for(RecordSeen(("shop › web-1",), (), ()), partitions(5_000)) is None


def test_what_there_is_room_for_fits(small: int) -> None:
    most = StageContext().room_for(NOBODY, partitions(5_000))
    assert most is not None
    assert 500 < most < 5_000
    assert len(packed({"drained": drained(most)})) < small


def test_a_forced_switch_keeps_what_is_lost_besides(small: int) -> None:
    planned = StageContext().room_for(NOBODY, partitions(5_000))
    forced = StageContext().room_for(NOBODY, partitions(5_000), forced=True)
    assert planned is not None
    assert forced is not None
    assert forced < planned


def test_clients_take_room_from_partitions(small: int) -> None:
    chance = random.Random(7)
    tills = RecordSeen(tuple(f"shop › till-{chance.randrange(10**15)}" for _ in range(2_000)), (), ())
    alone = StageContext().room_for(NOBODY, partitions(5_000))
    beside = StageContext().room_for(tills, partitions(5_000))
    assert alone is not None
    assert beside is not None
    assert beside < alone
