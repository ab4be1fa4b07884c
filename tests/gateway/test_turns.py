"""Turns: as many as are set in one round of the loop, in the order in which they were asked for. And a log
with a limit.
"""

from __future__ import annotations

import asyncio
import logging

import pytest

from hadash.gateway.reporting.log_limit import LogLimit
from hadash.gateway.waiting.turns import Turns


async def test_each_round_has_as_many_turns_as_are_set_and_others_are_served_between() -> None:
    loop = asyncio.get_running_loop()
    seen: list[str] = []
    turns = Turns(loop, 2)
    done = loop.create_future()

    def ask(name: str, times: int) -> None:
        def turn() -> None:
            seen.append(name)
            if times > 1:
                ask(name, times - 1)
            elif len(turns) == 0:
                done.set_result(None)

        turns.ask(turn)

    def somebody_else() -> None:
        if not done.done():
            seen.append("-")
            loop.call_soon(somebody_else)

    for name, times in (("a", 3), ("b", 1), ("c", 2)):
        ask(name, times)
    loop.call_soon(somebody_else)
    await done
    assert "".join(seen) == "ab-ca-ca"


def test_a_log_takes_so_many_lines_a_second_and_says_how_many_it_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [10.0]
    limit = LogLimit(logging.getLogger("test"), lambda: now[0], most=2)
    for number in range(5):
        limit.warning("line %d", number)
    now[0] += 1
    limit.warning("line %d", 5)
    assert caplog.messages == ["line 0", "line 1", "3 more such lines were left out", "line 5"]
