"""Kills the remaining children of the sandbox when the sandbox itself has ended, for whatever reason.

The kernel's parent-death signal ends each child, but not the child's own children (Celery's pool, a Gateway's
workers), and not on every system. So while children run, this small program runs too: its stdin is a pipe from the
sandbox, which closes when the sandbox ends. It then kills all sessions that it was told of.

It is run by path, isolated from the site packages, so it may import the standard library only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

# Time for servers that end themselves on a parent-death signal of their own choice (PostgreSQL).
GRACE_SECONDS = 2.0


class Guard:
    """The sandbox's end of the pipe. The program runs only while there is a session to look after."""

    def __init__(self) -> None:
        self._sessions: set[int] = set()
        self._lock = threading.Lock()
        self._popen: subprocess.Popen[bytes] | None = None

    def add(self, session: int) -> None:
        """Have a session killed when this process ends; start the program if it does not run."""
        with self._lock:
            self._sessions.add(session)
            if self._popen is None or self._popen.poll() is not None:
                self._popen = _launch()
                for known in self._sessions:
                    self._tell(f"+{known}")
            else:
                self._tell(f"+{session}")

    def remove(self, session: int) -> None:
        """Forget a session that has ended; end the program after the last one."""
        with self._lock:
            if session not in self._sessions or self._popen is None:
                return
            self._sessions.discard(session)
            self._tell(f"-{session}")
            if not self._sessions:
                assert self._popen.stdin is not None
                self._popen.stdin.close()
                self._popen.wait()
                self._popen = None

    def _tell(self, line: str) -> None:
        assert self._popen is not None
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.write(line.encode() + b"\n")
            self._popen.stdin.flush()
        except BrokenPipeError:
            self._popen.wait()  # somebody killed it; the next add() starts another


def _launch() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,  # Ctrl-C in the terminal is not for it
    )


def main() -> None:
    """Read the pipe to its end, then kill every session that is still on the list."""
    sessions: set[int] = set()
    for line in sys.stdin:
        session = int(line[1:])
        if line[0] == "+":
            sessions.add(session)
        else:
            sessions.discard(session)
    if sessions:
        time.sleep(GRACE_SECONDS)
    for session in sessions:
        try:
            os.killpg(session, signal.SIGKILL)
        except OSError:
            continue


if __name__ == "__main__":
    main()
