"""Sums up what was compared by the time of the records: for each window of time how many records both sides hold, and
their checksums, which others can compute as well. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crc32c import crc32c

from hadash.auditing.prints import Print

#: Seconds of a window.
WINDOW_SECONDS = 600

#: Windows that are kept of a side: records come in the order of their offsets, and only roughly in that of their time.
#: Older windows are final by then.
KEPT = 24


@dataclass(slots=True)
class Window:
    """The records of one side in a window of time.

    :param checksum: CRC-32C over the checksums of their parts, one record after the other, in the order of offsets.
    """

    records: int = 0
    checksum: int = 0


class Windows:
    """The windows of one side of a partition, by the seconds since 1970 at which each begins."""

    def __init__(self, seconds: int = WINDOW_SECONDS) -> None:
        self._seconds = seconds
        self.windows: dict[int, Window] = {}

    def add(self, prints: Sequence[Print]) -> None:
        """Add records, in the order of their offsets."""
        for each in prints:
            begin = each.time // 1000 // self._seconds * self._seconds
            window = self.windows.get(begin)
            if window is None:
                window = self.windows[begin] = Window()
                self._trim()
            window.records += 1
            window.checksum = crc32c(b"%d %d %d %d;" % each, window.checksum)

    def _trim(self) -> None:
        if len(self.windows) > KEPT:
            del self.windows[min(self.windows)]
