"""What a coordinator and a member do all the time: look, then wait until it is time to look again."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from kazoo.client import KazooClient


class LookLoop(ABC):
    """Looks again and again, and at once when it is woken, until it is told to stop.

    :param client: a connected client: when its session changes, it looks at once.
    """

    def __init__(self, client: KazooClient) -> None:
        self._client = client
        self._wake = threading.Event()
        self._stop = threading.Event()

    @abstractmethod
    def look(self) -> float:
        """Look once; return the seconds until the next look."""

    @abstractmethod
    def end(self) -> None:
        """Leave in order, so that others can go on at once."""

    def wake(self, _event: object = None) -> None:
        """Look at once: something may have changed."""
        self._wake.set()

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()

    def run(self) -> None:
        """Look until :meth:`stop` is called; then :meth:`end`."""
        self._client.add_listener(self.wake)
        try:
            while not self._stop.is_set():
                self._wake.clear()
                self._wake.wait(self.look())
        finally:
            self._client.remove_listener(self.wake)
            self.end()
