"""The watchdog of systemd: it restarts a unit that has not reported for ``WatchdogSec=`` that it is well
(``sd_notify(3)``, ``WATCHDOG=1``).

Nothing else would restart it: systemd reads no health page, and a worker that hangs has not ended.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

log = logging.getLogger(__name__)

#: How often the process reports within the time that systemd waits; ``sd_watchdog_enabled(3)`` asks for two.
TIMES = 3


@dataclass(frozen=True, slots=True)
class Watchdog:
    """``address``: systemd's socket, empty where no watchdog is set. ``seconds``: how long systemd waits."""

    address: str = ""
    seconds: float = 0.0

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] | None = None, pid: int | None = None) -> Watchdog:
        """Return the watchdog that systemd has set for this process.
        >>> unit = {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"}
        >>> Watchdog.of_environment(unit, pid=7)
        Watchdog(address='/run/notify', seconds=60.0)
        >>> Watchdog.of_environment(unit, pid=8), Watchdog.of_environment({})  # another process is meant; no systemd
        (Watchdog(address='', seconds=0.0), Watchdog(address='', seconds=0.0))
        """
        said = os.environ if environment is None else environment
        address, microseconds = said.get("NOTIFY_SOCKET", ""), said.get("WATCHDOG_USEC", "")
        meant = said.get("WATCHDOG_PID", "")
        if not address or not microseconds.isdigit():
            return cls()
        if meant and meant != str(os.getpid() if pid is None else pid):
            return cls()
        return cls(address, int(microseconds) / 1e6)

    def start(self, is_stuck: Callable[[], bool]) -> threading.Event:
        """Report in a thread until the process ends, also while it finishes its last tasks, but not while
        ``is_stuck``.

        :returns: an event that ends the reports when it is set.
        """
        ended = threading.Event()
        if self.address:
            threading.Thread(target=self._go_on, args=(is_stuck, ended), name="watchdog", daemon=True).start()
        return ended

    def _go_on(self, is_stuck: Callable[[], bool], ended: threading.Event) -> None:
        while not ended.is_set():
            if not is_stuck():
                self.say()
            ended.wait(self.seconds / TIMES)

    def say(self) -> None:
        """Report once that the process is well."""
        # An address that begins with @ is in the abstract namespace.
        address = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notify:
                notify.sendto(b"WATCHDOG=1", address)
        except OSError as error:
            log.warning("systemd was not told that this process is well: %s", error)
