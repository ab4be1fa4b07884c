"""Runs clients of a Python library, each in a thread, until SIGTERM: ``python -m … BOOTSTRAP FILE``.

The file has one client a line, in the format of Clients.java: role, Topic, group and settings, with tabs between them.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Client:
    """One client. ``settings``: as in the file, with the library's names."""

    bootstrap: str
    role: str
    topic: str
    group: str
    settings: dict[str, str]


def run_all(run: Callable[[Client, threading.Event], None]) -> None:
    """Run the clients that the command line names, each by ``run``, which returns when the event is set."""
    bootstrap, path = sys.argv[1:]
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    threads = []
    for line in Path(path).read_text().splitlines():
        role, topic, group, *settings = line.split("\t")
        client = Client(bootstrap, role, topic, group, dict(setting.split("=", 1) for setting in settings))
        threads.append(threading.Thread(target=run, args=(client, stopping)))
        threads[-1].start()
    for thread in threads:
        thread.join()
