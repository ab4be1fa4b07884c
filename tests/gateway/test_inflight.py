"""Mutations that are under way, and those who wait for them."""

from __future__ import annotations

import asyncio

import pytest

from hadash.gateway.waiting.inflight import InFlight


@pytest.fixture
def mutations() -> InFlight:
    """Two under way."""
    made = InFlight()
    made.enter()
    made.enter()
    return made


async def test_those_of_now_are_waited_for_and_no_later_ones(mutations: InFlight) -> None:
    """A producer with a write under way at any time would never be without one."""
    waiting = asyncio.ensure_future(mutations.wait_for_present())
    await asyncio.sleep(0)
    for _ in range(2):
        mutations.enter()
        assert not waiting.done()
        mutations.leave()
    await asyncio.wait_for(waiting, 1)
    assert mutations.count == 2


async def test_each_waits_for_what_it_has_found(mutations: InFlight) -> None:
    first = asyncio.ensure_future(mutations.wait_for_present())
    await asyncio.sleep(0)
    mutations.enter()
    second = asyncio.ensure_future(mutations.wait_for_present())
    await asyncio.sleep(0)
    mutations.leave()
    mutations.leave()
    await asyncio.wait_for(first, 1)
    assert not second.done()
    mutations.leave()
    await asyncio.wait_for(second, 1)


async def test_nothing_is_waited_for_without_any() -> None:
    await asyncio.wait_for(InFlight().wait_for_present(), 1)


async def test_when_the_broker_is_gone_nobody_waits(mutations: InFlight) -> None:
    waiting = asyncio.ensure_future(mutations.wait_for_present())
    await asyncio.sleep(0)
    mutations.abandon()
    await asyncio.wait_for(waiting, 1)
