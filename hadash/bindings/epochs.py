"""The changes of bindings that a Gateway has in effect, as it reports them.

Changes come into effect out of order: a block waits for requests in flight, another AppID's change does not. So a
Gateway reports which epochs are missing, and a switch does not wait for changes of others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: The first and last epoch of a consecutive range.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Report:
    """The epochs that a Gateway knows, obeys and has in effect.

    >>> report = Report(9, missing=((7, 7),))
    >>> report.has(6), report.has(7), report.has(8), report.has(10), report.applied
    (True, False, True, False, 6)
    """

    #: The last epoch that the Gateway knows.
    latest: int = 0
    #: Known epochs that are not in effect: requests that they stop may be in flight. Sorted; no two spans touch.
    missing: tuple[Span, ...] = ()
    #: Known epochs whose bindings the Gateway cannot read, and therefore does not obey. They are also in ``missing``.
    unread: tuple[Span, ...] = ()

    @property
    def applied(self) -> int:
        """The epoch up to which everything is in effect."""
        return self.missing[0][0] - 1 if self.missing else self.latest

    @property
    def known(self) -> int:
        """The epoch up to which everything is obeyed."""
        return self.unread[0][0] - 1 if self.unread else self.latest

    def has(self, epoch: int) -> bool:
        """Whether the change of ``epoch`` is in effect: no request that it stops is in flight any more."""
        return epoch <= self.latest and not _within(self.missing, epoch)

    def is_ahead_of(self, newest: int) -> bool:
        """Whether the Gateway knows changes that ZooKeeper, whose last epoch is ``newest``, no longer has.

        ZooKeeper then lost them, or was restored from an older backup, and the report is about changes that no other
        process knows.

        >>> Report(9).is_ahead_of(8), Report(9).is_ahead_of(9)
        (True, False)
        """
        return self.latest > newest

    def obeys(self, epoch: int) -> bool:
        """Whether the Gateway sends nothing more to a cluster that the change of ``epoch`` leads away from."""
        return epoch <= self.latest and not _within(self.unread, epoch)

    def to_bytes(self) -> bytes:
        """Serialize as JSON."""
        return json.dumps({"latest": self.latest, "missing": self.missing, "unread": self.unread}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """Parse a report; an empty report for data that cannot be read.

        >>> Report.from_bytes(Report(9, ((3, 4),)).to_bytes())
        Report(latest=9, missing=((3, 4),), unread=())
        >>> Report.from_bytes(b"soon")
        Report(latest=0, missing=(), unread=())
        """
        try:
            told = json.loads(data)
            return cls(int(told["latest"]), _spans(told["missing"]), _spans(told["unread"]))
        except (ValueError, KeyError, TypeError):
            return cls()


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same epochs, sorted, in as few spans as possible.

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
