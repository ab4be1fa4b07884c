"""Reads access reports from a CSV file: a line with the names of the columns, then a line for each report.
Pure.

The columns in :data:`REQUIRED` must be there (who used what, where and when); the other columns of a report are
optional. A line that cannot be read is put aside with its reason, and the others count.
"""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from typing import Any

from hadash.lake.access import CSV, EARLIEST, SCHEMA, USES
from hadash.lake.importers.imported import Imported, ImportRefused
from hadash.lake.quarantine import Unreadable

REQUIRED = ("appid", "kind", "resource", "cluster", "last_seen")

#: The columns that a file may have; its reporter is the file itself.
COLUMNS = tuple(name for name in SCHEMA.names if name not in ("gateway", "source"))

_NUMBERS = ("acks", "session_timeout_ms", "requests", "records", "bytes")
_TRUTHS = ("idempotent", "transactional", "member")
_TIMES = ("first_seen", "last_seen")
_YES, _NO = ("true", "1", "yes", "是"), ("false", "0", "no", "否")

#: Words that Kafka allows instead of a number.
_ACKS = {"all": -1}


def parse(content: bytes, file_name: str) -> Imported:
    """Return the reports in a file.

    :param file_name: the name of the reporter.
    :raises ImportRefused: the file as a whole cannot be read.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ImportRefused("The file is not in UTF-8. In Excel, save it as “CSV UTF-8”.") from None
    first = text.lstrip().split("\n", 1)[0]
    separator = next((each for each in ";\t" if each in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    head = [name.strip().lower() for name in next(reader, [])]
    _check(head)
    found = Imported()
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                _read(found, head, cells, separator, file_name)
    except csv.Error as error:
        raise ImportRefused(f"Line {reader.line_num} cannot be read: {error}.") from None
    return found


def _check(head: list[str]) -> None:
    missing = [name for name in REQUIRED if name not in head]
    if missing:
        raise ImportRefused(
            f"The first line must name the columns; {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing."
        )
    strange = [name for name in head if name not in COLUMNS]
    if strange:
        raise ImportRefused(
            f"There is no column {', '.join(map(repr, strange))}. There are: {', '.join(COLUMNS)}."
        )
    if len(set(head)) < len(head):
        raise ImportRefused("A column is there twice.")


def _read(found: Imported, head: list[str], cells: list[str], separator: str, file_name: str) -> None:
    text = separator.join(cells)
    if len(cells) != len(head):
        found.unreadable.append(Unreadable(text, f"It has {len(cells)} cells instead of {len(head)}."))
        return
    try:
        row = {name: _value(name, cell.strip()) for name, cell in zip(head, cells, strict=True)}
    except ValueError as error:
        found.unreadable.append(Unreadable(text, str(error)))
        return
    row = {"first_seen": row["last_seen"], "requests": 0, "records": 0, "bytes": 0} | {
        name: value for name, value in row.items() if value is not None
    }
    found.rows.append({**row, "gateway": file_name, "source": CSV})


def _value(name: str, cell: str) -> Any:
    """Return the value of a cell. :raises ValueError: with a sentence for the user."""
    if not cell:
        if name in REQUIRED:
            raise ValueError(f"{name} is empty.")
        return None
    if name in _NUMBERS:
        number = _ACKS.get(cell.lower()) if name == "acks" else None
        if number is None:
            try:
                number = int(cell)
            except ValueError:
                raise ValueError(f"{name} is {cell!r}, which is no whole number.") from None
        _check_range(name, number)
        return number
    if name in _TRUTHS:
        if cell.lower() not in _YES + _NO:
            raise ValueError(f"{name} is {cell!r}; write true or false.")
        return cell.lower() in _YES
    if name in _TIMES:
        try:
            moment = datetime.fromisoformat(cell)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            raise ValueError(f"{name} is {cell!r}; write it as 2026-11-21T17:05:00Z.") from None
        if moment < EARLIEST:
            raise ValueError(f"{name} is {cell!r}, which is before {EARLIEST:%Y-%m-%d}.")
        return moment
    if name == "assignors":
        return [part.strip() for part in cell.split("|")]
    if name == "kind" and cell not in USES:
        raise ValueError(f"kind is {cell!r}; it is one of {', '.join(USES)}.")
    return cell


def _check_range(name: str, number: int) -> None:
    bits = SCHEMA.field(name).type.bit_width
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(f"{name} is {number}, which is too much.")
