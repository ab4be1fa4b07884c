"""Lost, duplicated, out of order: what the journals of producers and consumers say together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hadash.sandbox.traffic.journal import Journal, Run


@dataclass
class GroupVerdict:
    """What one consumer group saw of what was acknowledged."""

    group: str
    acked: int = 0
    read: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return self.lost == self.duplicated == self.out_of_order == 0


def merge(runs: Iterable[Run]) -> list[tuple[int, int]]:
    """The numbers of runs as disjoint intervals, in order."""
    merged: list[list[int]] = []
    for first, last in sorted((r.first, r.last) for r in runs):
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return [(first, last) for first, last in merged]


def _missing(wanted: Sequence[tuple[int, int]], had: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of ``wanted`` that ``had`` does not cover."""
    missing = []
    for first, last in wanted:
        at = first
        for begin, end in had:
            if end < at or begin > last:
                continue
            if begin > at:
                missing.append((at, begin - 1))
            at = end + 1
            if at > last:
                break
        if at <= last:
            missing.append((at, last))
    return missing


#: All of time.
ALWAYS = (0.0, float("inf"))


def judge(
    group: str,
    producers: Iterable[Journal],
    consumers: Iterable[Journal],
    window: tuple[float, float] = ALWAYS,
) -> GroupVerdict:
    """Compare what producers had acknowledged with what the members of one group read.

    A number read twice by the group is duplicated; one that is read after a higher number of its key, for the
    first time, is out of order; one that was acknowledged and never read is lost.

    :param window: only what was acknowledged, or read, in this time counts (seconds since 1970); what it is compared
        with is all that was ever read.
    """
    verdict = GroupVerdict(group)
    acked: dict[str, list[Run]] = {}
    for journal in producers:
        for run in journal.acked:
            if _within(run, window):
                acked.setdefault(run.key, []).append(run)
    read: dict[str, list[Run]] = {}
    for journal in consumers:
        for run in journal.read:
            read.setdefault(run.key, []).append(run)
    for key, runs in sorted(acked.items()):
        wanted = merge(runs)
        got = sorted(read.get(key, []), key=lambda r: (r.began, r.first))
        verdict.acked += sum(last - first + 1 for first, last in wanted)
        for first, last in _missing(wanted, merge(got)):
            verdict.lost += last - first + 1
            verdict.examples.append(f"lost {key} {first}-{last}")
    for key, runs in sorted(read.items()):
        _judge_reading(verdict, key, sorted(runs, key=lambda r: (r.began, r.first)), window)
    return verdict


def _within(run: Run, window: tuple[float, float]) -> bool:
    return run.ended >= window[0] and run.began <= window[1]


def _judge_reading(verdict: GroupVerdict, key: str, runs: Sequence[Run], window: tuple[float, float]) -> None:
    seen: list[Run] = []
    highest = -1
    for run in runs:
        count = run.last - run.first + 1
        if not _within(run, window):
            highest = max(highest, run.last)
            seen.append(run)
            continue
        verdict.read += count
        if run.first > highest:
            highest = run.last
        else:
            fresh = sum(b - a + 1 for a, b in _missing([(run.first, run.last)], merge(seen)))
            late = sum(b - a + 1 for a, b in _missing([(run.first, min(run.last, highest))], merge(seen)))
            verdict.duplicated += count - fresh
            verdict.out_of_order += late
            verdict.examples.append(f"again or late {key} {run.first}-{run.last} after {highest}")
            highest = max(highest, run.last)
        seen.append(run)


def longest_gap(journal: Journal, began: float, ended: float) -> float | None:
    """The longest time without progress that overlaps [began, ended]; 0.0 for none that was worth noting.

    ``None`` when the client made no progress in that time at all that would allow a statement.
    """
    runs = journal.acked or journal.read
    if not any(r.ended >= began for r in runs):
        return None
    return max((e - b for b, e in journal.gaps if e >= began and b <= ended), default=0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of ``values`` lie (nearest rank).

    >>> percentile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * share // 1))
    return ordered[int(min(rank, len(ordered))) - 1]
