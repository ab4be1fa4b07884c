"""Tables as CSV, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header

from hadash.inventory.relations_csv import escaped


def csv_response(name: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Return a CSV file that is generated while it is sent.

    :param name: the file's name, without its extension and the day.
    """
    response = StreamingHttpResponse(_lines(head, rows), content_type="text/csv; charset=utf-8")
    day = timezone.now().strftime("%Y-%m-%d")
    # (The name may be an AppID's: in Chinese, or with quotes.)
    response["Content-Disposition"] = content_disposition_header(True, f"hadash-{name}-{day}.csv") or ""
    return response


def _lines(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield _line(head)
    for row in rows:
        yield _line([_cell(value) for value in row])


def _line(cells: Sequence[str]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _cell(value: Any) -> str:
    """Return a value as the text of a cell, safe for spreadsheets.
    >>> _cell(["a", "b"]), _cell(None), _cell("=1+1"), _cell(-3)
    ('a b', '', "'=1+1", '-3')
    """
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return _cell(" ".join(map(str, value)))
    return escaped(value) if isinstance(value, str) else str(value)
