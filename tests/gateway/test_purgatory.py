"""Where requests wait: each ends once, by a change, by its time, or by being cancelled; and there is a bound."""

from __future__ import annotations

import asyncio

import pytest

from hadash.gateway.waiting.purgatory import TICK_SECONDS, WHEEL_SIZE, DelayedOperation, Purgatory, Timer


class Operation(DelayedOperation):
    """Notes how it ended; can complete when ``ready`` is set."""

    def __init__(self, key: str = "shop", size: int = 10) -> None:
        super().__init__(key, size)
        self.ready = False
        self.ended: list[str] = []
        self.end = asyncio.Event()

    def can_complete(self) -> bool:
        return self.ready

    def complete(self) -> None:
        self.ended.append("completed")

    def expire(self) -> None:
        self.ended.append("expired")
        self.end.set()


def purgatory(max_operations: int = 10, max_bytes: int = 1000) -> Purgatory:
    return Purgatory(Timer(asyncio.get_running_loop()), max_operations, max_bytes)


async def test_a_change_completes_what_can_go_on_and_leaves_the_rest() -> None:
    waiting = purgatory()
    ready, not_ready, other = Operation(), Operation(), Operation("billing")
    for operation in (ready, not_ready, other):
        assert waiting.park(operation, 5.0)
    ready.ready = other.ready = True
    waiting.check("shop")
    assert (ready.ended, not_ready.ended, other.ended) == (["completed"], [], [])
    assert (waiting.count, waiting.bytes) == (2, 20)
    waiting.check("billing")
    assert other.ended == ["completed"]


async def test_what_nothing_completes_expires_in_time() -> None:
    waiting = purgatory()
    late, later = Operation(), Operation()
    waiting.park(later, 30.0)
    waiting.park(late, 0.02)
    await late.end.wait()
    assert (late.ended, later.ended) == (["expired"], [])
    assert (waiting.count, waiting.expired_total) == (1, 1)
    late.ready = True
    waiting.check("shop")
    assert late.ended == ["expired"]


async def test_what_was_cancelled_neither_completes_nor_expires() -> None:
    waiting = purgatory()
    cancelled, witness = Operation(), Operation()
    waiting.park(cancelled, 0.02)
    waiting.park(witness, 0.04)
    waiting.cancel(cancelled)
    waiting.cancel(cancelled)
    cancelled.ready = True
    waiting.check("shop")
    await witness.end.wait()
    assert cancelled.ended == []
    assert (waiting.count, waiting.bytes) == (0, 0)


async def test_one_that_ends_another_while_a_change_is_looked_at() -> None:
    """A connection that breaks while its neighbour goes on takes its own operation along."""
    waiting = purgatory()
    first, second = Operation(), Operation()
    waiting.park(first, 5.0)
    waiting.park(second, 5.0)
    first.ready = second.ready = True
    first.complete = lambda: waiting.cancel(second)  # type: ignore[method-assign]
    waiting.check("shop")
    assert second.ended == []
    assert waiting.count == 0


async def test_a_thousand_are_released_in_slices() -> None:
    """Others are served meanwhile; what has changed again, or ended, by its turn stays as it is."""
    waiting = purgatory(1000, 100_000)
    operations = [Operation("shop" if n % 2 else "billing") for n in range(1000)]
    for operation in operations:
        waiting.park(operation, 5.0)
        operation.ready = True
    slices = waiting.checking(["shop", "billing"])
    next(slices)
    released = sum(bool(operation.ended) for operation in operations)
    assert 0 < released <= 100
    *_, blocked_again, ended = operations
    blocked_again.ready = False
    waiting.cancel(ended)
    for _ in slices:
        pass
    assert (blocked_again.ended, ended.ended) == ([], [])
    assert all(operation.ended == ["completed"] for operation in operations[:-2])
    assert waiting.count == 1


async def test_there_is_room_for_so_many_and_for_so_many_bytes() -> None:
    waiting = purgatory(max_operations=2, max_bytes=100)
    assert not waiting.park(Operation(size=101), 5.0)
    first = Operation(size=60)
    assert waiting.park(first, 5.0)
    assert not waiting.park(Operation(size=41), 5.0)
    assert waiting.park(Operation(size=40), 5.0)
    assert not waiting.park(Operation(size=0), 5.0)
    assert waiting.overflowed_total == 3
    waiting.cancel(first)
    assert waiting.park(Operation(size=60), 5.0)


async def test_the_loop_is_woken_for_what_is_due_first(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    call_at, woken = loop.call_at, []
    with monkeypatch.context() as patch:
        patch.setattr(loop, "time", lambda: 100.0)
        patch.setattr(loop, "call_at", lambda when, *args: (woken.append(when), call_at(when, *args))[1])
        waiting = purgatory()
        for seconds in (20.0, 20.0, 0.05, 20.0):
            waiting.park(Operation(), seconds)
    # Once for the first, and again for the one that is due before it; a wheel's buckets are as wide as its
    # ticks, the outer ones wider.
    assert woken == [
        pytest.approx(120.0, abs=WHEEL_SIZE * TICK_SECONDS),
        pytest.approx(100.05, abs=TICK_SECONDS),
    ]
