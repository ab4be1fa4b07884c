"""Keeps data that cannot be counted, with the reason, so that somebody can look at it. It never stops a job.

``quarantine/files/<name>`` is a file that cannot be read, moved there unchanged, with ``<name>.reason`` beside
it. ``quarantine/rows/date=…/part-….parquet`` are invalid rows of a day, with one more column, ``reason``.
``quarantine/lines/date=…/<batch>.json`` are parts of imports that could not be read, with reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from hadash.identity.names import file_name
from hadash.lake.store import Store

FOLDER = "quarantine"
FILES, ROWS, LINES = f"{FOLDER}/files", f"{FOLDER}/rows", f"{FOLDER}/lines"

_REASON = ".reason"

#: Characters of an unreadable part, and parts of a batch, that are kept at most: enough to see what is wrong.
MOST_TEXT, MOST_LINES = 10_000, 1000


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A part of an import (a line, an entry) as it came, and why it could not be read."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class PutAside:
    """A file in the quarantine: its former name, and the reason."""

    name: str
    reason: str
    size: int


def put_aside(store: Store, name: str, reason: str) -> None:
    """Move a file into the quarantine. The reason is written first, so that no file is ever without one."""
    place = f"{FILES}/{name}"
    store.write_json(f"{place}{_REASON}", {"name": name, "reason": reason})
    try:
        store.move(name, place)
    except FileNotFoundError:
        store.delete(f"{place}{_REASON}")  # the file was deleted meanwhile


def files(store: Store) -> list[PutAside]:
    """Return the files in the quarantine, by name."""
    found = store.files(FILES, deep=True)
    aside = []
    for place, size in found.items():
        if not place.endswith(_REASON):
            said = store.read_json(f"{place}{_REASON}") or {}
            aside.append(PutAside(place.removeprefix(f"{FILES}/"), str(said.get("reason", "")), size))
    return aside


def lines(store: Store) -> list[str]:
    """Return the names of the files with unreadable parts of imports, by day."""
    return list(store.files(LINES, deep=True))


def reasons(store: Store, files: Sequence[str], most: int) -> list[str]:
    """Return the reasons why parts of imports could not be read, each once, at most ``most``.

    :param files: names from :func:`lines`.
    """
    found: dict[str, None] = {}
    for name in files:
        for line in store.read_json(name) or []:
            found[str(line["reason"])] = None
            if len(found) == most:
                return list(found)
    return list(found)


def put_lines_aside(store: Store, batch: str, day: date, lines: Sequence[Unreadable]) -> None:
    """Store the unreadable parts of a batch, replacing earlier ones of the same batch.

    :param day: the day of the batch: the parts expire with its reports.
    """
    place = f"{LINES}/date={day.isoformat()}/{file_name(batch)}.json"
    if lines:
        told = [
            {"text": line.text[:MOST_TEXT], "reason": line.reason[:MOST_TEXT]} for line in lines[:MOST_LINES]
        ]
        if len(lines) > MOST_LINES:
            told.append({"text": "", "reason": f"And {len(lines) - MOST_LINES} more."})
        store.write_json(place, told)
    else:
        store.delete(place)
