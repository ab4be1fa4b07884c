"""Observes the requests of one client as they pass: for access reports, samples and metrics."""

from __future__ import annotations

from hadash.gateway.clients.members import Member
from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.records import Produced
from hadash.gateway.reporting.traffic import (
    AccessFact,
    AccessKey,
    Circumstances,
    KindCounter,
    Stream,
    Traffic,
)
from hadash.lake.access import ALL_TOPICS, LISTING

_READING = Circumstances()


class Observer:
    """Counts for one client. It keeps references to the counters, so that a request costs a few additions."""

    def __init__(self, traffic: Traffic, signed: SignedIn, host: str) -> None:
        self._traffic = traffic
        self._signed = signed
        self._host = host
        self._cluster = signed.upstream.cluster
        self._stream = Stream(signed.appid, signed.client_id, self._cluster)
        self._counters: dict[ApiKey, KindCounter] = {}
        #: Facts by Topic, acks, idempotent and transactional.
        self._producing: dict[tuple[str, int, bool, bool], AccessFact] = {}
        self._facts: dict[tuple[str, str, Circumstances], AccessFact] = {}

    def request(self, kind: ApiKey, size: int) -> None:
        """Count a request of ``size`` bytes that has arrived."""
        counter = self.counter(kind)
        counter.requests += 1
        counter.bytes_in += size

    def counter(self, kind: ApiKey) -> KindCounter:
        """Return the counter for requests of ``kind``."""
        counter = self._counters.get(kind)
        if counter is None:
            counter = self._counters[kind] = self._traffic.counter(kind.name, self._cluster)
        return counter

    def _fact(self, kind: str, resource: str, circumstances: Circumstances) -> AccessFact:
        signed = self._signed
        return self._traffic.fact(
            AccessKey(
                signed.appid,
                signed.client_id,
                kind,
                resource,
                self._cluster,
                self._host,
                signed.library,
                signed.library_version,
                circumstances,
            )
        )

    def _note(
        self, kind: str, resource: str, circumstances: Circumstances, records: int, size: int = 0
    ) -> None:
        local = kind, resource, circumstances
        fact = self._facts.get(local)
        if fact is None or fact.evicted:
            fact = self._facts[local] = self._fact(kind, resource, circumstances)
        fact.note(self._traffic.clock(), records, size)

    def producing(self, produced: Produced) -> int:
        """Count a PRODUCE that passes, and return how many records it carries."""
        total = 0
        acks, transactional = produced.acks, produced.transactional_id is not None
        now = self._traffic.clock()
        for topic, _, records, size, producer_id, *_ in produced.partitions:
            local = topic, acks, producer_id >= 0, transactional
            fact = self._producing.get(local)
            if fact is None or fact.evicted:
                circumstances = Circumstances(acks, producer_id >= 0, transactional)
                fact = self._producing[local] = self._fact("produce", topic, circumstances)
            fact.note(now, records, size)
            total += records
        return total

    def produced(self, records: int) -> None:
        """Count ``records`` that the cluster has acknowledged (or never will, with acks=0)."""
        self._traffic.count_produced(self._stream, records)

    def consumed(self, counts: dict[str, tuple[int, int]]) -> None:
        """Count records, and their bytes, by Topic, that have gone to the client."""
        for topic, (records, size) in counts.items():
            self._note("consume", topic, _READING, records, size)
            self._traffic.count_consumed(self._stream, records)

    def reading(self, topic: str) -> None:
        """Note that the client reads ``topic``, even if no records come."""
        self._note("consume", topic, _READING, 0)

    def lists(self) -> None:
        """Note that the client asks for all Topics, as a client that subscribes to a pattern does."""
        self._note(LISTING, ALL_TOPICS, _READING, 0)

    def joins(self, group: str, assignors: tuple[str, ...], session_timeout_ms: int) -> None:
        """Note that the client becomes a member of ``group``."""
        self._note("group", group, Circumstances.of_member(assignors, session_timeout_ms), 0)

    def commits(self, group: str, member: Member | None) -> None:
        """Note that the client commits in ``group``, as ``member`` or without being one."""
        if member is None:
            circumstances = Circumstances(member=False)
        else:
            circumstances = Circumstances.of_member(member.assignors, member.session_timeout_ms)
        self._note("group", group, circumstances, 0)
