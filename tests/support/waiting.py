"""Wait for something to become true, instead of sleeping and hoping."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Long enough for two busy cores; only a test that fails waits this long.
PATIENCE_SECONDS = 20.0
#: All limits of tests are this many times as long: where several stacks share two cores (``setup/test.sh``),
#: nothing comes soon, and what comes late is no fault.
SLOWER = float(os.environ.get("HADASH_TEST_SLOWER", "1"))


def eventually(
    look: Callable[[], T],
    what: str = "the condition",
    patience: float = PATIENCE_SECONDS,
    every: float = 0.02,
) -> T:
    """What ``look`` returns as soon as it is true. ``what`` completes the sentence "… did not come about".

    :param patience: seconds, times :data:`SLOWER`.
    """
    patience *= SLOWER
    deadline = time.monotonic() + patience
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about in {patience:.0f} s; the last look saw {seen!r}")
        time.sleep(every)
