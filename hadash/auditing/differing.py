"""Says what differs between a few records of both sides that do not agree. Pure.

Records that both sides hold in the same order are the same, also here; the others are looked at between these. What
both sides hold, but in another order, is reordered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hadash.auditing.findings import Finding, Kind
from hadash.auditing.prints import Print


@dataclass(frozen=True, slots=True)
class Block:
    """Records of the source and of the target, each with its offset."""

    source_offsets: Sequence[int]
    source: Sequence[Print]
    target_offsets: Sequence[int]
    target: Sequence[Print]


def differences(block: Block, source_end: int, target_end: int) -> tuple[list[Finding], int]:
    """Return what differs, in the order of the source, and how many records are the same.

    :param source_end: the offset of the record after the block on the source, and ``target_end`` on the target.
    """
    matches = _matches(block.source, block.target)
    chain = _longest_in_order(matches)
    in_chain = set(chain)
    found = [
        Finding(Kind.REORDERED, block.source_offsets[here], block.target_offsets[there])
        for here, there in matches
        if (here, there) not in in_chain
    ]
    known_here = {here for here, _ in matches}
    known_there = {there for _, there in matches}
    begin_here = begin_there = 0
    for end_here, end_there in [*chain, (len(block.source), len(block.target))]:
        ours = [each for each in range(begin_here, end_here) if each not in known_here]
        theirs = [each for each in range(begin_there, end_there) if each not in known_there]
        next_here = block.source_offsets[end_here] if end_here < len(block.source) else source_end
        next_there = block.target_offsets[end_there] if end_there < len(block.target) else target_end
        found += _gap(block, ours, theirs, next_here, next_there)
        begin_here, begin_there = end_here + 1, end_there + 1
    return sorted(found, key=lambda each: (each.source, each.target)), len(chain)


def _matches(source: Sequence[Print], target: Sequence[Print]) -> list[tuple[int, int]]:
    """The places of records that both sides hold, in the order of the source: the first with the first, and so on."""
    places: dict[Print, list[int]] = {}
    for there, each in reversed(list(enumerate(target))):
        places.setdefault(each, []).append(there)
    return [(here, places[each].pop()) for here, each in enumerate(source) if places.get(each)]


def _longest_in_order(matches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most matches that are in the same order on both sides.

    >>> _longest_in_order([(0, 2), (1, 0), (2, 1), (3, 3)])
    [(1, 0), (2, 1), (3, 3)]
    """
    ends: list[int] = []  # the smallest place on the target with which so many can end
    last: list[int] = []  # the match that has it
    before: list[int] = []  # the match before each
    for index, (_, there) in enumerate(matches):
        length = bisect_left(ends, there)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(there)
            last.append(index)
        else:
            ends[length], last[length] = there, index
    chain = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(matches[index])
        index = before[index]
    return chain[::-1]


def _gap(
    block: Block, ours: list[int], theirs: list[int], next_here: int, next_there: int
) -> Iterator[Finding]:
    """Say what differs between two records that are the same: first what is the same record but for headers and time,
    then what has been replaced; the rest is missing, or too much.
    """
    left = dict.fromkeys(theirs)  # in their order, each removed at once
    by_record = _places(block.target, left, lambda each: (each.key, each.value))
    unpaired = []
    for here in ours:
        mine = block.source[here]
        there = _take(by_record, (mine.key, mine.value), left)
        if there is None:
            unpaired.append(here)
        else:
            yield _unlike(block, here, there)
    if len(unpaired) == len(left):
        for here, there in zip(unpaired, left, strict=True):
            yield _unlike(block, here, there)
        return
    # The same record with another value: the mirror copies key and time.
    by_time = _places(block.target, left, lambda each: (each.key, each.time))
    for here in unpaired:
        mine = block.source[here]
        there = _take(by_time, (mine.key, mine.time), left)
        if there is None:
            yield Finding(Kind.MISSING, block.source_offsets[here], next_there)
        else:
            yield _unlike(block, here, there)
    for there in left:
        yield Finding(Kind.EXTRA, next_here, block.target_offsets[there])


Parts = tuple[int, int]


def _places(
    prints: Sequence[Print], places: Iterable[int], parts: Callable[[Print], Parts]
) -> dict[Parts, deque[int]]:
    """The places by two of their records' parts, the first ones first."""
    found: dict[Parts, deque[int]] = defaultdict(deque)
    for place in places:
        found[parts(prints[place])].append(place)
    return found


def _take(places: dict[Parts, deque[int]], parts: Parts, left: dict[int, None]) -> int | None:
    """Take the first place with these parts; ``None`` if none is left."""
    found = places.get(parts)
    if not found:
        return None
    place = found.popleft()
    del left[place]
    return place


def _unlike(block: Block, here: int, there: int) -> Finding:
    parts = block.source[here].parts_unlike(block.target[there])
    return Finding(_kind(parts), block.source_offsets[here], block.target_offsets[there], parts)


def _kind(parts: tuple[str, ...]) -> Kind:
    if "key" in parts or "value" in parts:
        return Kind.DIFFERENT
    return Kind.HEADERS if "headers" in parts else Kind.TIME
