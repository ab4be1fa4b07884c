"""What ``make fault-pool`` and ``make fault-auditors`` do to a process or a server: kill it, or let it stand still."""

from __future__ import annotations

import time

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.processes import Process
from hadash_sandbox.service import Service

KILL, PAUSE = "SIGKILL", "SIGSTOP"
HOWS = (KILL, PAUSE)

#: Seconds that something is paused: longer than a session of ZooKeeper (6 s) and than the coordinator's patience.
PAUSE_SECONDS = 9.0
#: Seconds after which something that was killed is started again.
DOWN_SECONDS = 1.0


def strike(struck: Process | Service, how: str) -> None:
    """Kill a process, or all of a server's, and start it again; or pause and resume it. Returns when it is there again.

    :param how: one of :data:`HOWS`.
    :raises SandboxError: it is dead already, or did not come up again.
    """
    processes = struck.processes if isinstance(struck, Service) else [struck]
    if dead := [process.name for process in processes if not process.alive]:
        raise SandboxError(f"{', '.join(dead)} has ended before it was struck.")
    if how == PAUSE:
        for process in processes:
            process.pause()
        time.sleep(PAUSE_SECONDS)
        for process in processes:
            process.resume()
        return
    for process in processes:
        process.kill()
    time.sleep(DOWN_SECONDS)
    if isinstance(struck, Service):
        struck.start(lambda _: None)
    else:
        struck.start()
