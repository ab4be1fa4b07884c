"""Renders a report as plain text, for the text part of its mail. Pure, in the active language and zone."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import wrap

from django.utils import timezone
from django.utils.translation import gettext as _

from hadash.reports.report import Cell, Line, Report, Section, Table

#: Columns of a line, at which mail programs mostly wrap plain text.
WIDTH = 72


def text_of(report: Report, footer: Sequence[str] = ()) -> str:
    """Return a report as plain text. :param footer: the last lines, which are not wrapped."""
    lines = [report.title, "=" * _width(report.title), ""]
    for told in (report.generated, report.stale):
        if told:
            lines += [*_wrapped(f"! {told}"), ""]
    lines += [*_line(report.verdict)]
    if report.as_of is not None:
        at = timezone.localtime(report.as_of)
        lines.append(_("As of %(at)s %(zone)s") % {"at": f"{at:%Y-%m-%d %H:%M}", "zone": f"{at:%Z}"})
    lines.append("")
    for section in report.sections:
        lines += [*_section(section), ""]
    if report.url:
        lines += [report.url, ""]
    if footer:
        lines += ["-- ", *footer]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> Iterator[str]:
    yield section.title
    yield "-" * _width(section.title)
    if section.says:
        yield from _wrapped(section.says)
    for figure in section.figures:
        change = f" ({figure.change})" if figure.change else ""
        says = f", {figure.says}" if figure.says else ""
        yield from _wrapped(f"{figure.label}: {figure.value}{change}{says}")
    for line in section.lines:
        yield from _line(line)
    if section.picture is not None:
        yield from _wrapped(section.picture.alt)
    if section.table is not None and section.table.rows:
        yield from _table(section.table)
    elif section.empty and not (section.lines or section.figures or section.picture):
        yield from _wrapped(section.empty)


def _line(line: Line) -> Iterator[str]:
    yield from _wrapped(f"{line.tone.mark} {line.text}".strip())
    if line.url:
        yield f"  {line.url}"


def _table(table: Table) -> Iterator[str]:
    """Yield the lines of a table: with aligned columns, or, if these are too wide, with each row as wrapped text."""
    heads = [column.text for column in table.columns]
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    widths = [max(_width(row[n]) for row in [heads, *rows]) for n in range(len(heads))]
    if sum(widths) + 2 * (len(widths) - 1) <= WIDTH:
        for row in [heads, *rows]:
            cells = [_padded(text, widths[n], right=table.columns[n].is_number) for n, text in enumerate(row)]
            yield "  ".join(cells).rstrip()
    else:
        for row in rows:
            yield from _wrapped(
                "; ".join(f"{head}: {text}" for head, text in zip(heads, row, strict=True) if text)
            )
    if table.more:
        yield table.more_said + (f"  {table.url}" if table.url else "")


def _cell(cell: Cell) -> str:
    return f"{cell.tone.mark} {cell.text}".strip()


def _wrapped(text: str) -> list[str]:
    """Wrap a text to lines of ``WIDTH`` columns.

    >>> _wrapped("one two")
    ['one two']
    """
    if _width(text) <= WIDTH:
        return [text]
    # (Chinese has no spaces, and its characters are two columns wide.)
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text) > len(text) / 3
    return wrap(text, WIDTH // 2 if wide else WIDTH, break_long_words=wide, break_on_hyphens=False)


def _width(text: str) -> int:
    """Return the width of a text in columns of a terminal.

    >>> _width("abc"), _width("覆盖率")
    (3, 6)
    """
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _padded(text: str, width: int, *, right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if right else text + blank
