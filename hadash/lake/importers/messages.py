"""Reads access reports from records of a Kafka Topic: one record is one batch, as JSON. Pure.

``{"reporter": "gateway-1", "batch": 1763744400000, "reports": [{"appid": "shop", …}, …]}``. A report has the
columns of :data:`hadash.lake.access.SCHEMA` by their names, with times in milliseconds. ``batch`` is the time
in milliseconds when the batch was made; together with ``reporter`` it names the batch, which may come again
(Kafka delivers at least once) and counts once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from hadash.lake.access import EARLIEST, SCHEMA
from hadash.lake.importers.imported import Imported, ImportRefused
from hadash.lake.quarantine import Unreadable


@dataclass(slots=True)
class Message:
    """One batch: its name, the time when it was made, and its content."""

    name: str
    moment: datetime
    imported: Imported = field(default_factory=Imported)


def parse(value: bytes) -> Message:
    """Return the batch in one record.

    :raises ImportRefused: it is not a batch.
    """
    try:
        return _parse(value)
    except RecursionError:
        raise ImportRefused("It has lists in lists in lists, more than anything that makes sense.") from None


def _parse(value: bytes) -> Message:
    try:
        said = json.loads(value)
        reporter, batch, reports = said["reporter"], said["batch"], said["reports"]
        moment = _moment(batch)
        reporter.encode()  # refuses lone surrogates
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError):
        raise ImportRefused("It is no batch of access reports: reporter, batch, reports.") from None
    if not reporter or not isinstance(reports, list):
        raise ImportRefused("It is no batch of access reports: reporter, batch, reports.")
    if moment < EARLIEST:
        raise ImportRefused(f"batch is {batch}, which is before 2000: it is a time in milliseconds.")
    found = Message(f"{reporter}-{batch}", moment)
    for report in reports:
        try:
            found.imported.rows.append(_row(report, reporter))
        except (ValueError, TypeError, OverflowError, OSError, pa.ArrowException) as error:
            text = json.dumps(report, ensure_ascii=False)
            found.imported.unreadable.append(Unreadable(text, str(error)))
    return found


def _row(report: Any, reporter: str) -> dict[str, Any]:
    """Return the row of a report. :raises ValueError: with a sentence for the user."""
    if not isinstance(report, dict):
        raise ValueError("A report is an object.")
    row: dict[str, Any] = {"gateway": reporter}
    for name, value in report.items():
        index = SCHEMA.get_field_index(name)
        if index < 0 or value is None:
            continue  # no value, or a column of a later version
        kind = SCHEMA.field(index).type
        try:
            row[name] = _moment(value) if pa.types.is_timestamp(kind) else pa.scalar(value, kind).as_py()
        except (ValueError, TypeError, OverflowError, OSError, pa.ArrowException):
            raise ValueError(f"{name} is {value!r}, which is no {kind}.") from None
    return row


def _moment(milliseconds: Any) -> datetime:
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool):
        raise ValueError("no time")
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
