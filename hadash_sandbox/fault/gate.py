"""The way of one process to one server, which can be cut: a TCP proxy on the loopback interface."""

from __future__ import annotations

import contextlib
import socket
import threading

_CHUNK = 65536


class Gate:
    """Passes connections on to ``target``; cut, it ends them and ends new ones at once.

    Its threads end with the connections that they serve; :meth:`close` ends them all.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._open = True
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, name="gate", daemon=True).start()

    @property
    def address(self) -> str:
        host, port = self._server.getsockname()
        return f"{host}:{port}"

    def cut(self) -> int:
        """From now on nothing passes; how many connections that has ended."""
        with self._lock:
            self._open = False
            ends, self._ends = self._ends, set()
        for end in ends:
            _close(end)
        return len(ends) // 2

    def open(self) -> None:
        """The end of :meth:`cut`."""
        with self._lock:
            self._open = True

    def close(self) -> None:
        self.cut()
        _close(self._server)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(self._target)
            except OSError:
                _close(client)
                continue
            with self._lock:
                passes = self._open
                if passes:
                    self._ends |= {client, server}
            if not passes:
                _close(client)
                _close(server)
                continue
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=ends, name="gate", daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        """Until one side ends; then the other one ends too."""
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                sink.sendall(data)
        with self._lock:
            self._ends -= {source, sink}
        _close(source)
        _close(sink)


def _close(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads it
    end.close()
