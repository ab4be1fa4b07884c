"""``python -m hadash_sandbox.bench.gateway.flood``: a stranger that never signs in, as a process of its own.

It opens connections, sends useless requests, hangs up, and begins again. At its end it prints, as JSON, how many
connections it opened and how many bytes it sent.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
import threading
import time
from contextlib import suppress

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.wire import framed

#: An API_VERSIONS request of 14 bytes: the smallest request that is answered.
FRAME = framed(struct.pack(">hhih", ApiKey.API_VERSIONS, 0, 1, 0))

#: What a connection sends: 280 kB in one go.
FLOOD = FRAME * 20_000

#: Seconds that opening a connection, or sending on it, may take.
PATIENCE_SECONDS = 5.0

#: By kind of stranger, the bytes that it sends on a connection.
KINDS: dict[str, bytes] = {"floods": FLOOD, "comes and goes": FRAME}


class Stranger:
    """Sends ``data`` on one connection after another; ``opened`` and ``sent`` are the counts of all its threads."""

    def __init__(self, address: tuple[str, int], data: bytes) -> None:
        self._address = address
        self._data = data
        self._lock = threading.Lock()
        self.opened = 0
        self.sent = 0

    def run(self, until: float) -> None:
        """Run one thread until ``until``, on the monotonic clock."""
        while time.monotonic() < until:
            sent = opened = 0
            with suppress(OSError), socket.create_connection(self._address, PATIENCE_SECONDS) as connection:
                opened = 1
                while sent < len(self._data):
                    sent += connection.send(self._data[sent : sent + 65_536])
            with self._lock:
                self.opened += opened
                self.sent += sent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--kind", choices=KINDS, default="floods")
    parser.add_argument("--connections", type=int, default=16, help="at once")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--core", type=int, default=-1, help="the core that it stays on")
    options = parser.parse_args()
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    stranger = Stranger((options.host, options.port), KINDS[options.kind])
    began = time.monotonic()
    until = began + options.seconds
    threads = [threading.Thread(target=stranger.run, args=(until,)) for _ in range(options.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began
    print(json.dumps({"opened": stranger.opened, "sent": stranger.sent, "seconds": seconds}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
