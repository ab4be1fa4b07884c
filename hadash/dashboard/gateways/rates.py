"""Rates per second from a Gateway's counters. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Counted:
    """One sample: the values at that moment, and the counters since ``started``."""

    at: datetime
    started: datetime
    connections: Mapping[str, int]
    parked: int
    expired: int
    overflowed: int
    refused: Mapping[str, int]
    requests: Mapping[str, Sequence[int]]
    cpu_seconds: float | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Rate:
    """The rates per second between two samples. ``cpu``: the share of one core; ``None`` when it is unknown."""

    at: datetime
    connections: Mapping[str, int]
    parked: int
    memory_bytes: int | None
    requests: Mapping[str, float] = field(default_factory=dict)
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    refused: Mapping[str, float] = field(default_factory=dict)
    expired: float = 0.0
    cpu: float | None = None


def rates(samples: Sequence[Counted]) -> list[Rate]:
    """Return the rates between each two samples. A restarted process counts from zero: then its counters since the
    start are used.

    :param samples: in order.
    """
    return [_between(before, now) for before, now in itertools.pairwise(samples)]


def _between(before: Counted, now: Counted) -> Rate:
    restarted = before.started != now.started
    seconds = max((now.at - (now.started if restarted else before.at)).total_seconds(), 0.001)

    def grown(was: float, is_now: float) -> float:
        return max(0.0, is_now - (0 if restarted else was)) / seconds

    def of(kind: str, place: int) -> float:
        return grown(before.requests.get(kind, (0, 0, 0))[place], now.requests[kind][place])

    cpu = None
    if now.cpu_seconds is not None and (restarted or before.cpu_seconds is not None):
        cpu = grown(before.cpu_seconds or 0.0, now.cpu_seconds)
    return Rate(
        now.at,
        now.connections,
        now.parked,
        now.memory_bytes,
        {kind: of(kind, 0) for kind in now.requests},
        sum(of(kind, 1) for kind in now.requests),
        sum(of(kind, 2) for kind in now.requests),
        {reason: grown(before.refused.get(reason, 0), count) for reason, count in now.refused.items()},
        grown(before.expired + before.overflowed, now.expired + now.overflowed),
        cpu,
    )
