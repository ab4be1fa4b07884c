"""A report as data: what its mail, its page, its text and its PDF are made of. Pure; all texts are in the
reader's language already, but for how many rows are not shown, which is said in the language that is active.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.utils.translation import ngettext


class Tone(StrEnum):
    """How something stands. Never told by colour alone: each has its mark."""

    FINE = "fine"
    NOTICE = "notice"
    BAD = "bad"
    UNKNOWN = "unknown"
    PLAIN = ""

    @property
    def mark(self) -> str:
        """
        >>> [tone.mark for tone in (Tone.FINE, Tone.BAD, Tone.PLAIN)]
        ['✓', '✗', '']
        """
        return {Tone.FINE: "✓", Tone.NOTICE: "!", Tone.BAD: "✗", Tone.UNKNOWN: "?"}.get(self, "")


@dataclass(frozen=True, slots=True)
class Figure:
    """``value`` as it stands there; ``change`` with its sign, empty when there is none; ``is_worse``: the
    change is for the worse.
    """

    label: str
    value: str
    change: str = ""
    is_worse: bool = False
    says: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """``url``: where a click leads; empty for nowhere."""

    text: str
    url: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Heading:
    """``is_short``: what stands below it is not broken into lines, such as a day. ``share``: how much of the
    width it gets on paper, beside others.
    """

    text: str
    is_number: bool = False
    is_short: bool = False
    share: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """The first rows; ``all_rows`` are the file that is attached (``csv_name``). ``url``: where the rest is."""

    columns: Sequence[Heading]
    rows: Sequence[Sequence[Cell]]
    total: int
    url: str = ""
    csv_name: str = ""
    csv_columns: Sequence[str] = ()
    all_rows: Sequence[Sequence[Any]] = field(default=(), repr=False)

    @property
    def more(self) -> int:
        """Rows that are not shown."""
        return max(0, self.total - len(self.rows))

    @property
    def more_said(self) -> str:
        return more_said(self.more)


@dataclass(frozen=True, slots=True)
class Picture:
    """``svg``: a chart, ``width`` × ``height`` pixels. ``alt``: the same in words."""

    name: str
    svg: str
    width: int
    height: int
    alt: str


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence with its tone, and where a click leads."""

    text: str
    tone: Tone = Tone.PLAIN
    url: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """``empty``: what stands there when there is nothing else."""

    title: str
    says: str = ""
    lines: Sequence[Line] = ()
    figures: Sequence[Figure] = ()
    picture: Picture | None = None
    table: Table | None = None
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """``subject``: the verdict in one line. ``as_of``: the moment that its figures tell of; ``None`` when
    nothing is known. ``stale``: why they are not today's, in a sentence; empty when they are. ``url``: its
    page.
    """

    kind: str
    title: str
    subject: str
    verdict: Line
    as_of: datetime | None
    sections: Sequence[Section]
    stale: str = ""
    url: str = ""
    #: That its figures are made up, in a sentence; empty for a real fleet.
    generated: str = ""

    @property
    def pictures(self) -> list[Picture]:
        return [section.picture for section in self.sections if section.picture is not None]

    @property
    def tables(self) -> list[Table]:
        """Those that are attached as files."""
        return [s.table for s in self.sections if s.table is not None and s.table.csv_name]

    def to_json(self) -> dict[str, Any]:
        """For keeping; read back by :func:`report_from_json`. Without the rows of the files, which are
        attached to the mail.
        """
        kept = asdict(self)
        for section in kept["sections"]:
            if section["table"] is not None:
                section["table"]["all_rows"] = []
        kept["as_of"] = self.as_of.isoformat() if self.as_of is not None else None
        return kept


def report_from_json(kept: dict[str, Any]) -> Report:
    """What :meth:`Report.to_json` kept."""
    as_of = datetime.fromisoformat(kept["as_of"]) if kept["as_of"] else None
    sections = tuple(_section(each) for each in kept["sections"])
    return Report(**{**kept, "as_of": as_of, "verdict": _line(kept["verdict"]), "sections": sections})


def _known(made: type[Heading], kept: dict[str, Any]) -> Heading:
    """Of what a newer version kept, what this one knows: both run side by side while hadash is updated."""
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
    """That so many rows are not shown; empty for none."""
    return ngettext("%(shown)s more", "%(shown)s more", rows) % {"shown": f"{rows:,}"} if rows > 0 else ""
