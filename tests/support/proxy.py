"""A network in between that can be cut, held or closed: what a test does to a connection."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from functools import partial
from types import TracebackType


class Proxy:
    """Forwards TCP connections to ``target`` from a thread of its own, until told otherwise.

    :param receive_bytes: what its machine takes of a connection before it is read; ``None`` for the kernel's choice.
    """

    def __init__(self, target: tuple[str, int], receive_bytes: int | None = None) -> None:
        self._target = target
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._answers = threading.Event()
        self._answers.set()
        self._requests = threading.Event()
        self._requests.set()
        self._pumps: list[threading.Thread] = []
        self._open = True
        #: What the target's answers say in place of what it says: a fault that a real one does not make on demand.
        self.instead: dict[bytes, bytes] = {}
        #: Connections that were opened through it so far.
        self.opened = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        if receive_bytes is not None:
            self._server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._server.close()
        self.reset()

    def hold(self) -> None:
        """Keep back what the target answers from now on; nothing is lost."""
        self._answers.clear()

    def stall(self) -> None:
        """Read nothing any more that comes for the target, as a machine that has stopped. (What is being read at this
        moment still passes.)"""
        self._requests.clear()

    def hand_over(self) -> None:
        """What was held, and what comes from now on."""
        self._answers.set()

    def release(self) -> None:
        """Hand over what was held, and go on, with what the target itself says."""
        self.instead = {}
        self.hand_over()
        self._requests.set()

    def busy(self) -> int:
        """Directions in which something can still pass."""
        return sum(pump.is_alive() for pump in self._pumps)

    def reset(self) -> None:
        """End all connections at once, as a machine that dies and comes back (RST on both sides)."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                _reset(end)

    def refuse(self) -> None:
        """End all connections, and accept new ones only to end them too."""
        self._open = False
        self.reset()

    def accept(self) -> None:
        """The end of :meth:`refuse`."""
        self._open = True

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            if not self._open:
                _reset(client)
                continue
            try:
                target = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._pairs.append((client, target))
                self.opened += 1
            for work in (partial(self._ask, client, target), partial(self._answer, target, client)):
                pump = threading.Thread(target=work, daemon=True)
                self._pumps.append(pump)
                pump.start()

    def _ask(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while self._requests.wait() and (data := source.recv(65536)):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _answer(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._answers.wait()
                for said, instead in self.instead.items():
                    data = data.replace(said, instead)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


def _reset(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RD)  # wakes the thread that reads it
    with contextlib.suppress(OSError):
        end.close()
