"""What cannot be counted is kept aside with the reason, where somebody can look at it; it never stops anything.

``quarantine/files/<name>`` is a file that cannot be read, moved there as it came, with ``<name>.reason``
beside it. ``quarantine/rows/date=…/part-….parquet`` are the rows of a day that make no sense, with one more
column, ``reason``. ``quarantine/lines/date=…/<batch>.json`` are the parts of what was imported that no report
could be made of, with reasons.
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

#: Of what cannot be read so many characters and parts are kept: enough to see what is wrong; whoever sent it
#: has all of it.
MOST_TEXT, MOST_LINES = 10_000, 1000


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A part of something imported (a line, an entry), as it came, and why no report could be made of it."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class PutAside:
    """A file in the quarantine: where it was, and why it is here."""

    name: str
    reason: str
    size: int


def put_aside(store: Store, name: str, reason: str) -> None:
    """Move a file into the quarantine. The reason first: a file without one would be a riddle."""
    place = f"{FILES}/{name}"
    store.write_json(f"{place}{_REASON}", {"name": name, "reason": reason})
    try:
        store.move(name, place)
    except FileNotFoundError:
        store.delete(f"{place}{_REASON}")  # somebody has taken it away meanwhile


def files(store: Store) -> list[PutAside]:
    """What is in the quarantine, by name."""
    found = store.files(FILES, deep=True)
    aside = []
    for place, size in found.items():
        if not place.endswith(_REASON):
            said = store.read_json(f"{place}{_REASON}") or {}
            aside.append(PutAside(place.removeprefix(f"{FILES}/"), str(said.get("reason", "")), size))
    return aside


def lines(store: Store) -> list[str]:
    """The files of what could not be read of imported batches, by day."""
    return list(store.files(LINES, deep=True))


def reasons(store: Store, files: Sequence[str], most: int) -> list[str]:
    """Why parts of imported batches could not be read, each reason once, ``most`` of them at most.

    :param files: of :func:`lines`.
    """
    found: dict[str, None] = {}
    for name in files:
        for line in store.read_json(name) or []:
            found[str(line["reason"])] = None
            if len(found) == most:
                return list(found)
    return list(found)


def put_lines_aside(store: Store, batch: str, day: date, lines: Sequence[Unreadable]) -> None:
    """What could not be read of a batch, in place of what the same batch had before.

    :param day: of the batch: what was put aside goes when its reports would.
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
