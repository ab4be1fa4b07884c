"""Rates per second from a Gateway's counters, and the highest of each hour. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any


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
    #: How many changes of bindings the newest Gateway had in effect that this one had not.
    epochs_behind: int = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """The rates per second between two samples. ``cpu``: the share of one core; ``None`` when it is unknown.
    ``bytes_in`` (from clients) and ``bytes_out`` are by kind of request, as ``requests``.
    """

    at: datetime
    connections: Mapping[str, int]
    parked: int
    memory_bytes: int | None
    requests: Mapping[str, float] = field(default_factory=dict)
    bytes_in: Mapping[str, float] = field(default_factory=dict)
    bytes_out: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[str, float] = field(default_factory=dict)
    expired: float = 0.0
    overflowed: float = 0.0
    cpu: float | None = None
    epochs_behind: int = 0


def only(rate: Rate, clusters: Container[str]) -> Rate:
    """Return a rate with the connections to these clusters alone: those that a viewer may see."""
    return replace(rate, connections={name: n for name, n in rate.connections.items() if name in clusters})


def rates(samples: Sequence[Counted]) -> list[Rate]:
    """Return the rates between each two samples. A restarted process counts from zero: then its counters since the
    start are used.

    :param samples: in order.
    """
    return [_between(before, now) for before, now in itertools.pairwise(samples)]


def stored(rate: Rate) -> dict[str, Any]:
    """Return a rate as JSON keeps it, without its time."""
    return {key: value for key, value in asdict(rate).items() if key != "at"}


def read(at: datetime, found: Mapping[str, Any]) -> Rate:
    """Return the rate that :func:`stored` has made."""
    return Rate(at, **found)


def thinned(found: Sequence[Rate], most: int) -> list[Rate]:
    """Return at most ``most`` rates: of each step the highest of every value, so that short peaks are seen, too."""
    every = -(-len(found) // most) or 1
    return [highest(found[begin : begin + every]) for begin in range(0, len(found), every)]


def highest(step: Sequence[Rate]) -> Rate:
    """Return the highest of every value in one step; its time is that of the last."""

    def most(values: Iterable[float | None]) -> Any:
        return max((value for value in values if value is not None), default=None)

    def of_each(values: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        every = list(values)
        return {key: max(each.get(key, 0) for each in every) for key in {k for each in every for k in each}}

    return Rate(
        step[-1].at,
        of_each(rate.connections for rate in step),
        most(rate.parked for rate in step),
        most(rate.memory_bytes for rate in step),
        of_each(rate.requests for rate in step),
        of_each(rate.bytes_in for rate in step),
        of_each(rate.bytes_out for rate in step),
        of_each(rate.refused for rate in step),
        most(rate.expired for rate in step),
        most(rate.overflowed for rate in step),
        most(rate.cpu for rate in step),
        most(rate.epochs_behind for rate in step),
    )


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
        {kind: of(kind, 1) for kind in now.requests},
        {kind: of(kind, 2) for kind in now.requests},
        {reason: grown(before.refused.get(reason, 0), count) for reason, count in now.refused.items()},
        grown(before.expired, now.expired),
        grown(before.overflowed, now.overflowed),
        cpu,
        now.epochs_behind,
    )
