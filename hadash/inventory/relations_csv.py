"""Declared relations as a CSV file, and back. Pure.

One line a relation, under a head with the names of the columns, in UTF-8. What spreadsheets make of it is
read too: a byte order mark, semicolons or tabs instead of commas, columns in another order, empty lines.
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

#: Bytes of a file. The preview carries the file along as a field, and Django takes 2.5 MB of fields.
MAX_BYTES = 1_000_000

#: Lines of a file: they are read, compared and written in one request. Larger fleets come in parts, by AppIDs.
MAX_LINES = 10_000

#: A cell that begins with one of these is a formula to a spreadsheet, and may be one that does harm. It is
#: written with an apostrophe before it, which is taken away again; so the apostrophe is among them.
_FORMULA = tuple("=+-@'\t\r")


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that cannot be imported, and what to do. Line 0 is the file as a whole."""

    line: int
    sentence: Sentence


@dataclass(slots=True)
class Parsed:
    """What a file says: each relation with its note. Nothing of a file with faults is to be used."""

    relations: dict[Relation, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def written(relations: Mapping[Relation, str]) -> str:
    """The file that says ``relations`` with their notes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([escaped(cell) for cell in (*relation, note)] for relation, note in relations.items())
    return text.getvalue()


def parse(content: bytes, appids: Container[str]) -> Parsed:
    """What a file says, or all that is wrong with it.

    :param appids: those that it may name.
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
    """Lines that are not empty, each with the number of where it begins; what comes after broken quotes is lost."""
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
    """The head's words hold none of them."""
    return next((separator for separator in ";\t" if separator in head), ",")


def _order(head: Iterable[str]) -> list[int] | None:
    """Where each of the columns stands; ``None`` when the head does not name them all, and nothing else."""
    names = [name.strip().lower() for name in head]
    while names and not names[-1]:
        names.pop()  # a spreadsheet that knows of more columns
    return [names.index(name) for name in COLUMNS] if sorted(names) == sorted(COLUMNS) else None


def _read(cells: list[str], order: list[int], appids: Container[str]) -> tuple[Relation, str] | Sentence:
    """One line, or what is wrong with it."""
    if any(cell.strip() for cell in cells[len(COLUMNS) :]) or len(cells) < len(COLUMNS):
        return say(
            "This line has %(count)s cells instead of %(wanted)s. Put quotes around a cell that holds the separator.",
            count=len(cells),
            wanted=len(COLUMNS),
        )
    appid, instance_id, kind, resource, note = (_unescaped(cells[place].strip()) for place in order)
    as_written = _unescaped(cells[order[0]])
    if as_written in appids:
        appid = as_written  # what clients sign in as may have blanks around it
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
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _unescaped(cell: str) -> str:
    """
    >>> _unescaped("'=1+1"), _unescaped("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
