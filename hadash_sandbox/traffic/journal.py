"""The journal of a client process, and its reader. It has one JSON value a line.

``{"client": {...}}`` comes first and describes the process. Then:

- ``{"acked": [key, first, last, at_first, at_last]}``: records of a key that the cluster acknowledged, as a
  run of consecutive numbers (a producer).
- ``{"read": [key, first, last, at_first, at_last]}``: the same of a consumer, in the order of reading.
- ``{"gap": [began, ended]}``: a time between two acknowledgements (or two reads), of all keys together: each gap that
  is longer than :data:`GAP_SECONDS`, and the longest one since the last flush, however short.
- ``{"failed": [key, number, error]}``: a record that the client failed to deliver: the application saw an error.
- ``{"unknown": [key, number, why]}``: a record that was sent, and for whose answer the client no longer waits.
- ``{"unfinished": text}``: the client ended before it had an answer for all that it had sent, and cannot name
  those records.
- ``{"stranger": [topic, partition, offset, value]}``: a record that none of the demo's producers has written,
  with the beginning of its value (a consumer).
- ``{"damaged": [key, number, what]}``: a record that was not read as it was written (key "" and number -1 when it is
  not known which record).
- ``{"restart": why}``: the client's program ended by itself and was started again.
- ``{"note": text, "at": time}``: anything else that the application saw, such as an error event.

Times are seconds since 1970. Any other line is unreadable, and the verdict says so. A line that a process left
unfinished when it died counts as cut off.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

#: Each time without progress that is longer than this is written down at once; of the shorter ones, only the longest
#: between two flushes. (It is more than a sending interval of the demo, so that the journal stays short.)
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
    """Writes a client's journal. The client has to call ``flush`` from time to time. Any thread may write."""

    def __init__(self, path: Path, kind: str, client: dict[str, Any]) -> None:
        cut_off = _cut_off(path)
        self._file = path.open("a", encoding="utf-8")
        if cut_off:
            self._file.write("\n")  # do not continue the line that an earlier process left unfinished
        self._kind = kind
        self._open: dict[str, list[Any]] = {}
        self._last_progress: float | None = None
        #: The longest time without progress since the last flush that is not written yet.
        self._longest: tuple[float, float] | None = None
        self._lock = threading.RLock()
        self._write({"client": client})

    def _write(self, value: dict[str, Any]) -> None:
        with self._lock:
            self._file.write(json.dumps(value, ensure_ascii=False) + "\n")

    def progress(self, key: str, number: int) -> None:
        """Note that one more record was acknowledged or read."""
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
        """Note a record that was not delivered: the application saw an error."""
        self._write({"failed": [key, number, error]})

    def unknown(self, key: str, number: int, why: str) -> None:
        """Note a record that was sent, without an answer: it is not known whether the cluster has it."""
        self._write({"unknown": [key, number, why]})

    def unfinished(self, text: str) -> None:
        """Note that the client ended with records in flight whose numbers are not known."""
        self._write({"unfinished": text})

    def stranger(self, topic: str, partition: int, offset: int, value: bytes | None) -> None:
        """Note that a record of another program was read."""
        shown = (value or b"").decode("utf-8", "replace")[:STRANGER_CHARACTERS]
        self._write({"stranger": [topic, partition, offset, shown]})

    def damaged(self, key: str, number: int, what: str) -> None:
        """Note a record that was not read as it was written."""
        self._write({"damaged": [key, number, what]})

    def restart(self, why: str) -> None:
        """Note that the client's program ended by itself and is started again."""
        self._write({"restart": why})

    def note(self, text: str) -> None:
        """Note anything else that the application saw."""
        self._write({"note": text, "at": time.time()})

    def flush(self) -> None:
        """Write the open runs, so that the file has everything so far."""
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
    """Everything that one client wrote, over all its starts; see the module for each kind of line."""

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
    #: Number of lines so far.
    lines: int = 0
    #: Numbers, from 1, of lines that cannot be read.
    unreadable: list[int] = field(default_factory=list)
    #: Numbers, from 1, of lines with which a process began.
    starts: list[int] = field(default_factory=list)
    #: Whether the file ends within a line, which is being written, or which its process left unfinished.
    ends_within_line: bool = False

    def add(self, line: str | bytes) -> None:
        """Add one complete line; of an unreadable one, only its number is noted."""
        self.lines += 1
        try:
            self._take(json.loads(line))
        except (ValueError, TypeError, KeyError, IndexError):
            self.unreadable.append(self.lines)

    def _take(self, value: dict[str, Any]) -> None:
        """Add the value of a line.

        :raises ValueError: it is no line of a journal; TypeError, KeyError and IndexError are raised too.
        """
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
        """Numbers of lines that a process left unfinished: the next line is another process's first, or missing."""
        last = [self.lines + 1] if self.ends_within_line else []
        return [line for line in self.unreadable if line + 1 in self.starts] + last

    @property
    def corrupt(self) -> list[int]:
        """Numbers of unreadable lines after which the same process wrote more."""
        return [line for line in self.unreadable if line + 1 not in self.starts]


def _run(key: str, first: int, last: int, began: float, ended: float) -> Run:
    return Run(str(key), int(first), int(last), float(began), float(ended))


def _record(key: str, number: int, why: str) -> tuple[str, int, str]:
    return str(key), int(number), str(why)


def load(path: Path) -> Journal:
    """Read a whole journal once.

    :raises FileNotFoundError: there is none.
    """
    return Follower(path).journal()


class Follower:
    """Reads a growing journal: each call reads only the new lines, so that hours of journal can be polled."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._journal = Journal(path.stem)

    def journal(self) -> Journal:
        """The journal with all complete lines so far.

        :raises FileNotFoundError: there is no file yet.
        """
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
