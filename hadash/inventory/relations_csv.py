"""Writes declared relations to a CSV file, and reads them. Pure.

The file has a line with the names of the columns, then one line for each relation, in UTF-8. Files from
spreadsheets are read, too: with a byte order mark, semicolons or tabs instead of commas, columns in another
order, or empty lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from hadash.identity.names import printable
from hadash.inventory.relations import QUOTED, Relation, fault_of, fault_of_note, one_line
from hadash.sentences import Sentence, say

COLUMNS = ("appid", "instance_id", "kind", "resource", "note")

#: Bytes of a file, at most. The preview has the file as a form field, and Django accepts 2.5 MB of fields.
MAX_BYTES = 1_000_000

#: Lines of a file, at most: they are read, compared and written in one request. Larger fleets are imported in
#: parts, by AppIDs.
MAX_LINES = 10_000

#: A spreadsheet treats a cell that begins with one of these as a formula, which may be harmful. Such a cell is
#: written with a leading apostrophe, which reading removes again; therefore the apostrophe is one of them.
_FORMULA = tuple("=+-@'\t\r")


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that cannot be imported, with a sentence that says what to do. Line 0 is the file as a whole."""

    line: int
    sentence: Sentence


@dataclass(slots=True)
class Parsed:
    """The content of a file: each relation with its note. A file with faults must not be used."""

    relations: dict[Relation, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def written(relations: Mapping[Relation, str]) -> str:
    """Return the text of the file with ``relations`` and their notes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([escaped(cell) for cell in (*relation, note)] for relation, note in relations.items())
    return text.getvalue()


def parse(content: bytes, appids: Container[str]) -> Parsed:
    """Return the content of a file, or its faults.

    :param appids: the AppIDs that it may name.
    """
    if len(content) > MAX_BYTES:
        return _refused(say("The file is larger than %(limit)s bytes. Import it in parts.", limit=MAX_BYTES))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _refused(say("The file is not in UTF-8. In Excel, save it as “CSV UTF-8”."))
    lines, faults = _lines(text)
    if not lines:
        return Parsed(faults=faults or _refused(say("The file is empty.")).faults)
    order = _order(lines[0][1])
    if order is None:
        return _refused(say("The first line has to be: %(columns)s.", columns=",".join(COLUMNS)), lines[0][0])
    if len(lines) - 1 > MAX_LINES:
        return _refused(say("The file has more than %(limit)s lines. Import it in parts.", limit=MAX_LINES))
    found = Parsed(faults=faults)
    seen_in: dict[Relation, int] = {}
    for number, cells in lines[1:]:
        read = _read(cells, order, appids)
        if isinstance(read, Sentence):
            found.faults.append(Fault(number, read))
            continue
        relation, note = read
        if relation in seen_in:
            twice = say("Line %(line)s says the same. Remove one of the two.", line=seen_in[relation])
            found.faults.append(Fault(number, twice))
        else:
            seen_in[relation] = number
            found.relations[relation] = note
    found.faults.sort(key=lambda fault: fault.line)
    return found


def _refused(sentence: Sentence, line: int = 0) -> Parsed:
    return Parsed(faults=[Fault(line, sentence)])


def _lines(text: str) -> tuple[list[tuple[int, list[str]]], list[Fault]]:
    """Return the lines that are not empty, each with its first line number. Lines after broken quotes are skipped."""
    head = re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(head), strict=True)
    found: list[tuple[int, list[str]]] = []
    begins = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                found.append((begins, cells))
            begins = reader.line_num + 1
    except csv.Error:
        return found, [
            Fault(begins, say("The quotes of this line do not fit. Write a quote in a cell twice."))
        ]
    return found, []


def _separator(head: str) -> str:
    """Return the separator of the file: the names of the columns contain none."""
    return next((separator for separator in ";\t" if separator in head), ",")


def _order(head: Iterable[str]) -> list[int] | None:
    """Return the position of each column; ``None`` unless the head names all of them, and nothing else."""
    names = [name.strip().lower() for name in head]
    while names and not names[-1]:
        names.pop()  # empty columns that a spreadsheet added
    return [names.index(name) for name in COLUMNS] if sorted(names) == sorted(COLUMNS) else None


def _read(cells: list[str], order: list[int], appids: Container[str]) -> tuple[Relation, str] | Sentence:
    """Return the relation and note of one line, or what is wrong with it."""
    if any(cell.strip() for cell in cells[len(COLUMNS) :]) or len(cells) < len(COLUMNS):
        return say(
            "This line has %(count)s cells instead of %(wanted)s. Put quotes around a cell that holds the separator.",
            count=len(cells),
            wanted=len(COLUMNS),
        )
    appid, instance_id, kind, resource, note = (_unescaped(cells[place].strip()) for place in order)
    as_written = _unescaped(cells[order[0]])
    if as_written in appids:
        appid = as_written  # an AppID may have blanks around it
    relation = Relation(appid, instance_id, kind.lower(), resource)
    if appid not in appids:
        if not appid:
            return say("No AppID is named.")
        return say(
            "AppID “%(appid)s” is not in this pair. Correct its name, or bring one of its clients to a Gateway first.",
            appid=printable(appid, QUOTED),
        )
    note = one_line(note)
    return fault_of(relation) or fault_of_note(note) or (relation, note)


def escaped(cell: str) -> str:
    """Return a cell that no spreadsheet treats as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _unescaped(cell: str) -> str:
    """
    >>> _unescaped("'=1+1"), _unescaped("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
