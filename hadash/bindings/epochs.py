"""Which changes of bindings a Gateway has in effect, as it tells those who wait for it.

Changes come into effect out of order: a block waits for what is in flight, another AppID's change does not.
So a Gateway says which epochs are missing, and nobody waits for a change that is none of theirs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: First and last of some epochs that follow each other.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Report:
    """What a Gateway knows and does.

    >>> report = Report(9, missing=((7, 7),))
    >>> report.has(6), report.has(7), report.has(8), report.has(10), report.applied
    (True, False, True, False, 6)
    """

    #: The last epoch that is known there.
    latest: int = 0
    #: Those of them that are not in effect: something that they stop may be in flight. Sorted, none touches another.
    missing: tuple[Span, ...] = ()
    #: Those whose bindings it cannot read, and therefore does not obey; also missing.
    unread: tuple[Span, ...] = ()

    @property
    def applied(self) -> int:
        """Up to this epoch everything is in effect."""
        return self.missing[0][0] - 1 if self.missing else self.latest

    @property
    def known(self) -> int:
        """Up to this epoch everything is obeyed."""
        return self.unread[0][0] - 1 if self.unread else self.latest

    def has(self, epoch: int) -> bool:
        """Whether the change of ``epoch`` is in effect: nothing that it stops is in flight any more."""
        return epoch <= self.latest and not _within(self.missing, epoch)

    def is_ahead_of(self, newest: int) -> bool:
        """Whether it knows of changes that ZooKeeper, whose last one is ``newest``, has no more: ZooKeeper
        lost them, or was restored from an older backup. What its numbers say is about changes that nobody
        else knows then.

        >>> Report(9).is_ahead_of(8), Report(9).is_ahead_of(9)
        (True, False)
        """
        return self.latest > newest

    def obeys(self, epoch: int) -> bool:
        """Whether nothing more is sent to where the change of ``epoch`` does not lead."""
        return epoch <= self.latest and not _within(self.unread, epoch)

    def to_bytes(self) -> bytes:
        """JSON. ``epoch`` and ``known`` are for readers that know no spans."""
        told = {"epoch": self.applied, "known": self.known, "latest": self.latest}
        return json.dumps({**told, "missing": self.missing, "unread": self.unread}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """What a Gateway has told, also one that knows no spans; nothing at all of what cannot be read.

        >>> Report.from_bytes(b'{"epoch": 7, "known": 9}')
        Report(latest=9, missing=((8, 9),), unread=())
        >>> Report.from_bytes(Report(9, ((3, 4),)).to_bytes())
        Report(latest=9, missing=((3, 4),), unread=())
        >>> Report.from_bytes(b"soon")
        Report(latest=0, missing=(), unread=())
        """
        try:
            told = json.loads(data)
            applied = int(told["epoch"])
            if "latest" not in told:
                known = max(applied, int(told.get("known", 0)))
                return cls(known, ((applied + 1, known),) if known > applied else ())
            return cls(int(told["latest"]), _spans(told["missing"]), _spans(told["unread"]))
        except (ValueError, KeyError, TypeError):
            return cls()


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same epochs, sorted, as few spans as there can be.

    >>> merged([(7, 8), (3, 3), (4, 5), (8, 9)])
    ((3, 5), (7, 9))
    """
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def _within(spans: Iterable[Span], epoch: int) -> bool:
    return any(first <= epoch <= last for first, last in spans)


def _spans(told: Any) -> tuple[Span, ...]:
    return merged((int(first), int(last)) for first, last in told)
