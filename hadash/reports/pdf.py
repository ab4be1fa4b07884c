"""Renders a report as PDF with typst, without a browser and without the internet. The template is
``paper/report.typ``.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import typst

from hadash.reports.report import Report, more_said

#: Letters of a name that are kept together, at most.
UNBROKEN = 24

_TEMPLATE = Path(__file__).parent / "paper" / "report.typ"


def pdf_of(report: Report, language: str, printed: str, as_of: str) -> bytes:
    """Return a report as PDF in the active language.

    :param language: Django's code of it (``zh-hans``).
    :param printed: the last line of each page.
    :param as_of: a sentence with the time of its figures; empty when that is not known.
    """
    files: dict[str, bytes] = {"main": _template()}
    for picture in report.pictures:
        files[f"{picture.name}.svg"] = picture.svg.encode()
    data: dict[str, Any] = {
        **report.to_json(),
        "language": language.partition("-")[0],
        "printed": printed,
        "as_of": as_of,
        "marks": {tone: _MARKS[tone] for tone in _MARKS},
    }
    for section in data["sections"]:
        if section["table"] is not None:
            section["table"]["rows"] = [
                [{**cell, "text": _breakable(cell["text"])} for cell in row]
                for row in section["table"]["rows"]
            ]
            section["table"]["more"] = more_said(section["table"]["total"] - len(section["table"]["rows"]))
    files["data.json"] = json.dumps(data).encode()
    # (The files are in memory, which the package's types do not include.)
    return bytes(typst.compile(files, format="pdf"))  # type: ignore[call-overload]


def _breakable(text: str) -> str:
    """Insert places where a long name can be broken, so that it does not run over the edge of the page.

    >>> [len(_breakable("x" * count)) for count in (UNBROKEN, UNBROKEN + 1)], _breakable("orders-v2")
    ([24, 26], 'orders-v2')
    """
    return re.sub(rf"([^\s-]{{{UNBROKEN}}})(?=[^\s-])", "\\1\u200b", text)


#: Marks that most fonts contain.
_MARKS = {"fine": "✓", "notice": "!", "bad": "✗", "unknown": "?", "": ""}


@cache
def _template() -> bytes:
    return _TEMPLATE.read_bytes()
