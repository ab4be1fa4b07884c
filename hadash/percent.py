"""Percentages for people: 100 % says *all*, and 0 % says *none*. Pure."""

from __future__ import annotations


def whole_percent(part: float, whole: float) -> int:
    """Return a rounded percentage that is 100 only for all, and 0 only for none.

    >>> whole_percent(3, 8), whole_percent(999, 1000), whole_percent(1, 1000), whole_percent(2, 2), whole_percent(0, 2)
    (38, 99, 1, 100, 0)
    """
    if part == whole or not part:
        return 100 if part else 0
    return min(99, max(1, round(100 * part / whole)))
