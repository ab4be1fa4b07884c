"""What an auditor can find. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """How a mirror differs from its source."""

    #: The target does not hold a record of the source.
    MISSING = "missing"
    #: The target holds a record that the source does not: copied twice, or written by somebody else.
    EXTRA = "extra"
    #: Key or value differ.
    DIFFERENT = "different"
    #: Only headers (and perhaps the time) differ.
    HEADERS = "headers"
    #: Only the time differs.
    TIME = "time"
    #: The target holds the record at another place among the others.
    REORDERED = "reordered"
    #: From here on, records have another distance between their offsets on both sides, and nothing that was found
    #: before explains it: a translated offset would name another record.
    OFFSETS = "offsets"


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference.

    :param source: the record's offset on the source; for one that the source does not hold, that of the next record
        that both sides hold. :param target: the same on the target.
    :param parts: the parts that differ: "key", "value", "headers", "time".
    """

    kind: Kind
    source: int
    target: int
    parts: tuple[str, ...] = ()
