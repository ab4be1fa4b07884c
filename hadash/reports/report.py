"""A report as data, from which its mail, page, text and PDF are made. Pure. All texts are already in the
reader's language, except for the number of rows that are not shown, which is in the active language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.utils.translation import ngettext


class Tone(StrEnum):
    """The judgement of a line or value. It is never shown by colour alone: each has a mark."""

    FINE = "fine"
    NOTICE = "notice"
    BAD = "bad"
    UNKNOWN = "unknown"
    PLAIN = ""

    @property
    def mark(self) -> str:
        """The sign that is shown with it; may be empty.

        >>> [tone.mark for tone in (Tone.FINE, Tone.BAD, Tone.PLAIN)]
        ['✓', '✗', '']
        """
        return {Tone.FINE: "✓", Tone.NOTICE: "!", Tone.BAD: "✗", Tone.UNKNOWN: "?"}.get(self, "")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure. ``value``: its text; ``change``: with its sign, empty when there is none; ``is_worse``: whether
    the change is for the worse.
    """

    label: str
    value: str
    change: str = ""
    is_worse: bool = False
    says: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table. ``url``: its link; may be empty."""

    text: str
    url: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column. ``is_short``: its values, such as dates, are not broken into lines. ``share``:
    its relative width in the PDF.
    """

    text: str
    is_number: bool = False
    is_short: bool = False
    share: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its first rows. ``all_rows`` are those of the attached file (``csv_name``). ``url``: the
    page with all rows.
    """

    columns: Sequence[Heading]
    rows: Sequence[Sequence[Cell]]
    total: int
    url: str = ""
    csv_name: str = ""
    csv_columns: Sequence[str] = ()
    all_rows: Sequence[Sequence[Any]] = field(default=(), repr=False)

    @property
    def more(self) -> int:
        """The number of rows that are not shown."""
        return max(0, self.total - len(self.rows))

    @property
    def more_said(self) -> str:
        return more_said(self.more)


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart. ``svg``: its drawing, of ``width`` × ``height`` pixels. ``alt``: the same in words."""

    name: str
    svg: str
    width: int
    height: int
    alt: str


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence with its tone and its link."""

    text: str
    tone: Tone = Tone.PLAIN
    url: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A section. ``empty``: the text that is shown when it has no other content."""

    title: str
    says: str = ""
    lines: Sequence[Line] = ()
    figures: Sequence[Figure] = ()
    picture: Picture | None = None
    table: Table | None = None
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A report. ``subject``: the verdict in one line. ``as_of``: the time of its figures; ``None`` when it is
    not known.
    ``stale``: a sentence that says why they are not current; empty when they are. ``url``: its page.
    """

    kind: str
    title: str
    subject: str
    verdict: Line
    as_of: datetime | None
    sections: Sequence[Section]
    stale: str = ""
    url: str = ""
    #: A sentence that says that its figures are generated; empty for a real fleet.
    generated: str = ""

    @property
    def pictures(self) -> list[Picture]:
        return [section.picture for section in self.sections if section.picture is not None]

    @property
    def tables(self) -> list[Table]:
        """The tables that are attached as files."""
        return [s.table for s in self.sections if s.table is not None and s.table.csv_name]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON for :func:`report_from_json`, without the rows of the files, which are
        attached to the mail.
        """
        kept = asdict(self)
        for section in kept["sections"]:
            if section["table"] is not None:
                section["table"]["all_rows"] = []
        kept["as_of"] = self.as_of.isoformat() if self.as_of is not None else None
        return kept


def report_from_json(kept: dict[str, Any]) -> Report:
    """Return the report from the result of :meth:`Report.to_json`."""
    as_of = datetime.fromisoformat(kept["as_of"]) if kept["as_of"] else None
    sections = tuple(_section(each) for each in kept["sections"])
    return Report(**{**kept, "as_of": as_of, "verdict": _line(kept["verdict"]), "sections": sections})


def _known(made: type[Heading], kept: dict[str, Any]) -> Heading:
    """Return a heading without fields that only a newer version knows: both versions run during an update."""
    names = {each.name for each in fields(made)}
    return made(**{name: value for name, value in kept.items() if name in names})


def _section(kept: dict[str, Any]) -> Section:
    table = kept["table"]
    if table is not None:
        columns = tuple(_known(Heading, each) for each in table["columns"])
        rows = tuple(
            tuple(Cell(**{**each, "tone": Tone(each["tone"])}) for each in row) for row in table["rows"]
        )
        table = Table(**{**table, "columns": columns, "rows": rows})
    return Section(
        **{
            **kept,
            "lines": tuple(map(_line, kept["lines"])),
            "figures": tuple(Figure(**each) for each in kept["figures"]),
            "picture": Picture(**kept["picture"]) if kept["picture"] is not None else None,
            "table": table,
        }
    )


def _line(kept: dict[str, Any]) -> Line:
    return Line(**{**kept, "tone": Tone(kept["tone"])})


def more_said(rows: int) -> str:
    """Return a text that says how many rows are not shown; empty for none."""
    return ngettext("%(shown)s more", "%(shown)s more", rows) % {"shown": f"{rows:,}"} if rows > 0 else ""
