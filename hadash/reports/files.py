"""Writes the tables of a report as CSV files, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from hadash.inventory.relations_csv import escaped
from hadash.reports.report import Table


def csv_of(table: Table) -> bytes:
    """Return a table as CSV in UTF-8, with a byte order mark for Excel."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(table.csv_columns)
    writer.writerows([_safe(value) for value in row] for row in table.all_rows)
    return text.getvalue().encode("utf-8-sig")


def _safe(value: Any) -> Any:
    """Return a value as a cell that no spreadsheet treats as a formula.

    >>> _safe("=1+1"), _safe(-3), _safe(None), _safe(["a", "b"])
    ("'=1+1", -3, '', 'a b')
    """
    if value is None:
        return ""
    if isinstance(value, int | float):
        return value
    text = (
        " ".join(map(str, value))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )
    return escaped(text)
