"""What a client process writes down, and how it is read back. One JSON value a line.

``{"client": {...}}`` comes first and names the process. Then:

- ``{"acked": [key, first, last, at_first, at_last]}``: records of a key that the cluster acknowledged, as a
  run of consecutive numbers (a producer).
- ``{"read": [key, first, last, at_first, at_last]}``: the same of a consumer, in the order of reading.
- ``{"gap": [began, ended]}``: a time between two acknowledgements (two records), of all keys together: each
  that is longer than
  :data:`GAP_SECONDS`, and the longest one since the last flush, however short.
- ``{"failed": [key, number, error]}``: a record that the client gave up: the application saw an error.
- ``{"unknown": [key, number, why]}``: a record that was sent, and the client ended its wait for an answer.
- ``{"unfinished": text}``: the client ended before it had an answer for all that it had sent, and cannot name
  those records.
- ``{"stranger": [topic, partition, offset, value]}``: a record that none of the demo's producers has written,
  with the beginning of its value (a consumer).
- ``{"damaged": [key, number, what]}``: a record that was not read as it was written (key "" and -1: nobody
  knows which).
- ``{"restart": why}``: the client's program ended by itself and was started again.
- ``{"note": text}``: anything else that the application saw, such as an error event.

Times are seconds since 1970. A line that is nothing of this cannot be read, and the verdict says so; a line that a
process left unfinished when it died counts as cut off.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

#: A time without progress that is longer than this is written down at once, with every other one like it; of the
#: shorter ones the longest between two flushes. (More than a sending interval of the demo, so that the journal stays
#: short.)
GAP_SECONDS = 0.08


#: Characters of a stranger's value that are written down.
STRANGER_CHARACTERS = 80


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
        cut_off = _cut_off(path)
        self._file = path.open("a", encoding="utf-8")
        if cut_off:
            self._file.write(
                "\n"
            )  # what this process writes does not continue what another one left unfinished
        self._kind = kind
        self._open: dict[str, list[Any]] = {}
        self._last_progress: float | None = None
        #: The longest time without progress since the last flush, of those that are not written yet.
        self._longest: tuple[float, float] | None = None
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
        if self._last_progress is not None:
            self._note_gap(self._last_progress, now)
        self._last_progress = now
        run = self._open.get(key)
        if run is not None and run[2] + 1 == number:
            run[2], run[4] = number, now
            return
        if run is not None:
            self._write({self._kind: run})
        self._open[key] = [key, number, number, now, now]

    def _note_gap(self, began: float, ended: float) -> None:
        if ended - began > GAP_SECONDS:
            self._write({"gap": [began, ended]})
        elif self._longest is None or ended - began > self._longest[1] - self._longest[0]:
            self._longest = began, ended

    def failed(self, key: str, number: int, error: str) -> None:
        self._write({"failed": [key, number, error]})

    def unknown(self, key: str, number: int, why: str) -> None:
        """The record was sent, and whether the cluster has it is not known."""
        self._write({"unknown": [key, number, why]})

    def unfinished(self, text: str) -> None:
        """Records were sent of which nothing is known, not even their numbers."""
        self._write({"unfinished": text})

    def stranger(self, topic: str, partition: int, offset: int, value: bytes | None) -> None:
        """Somebody else's record was read."""
        shown = (value or b"").decode("utf-8", "replace")[:STRANGER_CHARACTERS]
        self._write({"stranger": [topic, partition, offset, shown]})

    def damaged(self, key: str, number: int, what: str) -> None:
        self._write({"damaged": [key, number, what]})

    def restart(self, why: str) -> None:
        self._write({"restart": why})

    def note(self, text: str) -> None:
        self._write({"note": text, "at": time.time()})

    def flush(self) -> None:
        """Write the open runs, so that a reader of the file knows everything so far."""
        with self._lock:
            for run in self._open.values():
                self._write({self._kind: run})
            self._open.clear()
            if self._longest is not None:
                self._write({"gap": list(self._longest)})
                self._longest = None
            self._file.flush()

    def close(self) -> None:
        self.flush()
        self._file.close()


def _cut_off(path: Path) -> bool:
    """Whether the file ends within a line."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


@dataclass
class Journal:
    """Everything that one client wrote, over all its starts."""

    name: str
    clients: list[dict[str, Any]] = field(default_factory=list)
    acked: list[Run] = field(default_factory=list)
    read: list[Run] = field(default_factory=list)
    gaps: list[tuple[float, float]] = field(default_factory=list)
    failed: list[tuple[str, int, str]] = field(default_factory=list)
    unknown: list[tuple[str, int, str]] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    strangers: list[tuple[str, int, int, str]] = field(default_factory=list)
    damaged: list[tuple[str, int, str]] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Lines so far, from 1; those that cannot be read; and those with which a process began.
    lines: int = 0
    unreadable: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    #: Whether the file ends within a line: one that is being written, or that its process left unfinished.
    ends_within_line: bool = False

    def add(self, line: str | bytes) -> None:
        """Take in one complete line; one that cannot be read is noted by its number."""
        self.lines += 1
        try:
            self._take(json.loads(line))
        except (ValueError, TypeError, KeyError, IndexError):
            self.unreadable.append(self.lines)

    def _take(self, value: dict[str, Any]) -> None:
        """:raises ValueError: it is no line of a journal; TypeError, KeyError and IndexError too."""
        if "client" in value:
            self.clients.append(value["client"])
            self.starts.append(self.lines)
        elif "acked" in value:
            self.acked.append(_run(*value["acked"]))
        elif "read" in value:
            self.read.append(_run(*value["read"]))
        elif "gap" in value:
            self.gaps.append((float(value["gap"][0]), float(value["gap"][1])))
        elif "failed" in value:
            self.failed.append(_record(*value["failed"]))
        elif "unknown" in value:
            self.unknown.append(_record(*value["unknown"]))
        elif "unfinished" in value:
            self.unfinished.append(value["unfinished"])
        elif "stranger" in value:
            topic, partition, offset, shown = value["stranger"]
            self.strangers.append((str(topic), int(partition), int(offset), str(shown)))
        elif "damaged" in value:
            self.damaged.append(_record(*value["damaged"]))
        elif "restart" in value:
            self.restarts.append(str(value["restart"]))
        elif "note" in value:
            self.notes.append(value["note"])
        else:
            raise ValueError("nothing of what a client writes down")

    @property
    def cut_off(self) -> list[int]:
        """Lines that a process left unfinished: the next line is the start of another one, or there is none."""
        last = [self.lines + 1] if self.ends_within_line else []
        return [line for line in self.unreadable if line + 1 in self.starts] + last

    @property
    def corrupt(self) -> list[int]:
        """Lines that cannot be read although the process that wrote them went on."""
        return [line for line in self.unreadable if line + 1 not in self.starts]


def _run(key: str, first: int, last: int, began: float, ended: float) -> Run:
    return Run(str(key), int(first), int(last), float(began), float(ended))


def _record(key: str, number: int, why: str) -> tuple[str, int, str]:
    return str(key), int(number), str(why)


def load(path: Path) -> Journal:
    """Read a journal so far; see :class:`Follower`."""
    return Follower(path).journal()


class Follower:
    """Reads a journal that grows: each time only what is new, so that hours of it can be looked at again and again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._journal = Journal(path.stem)

    def journal(self) -> Journal:
        """All complete lines so far. :raises FileNotFoundError: there is none."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        complete, newline, rest = new.rpartition(b"\n")
        if newline:
            self._read += len(complete) + 1
            for line in complete.split(b"\n"):
                self._journal.add(line)
        self._journal.ends_within_line = bool(rest)
        return self._journal
