"""Read the list that a person typed, and assign radii to waves. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hadash.sentences import Sentence, say

#: Separates a name from the number of its wave. It is not the comma, which names pasted from tables contain.
_SEPARATORS = ";；"

#: The most digits of a wave's number: a longer one is a typing error.
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One name, and its wave if the line gives one."""

    name: str
    wave: int | None = None


def read_list(text: str) -> tuple[list[Line], list[Sentence]]:
    """The lines of a list, and its faults. Empty lines are ignored, and equal lines count once.

    >>> read_list("orders; 2\\nreturns")[0]
    [Line(name='orders', wave=2), Line(name='returns', wave=None)]
    """
    found: dict[str, Line] = {}
    faults: list[Sentence] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line:
            continue
        name, wave, understood = _parted(line)
        if not understood:
            faults.append(
                say("Line %(line)s: write a name, or a name; and the number of its wave.", line=number)
            )
        elif name in found and found[name].wave != wave:
            faults.append(
                say("Line %(line)s: %(name)s stands in another wave above.", line=number, name=name)
            )
        else:
            found.setdefault(name, Line(name, wave))
    return list(found.values()), faults


class _Parted(NamedTuple):
    """A line: a name, and the wave that it asks for, if it does."""

    name: str
    wave: int | None
    is_understood: bool


def _parted(line: str) -> _Parted:
    for separator in _SEPARATORS:
        name, found, tail = line.rpartition(separator)
        number = tail.strip()
        if found:
            good = bool(name.strip()) and number.isascii() and number.isdecimal() and len(number) <= _DIGITS
            return _Parted(name.strip(), int(number) if good else None, good and int(number) > 0)
    return _Parted(line, None, is_understood=True)


def in_waves(said: Sequence[int | None], size: int, first: int | None = None) -> list[int]:
    """The wave of each radius: the given one; radii without one follow after those, ``size`` in each wave.

    :param first: the size of the first of the following waves; ``None``: ``size``.

    >>> in_waves([None] * 5, 2, first=1)
    [1, 2, 2, 3, 3]
    >>> in_waves([None, 1, None, 2], 1)
    [3, 1, 4, 2]
    """
    wave = max((number for number in said if number is not None), default=0) + 1
    room = size if first is None else first
    found = []
    for number in said:
        if number is None:
            if not room:
                wave, room = wave + 1, size
            room -= 1
        found.append(wave if number is None else number)
    return found
