"""What a client process writes down, and how it is read back. One JSON value a line.

``{"client": {...}}`` comes first and names the process. Then:

- ``{"acked": [key, first, last, at_first, at_last]}``: records of a key that the cluster acknowledged, as a run of
  consecutive numbers (a producer).
- ``{"read": [key, first, last, at_first, at_last]}``: the same of a consumer, in the order of reading.
- ``{"gap": [began, ended]}``: a time without any acknowledgement (any record) that was longer than usual.
- ``{"failed": [key, number, error]}``: a record that the client gave up: the application saw an error.
- ``{"note": text}``: anything else that the application saw, such as an error event.

Times are seconds since 1970.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

#: A time without progress that is longer than this is written down: more than a sending interval of the demo.
GAP_SECONDS = 0.08


class Run(NamedTuple):
    """Consecutive numbers of one key."""

    key: str
    first: int
    last: int
    began: float
    ended: float


class Writer:
    """A client's journal; ``flush`` is called once in a while by the client. Any thread may write."""

    def __init__(self, path: Path, kind: str, client: dict[str, Any]) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._kind = kind
        self._open: dict[str, list[Any]] = {}
        self._last_progress: float | None = None
        self._lock = threading.RLock()
        self._write({"client": client})

    def _write(self, value: dict[str, Any]) -> None:
        with self._lock:
            self._file.write(json.dumps(value, ensure_ascii=False) + "\n")

    def progress(self, key: str, number: int) -> None:
        """One record more was acknowledged or read."""
        with self._lock:
            self._progress(key, number, time.time())

    def _progress(self, key: str, number: int, now: float) -> None:
        if self._last_progress is not None and now - self._last_progress > GAP_SECONDS:
            self._write({"gap": [self._last_progress, now]})
        self._last_progress = now
        run = self._open.get(key)
        if run is not None and run[2] + 1 == number:
            run[2], run[4] = number, now
            return
        if run is not None:
            self._write({self._kind: run})
        self._open[key] = [key, number, number, now, now]

    def failed(self, key: str, number: int, error: str) -> None:
        self._write({"failed": [key, number, error]})

    def note(self, text: str) -> None:
        self._write({"note": text, "at": time.time()})

    def flush(self) -> None:
        """Write the open runs, so that a reader of the file knows everything so far."""
        with self._lock:
            for run in self._open.values():
                self._write({self._kind: run})
            self._open.clear()
            self._file.flush()

    def close(self) -> None:
        self.flush()
        self._file.close()


@dataclass
class Journal:
    """Everything that one client wrote, over all its starts."""

    name: str
    clients: list[dict[str, Any]] = field(default_factory=list)
    acked: list[Run] = field(default_factory=list)
    read: list[Run] = field(default_factory=list)
    gaps: list[tuple[float, float]] = field(default_factory=list)
    failed: list[tuple[str, int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        """Take in one line; one that is no JSON (it was cut off) is left out."""
        try:
            value = json.loads(line)
        except ValueError:
            return
        if "client" in value:
            self.clients.append(value["client"])
        elif "acked" in value:
            self.acked.append(Run(*value["acked"]))
        elif "read" in value:
            self.read.append(Run(*value["read"]))
        elif "gap" in value:
            self.gaps.append((value["gap"][0], value["gap"][1]))
        elif "failed" in value:
            self.failed.append((value["failed"][0], value["failed"][1], value["failed"][2]))
        elif "note" in value:
            self.notes.append(value["note"])


def load(path: Path) -> Journal:
    """Read a journal; a last line that is cut off (the client is writing it) is left out."""
    return Follower(path).journal()


class Follower:
    """Reads a journal that grows: each time only what is new, so that hours of it can be looked at again and again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._journal = Journal(path.stem)

    def journal(self) -> Journal:
        """All of it so far, but for a last line that is not complete yet. :raises FileNotFoundError: there is none."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        complete = new[: new.rfind(b"\n") + 1]
        self._read += len(complete)
        for line in complete.decode().split("\n"):
            self._journal.add(line)
        return self._journal
