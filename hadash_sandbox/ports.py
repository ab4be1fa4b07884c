"""Loopback ports: chosen once, kept in the data folder, checked at every start."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from hadash_sandbox.errors import SandboxError

HOST = "127.0.0.1"

# Below Linux's ephemeral range (32768 and up), so that no outgoing connection can hold one of the stored ports when
# the stack is started again.
FIRST, LAST = 19000, 32000


def allocate(names: Iterable[str], store: Path, avoid: Iterable[int] = ()) -> dict[str, int]:
    """Return one distinct free port per name; names that `store` knows keep their port.

    `avoid` are ports that another program will listen on later.

    :raises SandboxError: `store` is damaged, or too few ports are free.
    """
    wanted = list(names)
    known = _read(store)
    missing = [name for name in wanted if name not in known]
    if missing:
        known.update(zip(missing, _free_block(len(missing), {*known.values(), *avoid}), strict=True))
        store.parent.mkdir(parents=True, exist_ok=True)
        part = store.with_suffix(".part")
        part.write_text(json.dumps(known, indent=2) + "\n")
        part.replace(store)
    return {name: known[name] for name in wanted}


def check(ports: Mapping[str, int], grace: float = 0.0) -> None:
    """Check that no other process holds one of these ports.

    `grace`: seconds for the children of a killed earlier run, which need a moment to die.

    :raises SandboxError: a port is still held.
    """
    deadline = time.monotonic() + grace
    for name, port in ports.items():
        while not is_free(port):
            if time.monotonic() >= deadline:
                holder = _holder(port)
                who = f" (pid {holder})" if holder else ""
                raise SandboxError(
                    f"Port {port} ({name}) is in use by another process{who}. "
                    "Stop that process, or run `make demo-reset` to choose new ports."
                )
            time.sleep(0.1)


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        # A port with connections in TIME_WAIT is free for a server; one with a listener is not.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((HOST, port))
        except OSError:
            return False
    return True


def is_listening(port: int) -> bool:
    """Whether a server accepts connections on this loopback port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.settimeout(1.0)
        return sock.connect_ex((HOST, port)) == 0


def _free_block(count: int, taken: set[int]) -> list[int]:
    """Find `count` consecutive free ports: 24400 to 24405 is easy to remember."""
    for _ in range(200):
        start = random.randrange(FIRST, LAST - count, 10)
        block = list(range(start, start + count))
        if not taken.intersection(block) and all(is_free(port) for port in block):
            return block
    raise SandboxError(
        f"No {count} consecutive free ports were found between {FIRST} and {LAST}. "
        "Stop some of the servers that listen there."
    )


def _holder(port: int) -> int | None:
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.Error:
        return None
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
            pid: int | None = connection.pid  # None if the process belongs to another user
            return pid
    return None


def _read(store: Path) -> dict[str, int]:
    try:
        content = json.loads(store.read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        content = None
    if not isinstance(content, dict) or not all(isinstance(p, int) for p in content.values()):
        raise SandboxError(f"The port file {store} is damaged. Delete it and start again.")
    return content
