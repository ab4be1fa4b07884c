"""Long work is done in slices, one a round of the loop; what is short is done at once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Generator
from typing import Any

from hadash.gateway.waiting.slices import Slices


def work(steps: int, log: list[str], name: str) -> Generator[None, None, str]:
    for step in range(steps):
        log.append(f"{name}{step}")
        yield
    return name


def unexpected(error: Exception) -> None:
    raise error


async def test_short_work_is_done_at_once() -> None:
    done: list[str] = []
    Slices(asyncio.get_running_loop()).run(work(0, [], "a"), done.append, unexpected)
    assert done == ["a"]


async def test_others_are_served_between_two_slices_and_jobs_take_turns() -> None:
    loop = asyncio.get_running_loop()
    log: list[str] = []
    ended: list[str] = []
    finished = loop.create_future()

    def done(name: str) -> None:
        ended.append(name)
        if len(ended) == 2:
            finished.set_result(None)

    def somebody_else() -> None:
        log.append("-")
        if not finished.done():
            loop.call_soon(somebody_else)

    slices = Slices(loop)
    slices.run(work(4, log, "a"), done, unexpected)
    slices.run(work(3, log, "b"), done, unexpected)
    loop.call_soon(somebody_else)
    await finished
    assert [entry for entry in log if entry != "-"] == ["a0", "b0", "a1", "b1", "a2", "b2", "a3"]
    for one, other in itertools.pairwise(log[2:]):
        assert "-" in (one, other)
    assert ended == ["b", "a"]


async def test_work_that_fails_says_so_and_the_rest_goes_on() -> None:
    def broken() -> Generator[None, None, Any]:
        yield
        raise ValueError("broken")

    failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    slices = Slices(asyncio.get_running_loop())
    slices.run(broken(), unexpected, failed.set_result)
    slices.run(work(3, [], "a"), done.set_result, unexpected)
    assert str(await failed) == "broken"
    assert await done == "a"
