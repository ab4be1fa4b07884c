"""A report on paper: typst sets it, without a browser and without the internet. Its template is
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

#: Letters of a name that stay together on paper.
UNBROKEN = 24

_TEMPLATE = Path(__file__).parent / "paper" / "report.typ"


def pdf_of(report: Report, language: str, printed: str, as_of: str) -> bytes:
    """In the language that is active.

    :param language: as Django calls it (``zh-hans``). :param printed: the last line of each page. :param
        as_of: of which moment its figures tell, in a sentence; empty when nobody knows.
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
    # (Files in memory; the package's own types do not tell of them.)
    return bytes(typst.compile(files, format="pdf"))  # type: ignore[call-overload]


def _breakable(text: str) -> str:
    """With places where a long name can be broken: it would run over the edge of the paper.

    >>> [len(_breakable("x" * count)) for count in (UNBROKEN, UNBROKEN + 1)], _breakable("orders-v2")
    ([24, 26], 'orders-v2')
    """
    return re.sub(rf"([^\s-]{{{UNBROKEN}}})(?=[^\s-])", "\\1\u200b", text)


#: Marks that the fonts of most machines have.
_MARKS = {"fine": "✓", "notice": "!", "bad": "✗", "unknown": "?", "": ""}


@cache
def _template() -> bytes:
    return _TEMPLATE.read_bytes()
