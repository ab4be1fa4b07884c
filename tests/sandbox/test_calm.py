"""When a benchmark begins: the servers have warmed up, and nobody waits for ever."""

from __future__ import annotations

import pytest

from hadash_sandbox.bench.tools import CALM_PATIENCE_SECONDS, CALM_WINDOW_SECONDS, await_calm


@pytest.mark.parametrize(
    ("busy", "windows"),
    [([90.0, 88.0], 2), ([95.0, 80.0, 62.0, 60.0], 4), ([50.0, 70.0], 2)],
    ids=["as busy as before", "less and less busy", "busier"],
)
def test_it_waits_as_long_as_the_machine_gets_calmer(busy: list[float], windows: int) -> None:
    asked: list[float] = []

    def ask(seconds: float) -> float:
        asked.append(seconds)
        return busy[len(asked) - 1]

    await_calm(ask)
    assert asked == [CALM_WINDOW_SECONDS] * windows


def test_not_for_ever() -> None:
    asked: list[float] = []

    def ask(seconds: float) -> float:
        asked.append(seconds)
        return 1000.0 - 10 * len(asked)

    await_calm(ask)
    assert sum(asked) == CALM_PATIENCE_SECONDS
