"""A TCP proxy on the loopback interface, between one process and one server, that can be cut."""

from __future__ import annotations

import contextlib
import socket
import threading

_CHUNK = 65536


class Gate:
    """Forwards connections to ``target``. While it is cut, all connections are closed, new ones at once.

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
        """host:port on which it listens."""
        host, port = self._server.getsockname()
        return f"{host}:{port}"

    def cut(self) -> int:
        """Close all connections, and new ones at once; return the number of those that were closed."""
        with self._lock:
            self._open = False
            ends, self._ends = self._ends, set()
        for end in ends:
            _close(end)
        return len(ends) // 2

    def open(self) -> None:
        """Forward connections again, after :meth:`cut`."""
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
        """Copy bytes until one side ends the connection; then close both."""
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                sink.sendall(data)
        with self._lock:
            self._ends -= {source, sink}
        _close(source)
        _close(sink)


def _close(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads from it
    end.close()
