"""Waits for what happens in other processes, by looking again and again: no event of theirs crosses to this one."""

from __future__ import annotations

import time
from collections.abc import Callable

from hadash_sandbox.errors import SandboxError

#: Seconds between two looks, where a look costs little.
LOOK_SECONDS = 0.05


def came_about(
    look: Callable[[], object],
    seconds: float,
    *,
    every: float = LOOK_SECONDS,
    away: tuple[type[Exception], ...] = (),
) -> bool:
    """Look until it is true; return whether it was within so many seconds.

    :param every: seconds between two looks.
    :param away: what a look may raise while servers are away: it counts as false.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            if look():
                return True
        except away:
            pass
        if time.monotonic() > deadline:
            return False
        time.sleep(every)


def wait_until(
    look: Callable[[], object],
    what: str,
    seconds: float,
    *,
    every: float = LOOK_SECONDS,
    away: tuple[type[Exception], ...] = (),
) -> None:
    """Look until it is true, see :func:`came_about`.

    :param what: completes the sentence "… did not come about".
    :raises SandboxError: it was not within so many seconds.
    """
    if not came_about(look, seconds, every=every, away=away):
        raise SandboxError(f"{what} did not come about in {seconds:.0f} s.")
