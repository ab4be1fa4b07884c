"""What passes: records by client and cluster over time, and who uses what (access)."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: Facts of access that are kept: those seen last. A client whose client.id is new at each start must not fill the memory.
MAX_FACTS = 50_000


class Stream(NamedTuple):
    """The records of one client on one cluster."""

    appid: str
    client_id: str
    cluster: str


class AccessKey(NamedTuple):
    """One observed fact. ``kind`` is produce, consume (a Topic) or group (a consumer group)."""

    appid: str
    client_id: str
    kind: str
    resource: str
    cluster: str


@dataclass(slots=True)
class AccessFact:
    first_seen: float
    last_seen: float
    host: str
    library: str
    version: str
    records: int = 0
    #: When records moved last; 0.0 for never.
    moved: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


class Traffic:
    """Counters, facts of access, and a ring of samples for pages that show the last minutes."""

    def __init__(self, samples: int, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        #: Records produced and consumed since the last sample.
        self._moved: dict[Stream, tuple[int, int]] = {}
        self.requests: dict[tuple[str, str], int] = {}
        self.refused: dict[str, int] = {}
        self.access: OrderedDict[AccessKey, AccessFact] = OrderedDict()
        self._samples: deque[tuple[float, int, dict[Stream, tuple[int, int]]]] = deque(maxlen=samples)

    def count_request(self, kind: str, cluster: str) -> None:
        key = (kind, cluster)
        self.requests[key] = self.requests.get(key, 0) + 1

    def count_refused(self, reason: str) -> None:
        """A connection or request that was turned away, by a short reason."""
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def count_produced(self, stream: Stream, records: int) -> None:
        self._add(stream, records, 0)

    def count_consumed(self, stream: Stream, records: int) -> None:
        self._add(stream, 0, records)

    def _add(self, stream: Stream, produced: int, consumed: int) -> None:
        before = self._moved.get(stream, (0, 0))
        self._moved[stream] = (before[0] + produced, before[1] + consumed)

    def observe(
        self, key: AccessKey, host: str, library: str, version: str, records: int, **details: Any
    ) -> None:
        """Note that a client used a Topic or group."""
        now = self._clock()
        fact = self.access.get(key)
        if fact is None:
            fact = self.access[key] = AccessFact(now, now, host, library, version)
            if len(self.access) > MAX_FACTS:
                self.access.popitem(last=False)
        else:
            self.access.move_to_end(key)
        fact.last_seen, fact.host, fact.library, fact.version = now, host, library, version
        fact.records += records
        if records:
            fact.moved = now
        fact.details.update(details)

    def sample(self, parked: int) -> None:
        """Close the current sample: what each stream moved since the last one."""
        moved, self._moved = self._moved, {}
        self._samples.append((self._clock(), parked, moved))

    def samples_since(self, since: float, wanted: Callable[[Stream], bool]) -> Iterable[dict[str, Any]]:
        """Samples that ended after ``since``: records by cluster for the streams that are ``wanted``."""
        for at, parked, moved in self._samples:
            if at <= since:
                continue
            clusters: dict[str, list[int]] = {}
            for stream, (produced, consumed) in moved.items():
                if wanted(stream):
                    total = clusters.setdefault(stream.cluster, [0, 0])
                    total[0] += produced
                    total[1] += consumed
            yield {"at": at, "parked": parked, "clusters": clusters}
