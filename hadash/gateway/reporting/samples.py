"""The last minutes of traffic as a ring of samples, in bounded memory.

Readers ask for one AppID, or for one of its clients: the chart of a running switch and the rates of clients; a switch
that has ended stores its own minutes. So the newest samples tell clients apart, as far back as there is room; older
ones hold totals of each AppID, packed; the oldest are dropped.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

#: The most clients that are told apart in all samples together: about 50 MB. 330 clients that are always active have
#: ten minutes of their own, 20,000 have ten seconds, and a client's rate is computed over the last three.
MAX_DETAILS = 400_000

#: The most totals of AppIDs in all samples: 12 bytes each. 3,000 active AppIDs have ten minutes, 20,000 have 1.5
#: minutes.
MAX_TOTALS = 4_000_000

#: Clients that are summed up in one slice: about 0.3 ms.
_SLICE = 512

#: The largest number that an array holds; an AppID exceeds it with more than eight billion records a second.
_MOST = 2**32 - 1


class Stream(NamedTuple):
    """The records of one client on one cluster."""

    appid: str
    client_id: str
    cluster: str


class _Detailed(NamedTuple):
    """One sample: records produced and consumed, by AppID and stream."""

    at: float
    parked: int
    moved: dict[str, dict[Stream, list[int]]]
    streams: int


class _Summed(NamedTuple):
    """One sample reduced to each AppID's totals on each cluster: its number (sorted), produced, consumed."""

    at: float
    parked: int
    numbers: array[int]
    produced: array[int]
    consumed: array[int]


class Samples:
    """The ring of samples.

    :param count: how many samples are kept.
    :param clock: returns seconds since 1970.
    """

    def __init__(self, count: int, clock: Callable[[], float]) -> None:
        self._count = count
        self._clock = clock
        self._moved: dict[str, dict[Stream, list[int]]] = {}
        self._streams = 0
        self._detailed: deque[_Detailed] = deque()
        self._summed: deque[_Summed] = deque()
        self._details = self._totals = 0
        #: The number of each AppID on each cluster. They are never removed: AppIDs are few, and signed in.
        self._numbers: dict[tuple[str, str], int] = {}

    def of(self, stream: Stream) -> list[int]:
        """Return the records of ``stream`` since the last sample, produced and consumed, for the caller to add to."""
        streams = self._moved.get(stream.appid)
        if streams is None:
            streams = self._moved[stream.appid] = {}
        moved = streams.get(stream)
        if moved is None:
            moved = streams[stream] = [0, 0]
            self._streams += 1
        return moved

    def close(self, parked: int) -> Generator[None, None, None]:
        """Close the current sample at once, then make room in slices."""
        self._detailed.append(_Detailed(self._clock(), parked, self._moved, self._streams))
        self._details += self._streams
        self._moved, self._streams = {}, 0
        return self._make_room()

    def _make_room(self) -> Generator[None, None, None]:
        while len(self._detailed) + len(self._summed) > self._count:
            self._forget()
        while self._details > MAX_DETAILS and len(self._detailed) > 1:
            oldest = self._detailed[0]
            summed = yield from self._sum(oldest)
            if not self._detailed or self._detailed[0] is not oldest:
                return  # a later call was faster and has removed this sample
            self._detailed.popleft()
            self._details -= oldest.streams
            self._summed.append(summed)
            self._totals += len(summed.numbers)
        while self._totals > MAX_TOTALS and self._summed:
            self._forget()

    def _forget(self) -> None:
        """Drop the oldest sample."""
        if self._summed:
            self._totals -= len(self._summed.popleft().numbers)
        else:
            self._details -= self._detailed.popleft().streams

    def _sum(self, sample: _Detailed) -> Generator[None, None, _Summed]:
        totals: dict[int, list[int]] = {}
        done = 0
        for streams in sample.moved.values():
            for stream, (produced, consumed) in streams.items():
                key = stream.appid, stream.cluster
                total = totals.setdefault(self._numbers.setdefault(key, len(self._numbers)), [0, 0])
                total[0] += produced
                total[1] += consumed
                done += 1
                if done % _SLICE == 0:
                    yield
        numbers = sorted(totals)
        return _Summed(
            sample.at,
            sample.parked,
            array("I", numbers),
            array("I", [min(totals[number][0], _MOST) for number in numbers]),
            array("I", [min(totals[number][1], _MOST) for number in numbers]),
        )

    def since(self, since: float, appid: str | None, client_id: str | None) -> Iterator[dict[str, Any]]:
        """Yield the samples that ended after ``since``: records by cluster, of one AppID or client, or of all.

        For a client there are only the samples in which clients are told apart.
        """
        if client_id is None:
            numbered = [(number, key[1]) for key, number in self._numbers.items() if appid in (None, key[0])]
            for summed in self._summed:
                if summed.at > since:
                    yield _told(summed.at, summed.parked, _totals_of(summed, numbered))
        for sample in self._detailed:
            if sample.at > since:
                chosen = sample.moved.values() if appid is None else [sample.moved.get(appid, {})]
                clusters: dict[str, list[int]] = {}
                for streams in chosen:
                    for cluster, moved in _by_cluster(streams, client_id).items():
                        _add(clusters, cluster, *moved)
                yield _told(sample.at, sample.parked, clusters)


def _by_cluster(streams: dict[Stream, list[int]], client_id: str | None = None) -> dict[str, list[int]]:
    clusters: dict[str, list[int]] = {}
    for stream, (produced, consumed) in streams.items():
        if client_id is None or stream.client_id == client_id:
            _add(clusters, stream.cluster, produced, consumed)
    return clusters


def _totals_of(summed: _Summed, numbered: list[tuple[int, str]]) -> dict[str, list[int]]:
    clusters: dict[str, list[int]] = {}
    for number, cluster in numbered:
        place = bisect_left(summed.numbers, number)
        if place < len(summed.numbers) and summed.numbers[place] == number:
            _add(clusters, cluster, summed.produced[place], summed.consumed[place])
    return clusters


def _add(clusters: dict[str, list[int]], cluster: str, produced: int, consumed: int) -> None:
    total = clusters.setdefault(cluster, [0, 0])
    total[0] += produced
    total[1] += consumed


def _told(at: float, parked: int, clusters: dict[str, list[int]]) -> dict[str, Any]:
    return {"at": at, "parked": parked, "clusters": clusters}
