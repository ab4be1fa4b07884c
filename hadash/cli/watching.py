"""Watching a switch or a batch until it no longer changes by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live

from hadash.cli.client import ApiError

#: Seconds between two looks.
LOOK_SECONDS = 0.3

#: Seconds without an answer after which watching ends. The switch or batch continues all the same.
SILENT_SECONDS = 60.0

#: Exit codes.
REFUSED, NO_ANSWER = 1, 3

#: Returns (the current state, the lines of its log after the line with this id).
Look = Callable[[int], tuple[dict[str, Any], list[dict[str, Any]]]]


def watched(
    look: Look,
    line: Callable[[dict[str, Any]], RenderableType],
    whole: Callable[[dict[str, Any]], RenderableType],
    going_on: Collection[str],
    out: Console,
) -> dict[str, Any]:
    """Print the log's lines and the state until the status is none of ``going_on``. Return the last state.

    :param line: renders a line of the log.
    :param whole: renders the state.
    :raises ApiError: a look was refused, or there was no answer for :data:`SILENT_SECONDS`.
    """
    last, heard = 0, time.monotonic()
    with Live(console=out, auto_refresh=False, transient=True) as live:
        while True:
            try:
                found, lines = look(last)
            except ApiError as error:
                # 503: a proxy also answers this while hadash restarts.
                away = error.lost or error.code == 503
                if not away or time.monotonic() - heard > SILENT_SECONDS:
                    raise
                time.sleep(LOOK_SECONDS)
                continue
            heard = time.monotonic()
            for each in lines:
                live.console.print(line(each))
                last = each["id"]
            live.update(whole(found), refresh=True)
            if found["status"] not in going_on:
                break
            time.sleep(LOOK_SECONDS)
    out.print(whole(found))
    return found
