"""Limits a log so that strangers cannot fill it."""

from __future__ import annotations

import logging
from collections.abc import Callable

#: Lines per second about clients that were refused; further ones are only counted. A hundred lines are enough to see a
#: fleet with a wrong password, and a stranger causes at most 1 GB a day.
LINES_PER_SECOND = 100


class LogLimit:
    """Warnings of one kind, limited to ``most`` per second.

    :param clock: returns seconds.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float], most: int = LINES_PER_SECOND) -> None:
        self._log = log
        self._clock = clock
        self._most = most
        self._since = 0.0
        self._lines = 0
        self._left_out = 0

    def warning(self, line: str, *values: object) -> None:
        """Log a warning, unless there were too many in this second."""
        now = self._clock()
        if now - self._since >= 1.0:
            self._since, self._lines = now, 0
            if self._left_out:
                self._log.warning("%d more such lines were left out", self._left_out)
                self._left_out = 0
        if self._lines < self._most:
            self._lines += 1
            self._log.warning(line, *values)
        else:
            self._left_out += 1


#: How many different notes are logged; further ones are dropped: a log that repeats itself for each client helps
#: nobody.
MAX_NOTES = 1000


class Notes:
    """Warnings of which each is logged once: what an operator should fix."""

    def __init__(self, log: logging.Logger, most: int = MAX_NOTES) -> None:
        self._log = log
        self._most = most
        self._noted: set[str] = set()

    def once(self, what: str) -> None:
        """Log ``what``, unless it was logged before."""
        if what not in self._noted and len(self._noted) < self._most:
            self._noted.add(what)
            self._log.warning("%s", what)
