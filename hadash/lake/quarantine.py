"""What cannot be counted is kept aside with the reason, where somebody can look at it; it never stops anything.

``quarantine/files/<name>`` is a file that cannot be read, moved there as it came, with ``<name>.reason`` beside it.
``quarantine/rows/date=…/part-….parquet`` are the rows of a day that make no sense, with one more column, ``reason``.
``quarantine/lines/<batch>.json`` are the parts of what was imported that no report could be made of, with reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hadash.lake.store import Store

FOLDER = "quarantine"
FILES, ROWS, LINES = f"{FOLDER}/files", f"{FOLDER}/rows", f"{FOLDER}/lines"

_REASON = ".reason"


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


def lines(store: Store) -> int:
    """Of how many imported batches something could not be read."""
    return len(store.files(LINES))


def put_lines_aside(store: Store, batch: str, lines: Sequence[Unreadable]) -> None:
    """What could not be read of a batch, in place of what the same batch had before."""
    place = f"{LINES}/{batch}.json"
    if lines:
        store.write_json(place, [{"text": line.text, "reason": line.reason} for line in lines])
    else:
        store.delete(place)
