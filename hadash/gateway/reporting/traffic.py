"""Traffic: requests and bytes by kind, records by client over time, and which client uses what (access).

Counting happens with every request, so it only adds to numbers that the client already holds; nothing is looked up or
sorted. Pages, metrics and the lake read the numbers when they need them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hadash.gateway.reporting.pauses import Doing, Pauses
from hadash.gateway.reporting.samples import Samples, Stream
from hadash.lake.access import USES

log = logging.getLogger(__name__)

#: The most access facts that are kept; when there are more, a tenth is dropped, those seen longest ago. A client whose
#: client.id is new at each start must not fill the memory.
MAX_FACTS = 50_000


class Circumstances(NamedTuple):
    """How a client is configured, as far as its requests show; ``None`` for what this kind of access does not show."""

    acks: int | None = None
    idempotent: bool | None = None
    transactional: bool | None = None
    assignors: tuple[str, ...] | None = None
    session_timeout_ms: int | None = None
    #: For a group: whether the client is a member of it, or commits there without being one.
    member: bool | None = None

    @classmethod
    def of_member(cls, assignors: tuple[str, ...] | None, session_timeout_ms: int | None) -> Circumstances:
        """Return the circumstances of a group's member. Both values are ``None`` when its JOIN_GROUP, the only request
        that has them, passed through elsewhere.
        """
        return cls(assignors=assignors, session_timeout_ms=session_timeout_ms, member=True)

    def and_before(self, earlier: Circumstances) -> Circumstances:
        """Return what both know: a later fact without a value does not deny the earlier one.

        >>> joined = Circumstances.of_member(("range",), 45_000)
        >>> Circumstances(member=False).and_before(joined) == joined
        True
        """
        known = {
            name: earlier_value
            for name, earlier_value in earlier._asdict().items()
            if earlier_value is not None
        }
        known |= {name: value for name, value in self._asdict().items() if value is not None}
        if self.member or earlier.member:
            known["member"] = True
        return Circumstances(**known)

    def known(self) -> dict[str, Any]:
        """Return the values that are known, by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class AccessKey(NamedTuple):
    """One observed fact. ``kind`` is produce or consume (a Topic), group (a consumer group), or list: the client asks
    for all Topics, which does not count as use of any (:data:`hadash.lake.access.LISTING`).
    """

    appid: str
    client_id: str
    kind: str
    resource: str
    cluster: str
    host: str
    library: str
    version: str
    circumstances: Circumstances = Circumstances()


class AccessFact:
    """The times and counts of one fact. The counts only grow; ``reported`` are those that the lake has."""

    __slots__ = ("bytes", "evicted", "first_seen", "last_seen", "moved", "records", "reported", "requests")

    @property
    def is_reported(self) -> bool:
        """Whether the lake has all of it."""
        return self.reported == (self.requests, self.records, self.bytes)

    def __init__(self, now: float) -> None:
        self.first_seen = self.last_seen = now
        self.requests = 0
        self.records = 0
        self.bytes = 0
        #: When records moved last; 0.0 for never.
        self.moved = 0.0
        self.reported = (0, 0, 0)
        self.evicted = False

    def note(self, now: float, records: int, size: int) -> None:
        """Add a request that moved ``records`` records in ``size`` bytes."""
        if now > self.last_seen:  # the clock may have been read a moment before this fact was created
            self.last_seen = now
        self.requests += 1
        if records:
            self.moved = now
            self.records += records
            self.bytes += size


@dataclass(slots=True, eq=False)
class KindCounter:
    """The requests of one kind on one cluster, and the bytes of requests and answers."""

    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class Traffic:
    """Counters, access facts, and a ring of samples for pages that show the last minutes.

    :param samples: how many samples are kept.
    :param reports: whether facts are reported to a lake; dropped facts are then kept until they are.
    """

    def __init__(
        self, samples: int, clock: Callable[[], float] = time.time, *, reports: bool = False
    ) -> None:
        self.clock = clock
        self._reports = reports
        #: By kind and cluster.
        self.requests: dict[tuple[str, str], KindCounter] = {}
        self.refused: dict[str, int] = {}
        self.sign_ins = 0
        self.renewed_sessions = 0
        self.access: dict[AccessKey, AccessFact] = {}
        #: The same by AppID: a switch that waits for an AppID's clients asks ten times a second.
        self._access_of: dict[str, dict[AccessKey, AccessFact]] = {}
        #: Facts that were dropped before they were reported to the lake.
        self.evicted: list[tuple[AccessKey, AccessFact]] = []
        #: How many reports were lost because the lake could not be written to for too long.
        self.unreported = 0
        self._samples = Samples(samples, clock)
        self.pauses = Pauses(clock, self.moved_last)

    # -- counting ------------------------------------------------------------------------------------------------

    def counter(self, kind: str, cluster: str) -> KindCounter:
        """Return the counter for requests of ``kind`` to ``cluster``."""
        return self.requests.setdefault((kind, cluster), KindCounter())

    def count_refused(self, reason: str) -> None:
        """Count a connection or request that was refused, by a short reason."""
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def count_produced(self, stream: Stream, records: int) -> None:
        """Count records that a client has written."""
        self._samples.of(stream)[0] += records
        if self.pauses.watched:
            self.pauses.moved(stream.appid, stream.client_id, "produce")

    def count_consumed(self, stream: Stream, records: int) -> None:
        """Count records that a client has read."""
        self._samples.of(stream)[1] += records
        if self.pauses.watched and records:
            self.pauses.moved(stream.appid, stream.client_id, "consume")

    # -- access ----------------------------------------------------------------------------------------------------

    def fact(self, key: AccessKey) -> AccessFact:
        """Return the fact in which the access of ``key`` is noted. A client may keep it until it is ``evicted``."""
        fact = self.access.get(key)
        if fact is None:
            if len(self.access) >= MAX_FACTS:
                self._evict()
            fact = self.access[key] = AccessFact(self.clock())
            self._access_of.setdefault(key.appid, {})[key] = fact
        return fact

    def topics_used(self, appid: str, cluster: str) -> frozenset[str]:
        """Return the Topics of ``cluster`` that clients of ``appid`` write or read."""
        return frozenset(
            key.resource
            for key in self._access_of.get(appid, ())
            if key.cluster == cluster and key.kind in ("produce", "consume")
        )

    def moved_last(self, appid: str) -> dict[Doing, float]:
        """Return when each client of an AppID last wrote, and last read, records."""
        found: dict[Doing, float] = {}
        for key, fact in self._access_of.get(appid, {}).items():
            if fact.moved:
                doing = Doing(key.client_id, key.kind)
                found[doing] = max(fact.moved, found.get(doing, 0.0))
        return found

    def _evict(self) -> None:
        oldest = sorted(self.access, key=lambda key: self.access[key].last_seen)
        for key in oldest[: max(1, MAX_FACTS // 10)]:
            fact = self.access.pop(key)
            same = self._access_of[key.appid]
            del same[key]
            if not same:
                del self._access_of[key.appid]
            fact.evicted = True
            if self._reports and not fact.is_reported:
                self.evicted.append((key, fact))
        lost = len(self.evicted) - MAX_FACTS
        if lost > 0:
            del self.evicted[:lost]
            self.unreported += lost
            log.warning("the lake cannot be written to and memory is full: %d access reports are lost", lost)

    def forget_evicted(self) -> None:
        """Forget the evicted facts that the lake has after a batch was written."""
        self.evicted = [(key, fact) for key, fact in self.evicted if not fact.is_reported]

    def appids(self) -> list[str]:
        """Return the AppIDs of whose access something is known."""
        return list(self._access_of)

    def latest_access(
        self, appid: str | None = None, client_id: str | None = None
    ) -> dict[tuple[str, str, str, str, str], tuple[AccessKey, AccessFact]]:
        """Return which client uses what, by AppID, client.id, kind, resource and cluster, of one AppID or client, or of
        all. Each has the latest known circumstances, and all counts and times.
        """
        found: dict[tuple[str, str, str, str, str], tuple[AccessKey, AccessFact]] = {}
        facts = self.access if appid is None else self._access_of.get(appid, {})
        wanted = [item for item in facts.items() if client_id is None or item[0].client_id == client_id]
        for key, fact in sorted(wanted, key=lambda item: item[1].last_seen):
            if key.kind not in USES:
                continue
            before, together = found.get(key[:5], (key, None))
            merged = AccessFact(fact.first_seen)
            merged.last_seen, merged.moved = fact.last_seen, fact.moved
            merged.requests, merged.records, merged.bytes = fact.requests, fact.records, fact.bytes
            if together is not None:
                merged.first_seen = min(merged.first_seen, together.first_seen)
                merged.moved = max(merged.moved, together.moved)
                merged.requests += together.requests
                merged.records += together.records
                merged.bytes += together.bytes
            circumstances = key.circumstances.and_before(before.circumstances)
            found[key[:5]] = (key._replace(circumstances=circumstances), merged)
        return found

    # -- samples ---------------------------------------------------------------------------------------------------

    def sample(self, parked: int) -> Generator[None, None, None]:
        """Close the current sample: the records of each stream since the last one. The rest is done in slices."""
        return self._samples.close(parked)

    def samples_since(
        self, since: float, appid: str | None = None, client_id: str | None = None
    ) -> Iterable[dict[str, Any]]:
        """Return the samples that ended after ``since``: records by cluster, of one AppID or client, or of all."""
        return self._samples.since(since, appid, client_id)
