"""The chain that makes a changed, missing or inserted entry visible. Pure.

Each entry holds a digest over its own fields and over the digest of the entry before it. To change an entry
unnoticed, a person would have to change every later one; to cut the end off, to hide the last digest that
was noted elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: The digest that the first entry follows.
BEGINNING = "0" * 64

#: The fields that an entry's digest covers, in the order of an exported line.
FIELDS = ("number", "at", "actor", "verb", "subject", "address", "details", "previous")


def digest_of(entry: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an exported entry, without its own digest.

    >>> digest_of({"number": 1, "previous": BEGINNING}) == digest_of({"previous": BEGINNING, "number": 1})
    True
    """
    said = {field: entry.get(field) for field in FIELDS}
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of checking a chain. ``fault`` is empty when the chain is whole; else the check stopped there.

    :param entries: how many entries are whole.
    :param last: the digest of the last of them.
    """

    entries: int
    last: str
    fault: str = ""


def verify(entries: Iterable[Mapping[str, Any]], expected: str = "") -> Verdict:
    """Check entries from the first to the last.

    :param expected: a digest that was noted earlier; an entry must have it. Empty for none.
    """
    previous, count, seen = BEGINNING, 0, not expected
    for entry in entries:
        number = entry.get("number")
        if number != count + 1:
            return Verdict(
                count, previous, f"After entry {count} comes entry {number}: one is missing, or one too many."
            )
        if entry.get("previous") != previous:
            return Verdict(
                count, previous, f"Entry {number} does not follow entry {count}: one of them was replaced."
            )
        if entry.get("digest") != digest_of(entry):
            return Verdict(count, previous, f"Entry {number} was changed after it had been written.")
        previous, count = str(entry["digest"]), count + 1
        seen = seen or previous == expected
    if not seen:
        return Verdict(
            count, previous, f"No entry has the digest {expected}: the end was cut off, or it is another log."
        )
    return Verdict(count, previous)
