"""PRODUCE requests at a fixed pace, and the latency of each."""

from __future__ import annotations

import asyncio
import time

from hadash_sandbox.bench.raw import RawConnection, check_written


async def paced(connection: RawConnection, request: bytes, seconds: float, a_second: int) -> list[float]:
    """Send ``a_second`` requests a second, without waiting for earlier answers; return the latencies in seconds.

    :raises SandboxError: a request was refused, which would be no latency of a write.
    """
    latencies: list[float] = []
    pending = []
    start = time.perf_counter()
    for number in range(int(seconds * a_second)):
        due = start + number / a_second
        delay = due - time.perf_counter()
        if delay > 0:
            await asyncio.sleep(delay)
        sent = time.perf_counter()
        answered = connection.send(request)
        answered.add_done_callback(lambda _, sent=sent: latencies.append(time.perf_counter() - sent))  # type: ignore[misc]
        pending.append(answered)
    check_written(await asyncio.gather(*pending))
    return latencies
