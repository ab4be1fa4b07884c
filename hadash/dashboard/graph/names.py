"""The names of all Topics, or groups, of a published run, for searching.

A large fleet has some hundred thousand of them. PostgreSQL would scan all rows for each search, and a published run
does not change, so each process caches them: some twenty megabytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator
from functools import lru_cache

from hadash.governance.models.published import Node

#: Runs and kinds that are cached: both kinds of the last run and of the one before.
REMEMBERED = 4


class Names:
    """Names joined to one text, both unchanged and case-folded, with the pair of each."""

    def __init__(self, names: Collection[tuple[str, str]]) -> None:
        """:param names: (pair, name).

        >>> names = Names([("main", "Orders"), ("main", "stock"), ("other", "reorders")])
        >>> list(names.holding("ORDER", {"main", "other"}))
        [('main', 'Orders'), ('other', 'reorders')]
        """
        self._pair_names = sorted({pair for pair, _name in names})
        numbers = {pair: number for number, pair in enumerate(self._pair_names)}
        self._pairs = array("H", (numbers[pair] for pair, _name in names))
        lines = [name.replace("\n", " ") for _pair, name in names]
        folded = [line.casefold() for line in lines]
        self._lines, self._begins = "\n".join(lines), _begins(lines)
        self._folded, self._folded_begins = "\n".join(folded), _begins(folded)

    def holding(self, text: str, pairs: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield (pair, name) for each name that contains ``text``, ignoring case."""
        wanted = text.casefold()
        at = self._folded.find(wanted) if wanted and "\n" not in wanted else -1
        while at >= 0:
            number = bisect_right(self._folded_begins, at) - 1
            pair = self._pair_names[self._pairs[number]]
            if pair in pairs:
                yield pair, self._line(number)
            if number + 1 == len(self._folded_begins):
                return
            at = self._folded.find(wanted, self._folded_begins[number + 1])

    def _line(self, number: int) -> str:
        begin = self._begins[number]
        end = self._lines.find("\n", begin)
        return self._lines[begin:] if end < 0 else self._lines[begin:end]


def _begins(lines: list[str]) -> array[int]:
    """Return where each line begins."""
    found, at = array("L"), 0
    for line in lines:
        found.append(at)
        at += len(line) + 1
    return found


@lru_cache(maxsize=REMEMBERED)
def names_of(run: int, kind: str) -> Names:
    """Return the names of a kind in a published run, in the order of publication."""
    rows = Node.objects.filter(run=run, kind=kind).order_by("pk").values_list("pair", "names")
    return Names([(pair, names[0]) for pair, names in rows.iterator(chunk_size=10_000) if names])
