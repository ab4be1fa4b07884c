"""What passes: requests and bytes by kind, records by client over time, and who uses what (access).

Counting happens with every request, so it is adding to numbers that the client already holds: nothing is looked up or
sorted then. Pages, metrics and the lake read them when they need them.
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

#: Facts of access that are kept; when there are more, those seen longest ago go, a tenth at a time. A client whose
#: client.id is new at each start must not fill the memory.
MAX_FACTS = 50_000


class Circumstances(NamedTuple):
    """How a client is set up, as far as its requests say; ``None`` for what this kind of access does not say."""

    acks: int | None = None
    idempotent: bool | None = None
    transactional: bool | None = None
    assignors: tuple[str, ...] | None = None
    session_timeout_ms: int | None = None
    #: Of a group: whether the client is a member of it, or commits there without being one.
    member: bool | None = None

    @classmethod
    def of_member(cls, assignors: tuple[str, ...] | None, session_timeout_ms: int | None) -> Circumstances:
        """Of a group's member. Its JOIN_GROUP, which alone says how it is set up, may have passed elsewhere:
        then both are ``None``.
        """
        return cls(assignors=assignors, session_timeout_ms=session_timeout_ms, member=True)

    def and_before(self, earlier: Circumstances) -> Circumstances:
        """What is known of both: a later fact that does not say something does not deny it.

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
        return {name: value for name, value in self._asdict().items() if value is not None}


class AccessKey(NamedTuple):
    """One observed fact. ``kind`` is produce, consume (a Topic) or group (a consumer group); or list: it asks
    for all Topics, which is no use of any (:data:`hadash.lake.access.LISTING`).
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
    """When and how much. The numbers only grow; ``reported`` is what the lake has of them."""

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
        """One more request that moved ``records`` records in ``size`` bytes."""
        if now > self.last_seen:  # the clock was read a moment before this fact was made
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
    """Counters, facts of access, and a ring of samples for pages that show the last minutes.

    :param samples: how many are kept.
    :param reports: whether facts are reported to a lake, so that those which have to go must wait for that.
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
        #: The same by AppID: who waits for an AppID's clients asks ten times a second.
        self._access_of: dict[str, dict[AccessKey, AccessFact]] = {}
        #: Facts that had to go before they were reported to the lake.
        self.evicted: list[tuple[AccessKey, AccessFact]] = []
        #: How many were lost, because the lake could not be written to for too long.
        self.unreported = 0
        self._samples = Samples(samples, clock)
        self.pauses = Pauses(clock, self.moved_last)

    # -- counting ------------------------------------------------------------------------------------------------

    def counter(self, kind: str, cluster: str) -> KindCounter:
        """Where requests of ``kind`` to ``cluster`` are counted."""
        return self.requests.setdefault((kind, cluster), KindCounter())

    def count_refused(self, reason: str) -> None:
        """A connection or request that was turned away, by a short reason."""
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def count_produced(self, stream: Stream, records: int) -> None:
        self._samples.of(stream)[0] += records
        if self.pauses.watched:
            self.pauses.moved(stream.appid, stream.client_id, "produce")

    def count_consumed(self, stream: Stream, records: int) -> None:
        self._samples.of(stream)[1] += records
        if self.pauses.watched and records:
            self.pauses.moved(stream.appid, stream.client_id, "consume")

    # -- access ----------------------------------------------------------------------------------------------------

    def fact(self, key: AccessKey) -> AccessFact:
        """Where the access of ``key`` is noted. A client may keep it as long as it is not ``evicted``."""
        fact = self.access.get(key)
        if fact is None:
            if len(self.access) >= MAX_FACTS:
                self._evict()
            fact = self.access[key] = AccessFact(self.clock())
            self._access_of.setdefault(key.appid, {})[key] = fact
        return fact

    def topics_used(self, appid: str, cluster: str) -> frozenset[str]:
        """The Topics of ``cluster`` that clients of ``appid`` write or read."""
        return frozenset(
            key.resource
            for key in self._access_of.get(appid, ())
            if key.cluster == cluster and key.kind in ("produce", "consume")
        )

    def moved_last(self, appid: str) -> dict[Doing, float]:
        """When records of each client of an AppID were written, and read, last."""
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
        """A batch has been written: those of the evicted facts that the lake has now need not be kept."""
        self.evicted = [(key, fact) for key, fact in self.evicted if not fact.is_reported]

    def latest_access(
        self, appid: str | None = None, client_id: str | None = None
    ) -> dict[tuple[str, str, str, str, str], tuple[AccessKey, AccessFact]]:
        """Who uses what, by AppID, client.id, kind, resource and cluster: of each circumstance the latest
        that is known, with all counts and times. Of one AppID or client, or of all.
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
        """Close the current sample: what each stream moved since the last one. What is left to do is done in slices."""
        return self._samples.close(parked)

    def samples_since(
        self, since: float, appid: str | None = None, client_id: str | None = None
    ) -> Iterable[dict[str, Any]]:
        """Samples that ended after ``since``: records by cluster, of one AppID or client, or of all."""
        return self._samples.since(since, appid, client_id)
