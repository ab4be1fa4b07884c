"""The chain that makes a changed, missing or inserted entry visible. Pure.

Each entry holds a digest over all that it says and over the digest of the one before it. Whoever changes an
entry would have to change every later one; whoever cuts the end off has to hide the last digest that somebody
has noted elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: What stands before the first entry.
BEGINNING = "0" * 64

#: What an entry says, in the order of an exported line.
FIELDS = ("number", "at", "actor", "verb", "subject", "address", "details", "previous")


def digest_of(entry: Mapping[str, Any]) -> str:
    """SHA-256 over an entry as it is exported, without its own digest.

    >>> digest_of({"number": 1, "previous": BEGINNING}) == digest_of({"previous": BEGINNING, "number": 1})
    True
    """
    said = {field: entry.get(field) for field in FIELDS}
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What checking a chain has found. ``fault`` is empty when it is whole."""

    entries: int
    last: str
    fault: str = ""


def verify(entries: Iterable[Mapping[str, Any]], expected: str = "") -> Verdict:
    """Check entries from the first to the last.

    :param expected: the digest of an entry that somebody has noted; it must be there.
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
