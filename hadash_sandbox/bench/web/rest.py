"""When a demo has come to rest."""

from __future__ import annotations

import time

import psutil

#: A demo is at rest when it needs no more than so many percent of the machine for so many seconds; how long
#: that is waited for.
REST_PERCENT, REST_SECONDS, REST_LIMIT_SECONDS = 25.0, 10.0, 180.0


def await_rest() -> float:
    """Seconds until the machine was idle but for what a demo always does: what has just started is still
    looking at everything for the first time. One that never rests is measured as it is, and the seconds say
    so.
    """
    began = time.monotonic()
    while psutil.cpu_percent(interval=REST_SECONDS) > REST_PERCENT:
        if time.monotonic() - began > REST_LIMIT_SECONDS:
            break
    return time.monotonic() - began
