"""Waits until a demo has come to rest."""

from __future__ import annotations

import time

import psutil

#: A demo is at rest when the machine is no busier than so many percent for so many seconds; and seconds to wait for
#: that.
REST_PERCENT, REST_SECONDS, REST_LIMIT_SECONDS = 25.0, 10.0, 180.0


def await_rest() -> float:
    """Wait until a demo that has just started does only its regular work; return the seconds that took.

    After :data:`REST_LIMIT_SECONDS` a demo that does not rest is measured all the same, and the seconds tell.
    """
    began = time.monotonic()
    while psutil.cpu_percent(interval=REST_SECONDS) > REST_PERCENT:
        if time.monotonic() - began > REST_LIMIT_SECONDS:
            break
    return time.monotonic() - began
