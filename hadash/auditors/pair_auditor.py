"""Audits the partitions of a pair that an auditor has: one thread reads both clusters, compares, and notes.

Each Topic of the pool has a :class:`TopicAuditor`, which the pool's member tells what to read; all of them share the
thread and its two consumers.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from django.db import Error as DatabaseError
from django.db import close_old_connections, connections

from hadash.auditors.ledger import Claim, Direction, Progress
from hadash.auditors.partition_auditor import PartitionAuditor, Which
from hadash.auditors.places import Held
from hadash.auditors.settings import AuditorSettings
from hadash.auditors.side_reader import SideReader, Taken
from hadash.coordinator.member.topic_reader import Reading
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import NOTHING, Sentence, say

log = logging.getLogger(__name__)

#: Seconds that the thread waits for records of each side: a new assignment is noticed after them, at the latest.
READ_SECONDS = 0.05

#: Seconds before a cluster or a database that has not answered is asked again.
AGAIN_SECONDS = 0.5

#: Seconds over which the bytes that are read are measured.
RATE_SECONDS = 1.0

#: Records of a side that are read ahead in any case: fewer would be a request for each few records.
LEAST_AHEAD = 64

#: Partitions of which nothing is new are noted this much more seldom than others: their age is still true.
IDLE_NOTES = 5

NOT_MIRRORED = say("No mirror copies this Topic.")
TURNING = say("The mirror is being turned round.")
COMPACTED = say(
    "The Topic is compacted: each side removes other records, so that they cannot be compared one by one."
)
NOT_THERE = say("One of the clusters does not have the partition, or it has no leader there.")
NO_POINT = say("It is not known yet where both sides correspond.")
TAKEN_OVER = say("Another auditor has taken this partition.")


class Clusters(Protocol):
    """Both clusters of a pair, by their keys."""

    def readers(self) -> Mapping[int, SideReader]:
        """A new reader of each cluster."""
        ...

    def held(self, partitions: Iterable[Partition]) -> Mapping[int, Mapping[Partition, tuple[int, int]]]:
        """The first and the next offset of partitions, by cluster. :raises KafkaError: one does not answer."""
        ...

    def compacted(self, topics: Iterable[str]) -> set[str]:
        """Those of the Topics that are compacted. :raises KafkaError: a cluster does not answer."""
        ...


class Books(Protocol):
    """What :class:`hadash.auditors.ledger.Ledger` does."""

    def directions(self) -> Mapping[str, Direction]: ...

    def syncs(
        self, partitions: Iterable[Partition], directions: Mapping[str, Direction]
    ) -> Mapping[Partition, OffsetSync]: ...

    def claim(self, partition: Partition, source: int, sync: OffsetSync, held: Held) -> Claim: ...

    def note(self, progress: list[Progress]) -> set[int]: ...

    def say(self, partition: Partition, source: int, fault: Sentence) -> None: ...


@dataclass(slots=True)
class Audit:
    """A partition that is being audited."""

    source: int
    target: int
    claim: Claim
    auditor: PartitionAuditor
    held: Held
    #: When all that both sides held was compared; and a look at what they hold, with its time, that waits for that.
    compared_at: datetime | None = None
    awaited: tuple[Held, datetime] | None = None
    #: What was noted of it: counts, and when.
    equal: int = 0
    different: int = 0
    noted_at: float = 0.0
    is_new: bool = True
    bytes: int = 0

    def has_compared(self, held: Held) -> bool:
        """Whether all that both sides held then was read and compared, but for what the target did not have yet."""
        fetched = self.auditor.fetched
        return (
            fetched[Which.SOURCE] >= held.source_end
            and fetched[Which.TARGET] >= held.target_end
            and not self.auditor.is_searching
        )

    def which(self, cluster: int) -> Which:
        return Which.SOURCE if cluster == self.source else Which.TARGET


@dataclass(slots=True)
class Wanted:
    """What a Topic's auditor is to read."""

    token: int = -1
    partitions: frozenset[int] = frozenset()
    is_ending: bool = False
    reading: Reading = field(default_factory=Reading)


class PairAuditor:
    """Audits what it is told to, until it is stopped.

    :param clock: returns seconds since 1970.
    """

    def __init__(
        self,
        books: Books,
        clusters: Clusters,
        settings: AuditorSettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._books = books
        self._clusters = clusters
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._topics: dict[str, Wanted] = {}
        self._stop = threading.Event()
        self._audits: dict[Partition, Audit] = {}
        #: Why partitions that are wanted are not audited.
        self._faults: dict[Partition, Sentence] = {}
        #: Partitions that another auditor has claimed, with the assignment by which this one had them: with the same it
        #: does not take them back.
        self._lost: dict[Partition, int] = {}
        self._directions: Mapping[str, Direction] = {}
        self._sides: Mapping[int, SideReader] = {}
        self._looked_at = self._noted_at = -1e9
        self._error = ""
        self._rates: dict[Partition, float] = {}
        self._measured_at = time.monotonic()
        #: Until when nothing is read, because enough was.
        self._rests_until = 0.0
        self._thread = threading.Thread(target=self._run, name="auditor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Let it note how far it is, and end; wait for it at most so long."""
        self._stop.set()
        self._thread.join(seconds)

    def topic(self, name: str) -> TopicAuditor:
        """What the pool's member tells what to read of a Topic."""
        with self._lock:
            self._topics[name] = Wanted()
        return TopicAuditor(name, self)

    # -- what Topics' auditors ask ---------------------------------------------------------------------------------

    def assign(self, topic: str, token: int, partitions: frozenset[int]) -> None:
        with self._lock:
            wanted = self._topics[topic]
            wanted.token, wanted.partitions = token, partitions

    def end(self, topic: str) -> None:
        with self._lock:
            if topic in self._topics:
                self._topics[topic].is_ending = True

    def reading(self, topic: str) -> Reading:
        with self._lock:
            wanted = self._topics.get(topic)
            return wanted.reading if wanted is not None else Reading()

    def has_ended(self, topic: str) -> bool:
        with self._lock:
            return topic not in self._topics

    # -- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._step()
        finally:
            self._close()

    def _close(self) -> None:
        try:
            self._leave(set(self._audits))
        except Exception as error:  # it ends all the same, and compares its last seconds again
            log.warning("how far partitions are is not noted: %s", error)
        for side in self._sides.values():
            side.close()
        connections.close_all()

    def _step(self) -> None:
        try:
            self._once()
            self._error = ""
        except (KafkaError, DatabaseError) as error:
            # Everything stays as it is: what is not noted yet is noted later, and nothing more is read.
            if str(error) != self._error:
                log.warning("auditing waits: %s", error)
            self._wait(error)
        except Exception as error:  # the thread must not end: it would look as if it read
            log.exception("auditing begins again, from what is noted")
            self._start_over()
            self._wait(error)

    def _wait(self, error: Exception) -> None:
        self._error = str(error)
        close_old_connections()
        self._stop.wait(AGAIN_SECONDS)

    def _start_over(self) -> None:
        """Read everything again from what is noted, with new consumers: nobody knows what the old ones read."""
        self._faults |= dict.fromkeys(self._audits, NOTHING)
        self._audits.clear()
        for side in self._sides.values():
            side.close()
        self._sides = {}
        self._looked_at = -1e9

    def _once(self) -> None:
        if not self._sides:
            self._sides = self._clusters.readers()
        self._follow()
        now = time.monotonic()
        if now - self._looked_at >= self._settings.look_seconds:
            self._look()
            self._looked_at = now
        self._read()
        if now - self._noted_at >= self._settings.note_seconds:
            self._note(self._audits)
            self._noted_at = now

    # -- which partitions ------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Put the assignments into effect: stop what is another's now, then say so; begin what is new."""
        with self._lock:
            asked = {name: (w.token, w.partitions, w.is_ending) for name, w in self._topics.items()}
        wanted = {
            Partition(name, number)
            for name, (_, partitions, is_ending) in asked.items()
            if not is_ending
            for number in partitions
        }
        self._leave(self._audits.keys() - wanted)
        for partition in self._faults.keys() - wanted:
            del self._faults[partition]
        for partition in [p for p, token in self._lost.items() if self._token(asked, p) != token]:
            del self._lost[partition]
        if new := wanted - self._audits.keys() - self._faults.keys():
            self._faults |= dict.fromkeys(new, NOTHING)
            self._looked_at = -1e9  # they begin with the next look
        self._tell(asked)

    @staticmethod
    def _token(asked: Mapping[str, tuple[int, frozenset[int], bool]], partition: Partition) -> int | None:
        """The assignment by which a partition is this auditor's; ``None`` if it is not."""
        token, partitions, is_ending = asked.get(partition.topic, (-1, frozenset(), True))
        return token if partition.partition in partitions and not is_ending else None

    def _leave(self, partitions: Iterable[Partition]) -> None:
        """Note how far partitions are, and stop reading them."""
        left = list(partitions)
        if not left:
            return
        self._note({p: self._audits[p] for p in left})
        for p in left:
            self._drop(p)

    def _drop(self, partition: Partition) -> None:
        audit = self._audits.pop(partition, None)
        if audit is not None:
            for side in self._sides.values():
                side.end([partition])

    def _look(self) -> None:
        """Look at the mirrors and at what both sides hold; begin partitions, and those again whose mirror has been
        turned round or whose records are gone.
        """
        self._directions = self._books.directions()
        for partition, audit in list(self._audits.items()):
            direction = self._directions.get(partition.topic)
            if direction is None or direction.is_turning or direction.source != audit.source:
                self._put_off(partition)
        self._hold()
        self._begin()

    def _hold(self) -> None:
        """Read the first and next offsets of what is audited."""
        if not self._audits:
            return
        held = self._clusters.held(self._audits)
        now = datetime.fromtimestamp(self._clock(), UTC)
        for partition, audit in list(self._audits.items()):
            source, target = held[audit.source].get(partition), held[audit.target].get(partition)
            if source is None or target is None:
                self._put_off(partition)
                continue
            audit.held = Held(*source, *target)
            if audit.awaited is not None and audit.has_compared(audit.awaited[0]):
                audit.compared_at, audit.awaited = audit.awaited[1], None
            if audit.awaited is None:
                audit.awaited = audit.held, now

    def _put_off(self, partition: Partition) -> None:
        """Note how far a partition is and stop reading it, until a look finds that it can be audited again."""
        self._note({partition: self._audits[partition]})
        self._drop(partition)
        self._faults.setdefault(partition, NOTHING)

    def _begin(self) -> None:
        """Begin the partitions that are wanted and can be audited; note of the others why they cannot."""
        before = dict(self._faults)
        ready: dict[Partition, int] = {}
        compacted = self._clusters.compacted({p.topic for p in self._faults if p.topic in self._directions})
        for partition in self._faults:
            direction = self._directions.get(partition.topic)
            if partition in self._lost:
                self._faults[partition] = TAKEN_OVER
            elif direction is None:
                self._faults[partition] = NOT_MIRRORED
            elif direction.is_turning:
                self._faults[partition] = TURNING
            elif partition.topic in compacted:
                self._faults[partition] = COMPACTED
            else:
                ready[partition] = direction.source
        syncs = self._books.syncs(ready, self._directions)
        held = self._clusters.held(ready) if ready else {}
        begun: dict[Partition, Audit] = {}
        for partition, source in ready.items():
            (target,) = self._sides.keys() - {source}
            here, there = held[source].get(partition), held[target].get(partition)
            if here is None or there is None:
                self._faults[partition] = NOT_THERE
                continue
            if partition not in syncs:
                self._faults[partition] = NO_POINT
                continue
            both = Held(*here, *there)
            claim = self._books.claim(partition, source, syncs[partition], both)
            if claim.place.source > both.source_end or claim.place.target > both.target_end:
                self._faults[partition] = (
                    NO_POINT  # (one side was made again, and nobody has looked at it since)
                )
                continue
            begun[partition] = Audit(source, target, claim, PartitionAuditor(claim.place), both)
        for cluster, side in self._sides.items():
            offsets = {
                p: audit.claim.place.source if audit.source == cluster else audit.claim.place.target
                for p, audit in begun.items()
            }
            if offsets:
                side.begin(offsets)
        self._audits |= begun
        for partition in begun:
            del self._faults[partition]
        for partition, fault in self._faults.items():
            direction = self._directions.get(partition.topic)
            if direction is not None and fault and fault != before[partition]:
                self._books.say(partition, direction.source, fault)

    # -- reading and comparing -------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Take what both sides have fetched, compare, and rest if that was more than is allowed."""
        wait = self._rests_until - time.monotonic()
        if wait > 0:
            self._stop.wait(min(wait, READ_SECONDS))
            return
        self._choose()
        began, size = time.monotonic(), 0
        changed: set[Partition] = set()
        errors: list[str] = []
        for cluster, side in self._sides.items():
            taken = side.take(READ_SECONDS)
            size += taken.size
            changed |= self._feed(cluster, taken)
            if taken.error:
                errors.append(taken.error)
        for partition in changed:
            if partition in self._audits:
                self._audits[partition].auditor.compare()
        self._rests_until = began + size / self._settings.bytes_per_second
        self._measure()
        if errors:
            raise KafkaError("; ".join(errors))

    def _feed(self, cluster: int, taken: Taken) -> set[Partition]:
        now = self._clock()
        for partition, batch in taken.batches.items():
            audit = self._audits.get(partition)
            if audit is not None:
                audit.auditor.feed(audit.which(cluster), batch.offsets, batch.prints, now)
                audit.bytes += batch.size
                audit.is_new = True
        for partition, offset in taken.ends.items():
            if partition in self._audits:
                audit = self._audits[partition]
                audit.auditor.reached(audit.which(cluster), offset)
        for partition in taken.gone:
            # (Its next records were deleted on one side: it begins again with what both sides hold.)
            if partition in self._audits:
                self._put_off(partition)
                self._looked_at = -1e9
        return set(taken.batches)

    def _choose(self) -> None:
        """Let sides wait of which more was read than there is room for."""
        searching = [p for p, audit in self._audits.items() if audit.auditor.is_searching]
        may_search = set(sorted(searching)[: self._settings.searching])
        ahead = ahead_of(len(self._audits), self._settings)
        for cluster, side in self._sides.items():
            side.read_only(
                {
                    p
                    for p, audit in self._audits.items()
                    if audit.auditor.wants(audit.which(cluster), ahead, may_search=p in may_search)
                }
            )

    def _measure(self) -> None:
        now = time.monotonic()
        if now - self._measured_at < RATE_SECONDS:
            return
        seconds, self._measured_at = now - self._measured_at, now
        self._rates = {p: audit.bytes / seconds for p, audit in self._audits.items()}
        for audit in self._audits.values():
            audit.bytes = 0

    # -- noting and telling ----------------------------------------------------------------------------------------

    def _note(self, audits: Mapping[Partition, Audit]) -> None:
        now = time.monotonic()
        due = [
            (p, audit)
            for p, audit in audits.items()
            if audit.is_new or now - audit.noted_at >= IDLE_NOTES * self._settings.note_seconds
        ]
        if not due:
            return
        progress = [_progress(audit) for _, audit in due]
        lost = self._books.note(progress)
        for (p, audit), each in zip(due, progress, strict=True):
            audit.auditor.forget_found(len(each.found))
            audit.equal, audit.different = audit.auditor.equal, audit.auditor.different
            audit.noted_at, audit.is_new = now, False
            if audit.claim.row in lost and p in self._audits:
                log.warning("%s: another auditor has taken it", p)
                self._drop(p)
                self._faults[p] = TAKEN_OVER
                with self._lock:
                    wanted = self._topics.get(p.topic)
                    self._lost[p] = wanted.token if wanted is not None else -1

    def _tell(self, asked: Mapping[str, tuple[int, frozenset[int], bool]]) -> None:
        """Say what is read now, and by which assignment."""
        running: dict[str, dict[int, int]] = defaultdict(dict)
        lags: dict[str, dict[int, int]] = defaultdict(dict)
        rates: dict[str, dict[int, float]] = defaultdict(dict)
        for p, audit in self._audits.items():
            running[p.topic][p.partition] = audit.auditor.source_next
            lags[p.topic][p.partition] = max(0, audit.held.source_end - audit.auditor.source_next)
            rates[p.topic][p.partition] = self._rates.get(p, 0.0)
        for p in self._faults:
            # (It has the partition, and reads it as soon as it can: nobody has to wait for that.)
            running[p.topic].setdefault(p.partition, -1)
        with self._lock:
            for name, (token, _, is_ending) in asked.items():
                if is_ending:
                    if name in self._topics and not running[name]:
                        del self._topics[name]
                    continue
                self._topics[name].reading = Reading(
                    token, running[name], rates[name], lags[name], self._error
                )


def ahead_of(partitions: int, settings: AuditorSettings) -> int:
    """How many records of one side of a partition are read before the other side has them too: with many partitions
    fewer, so that all of them together stay within what may be held.

    >>> settings = AuditorSettings(held_records=100_000, ahead_records=10_000)
    >>> [ahead_of(count, settings) for count in (1, 50, 1000)]
    [10000, 1000, 64]
    """
    share = settings.held_records // (2 * max(1, partitions))
    return max(LEAST_AHEAD, min(settings.ahead_records, share))


def _progress(audit: Audit) -> Progress:
    auditor = audit.auditor
    return Progress(
        audit.claim,
        auditor.source_next,
        auditor.target_next,
        audit.held,
        auditor.equal - audit.equal,
        auditor.different - audit.different,
        audit.compared_at,
        auditor.record_ms,
        auditor.waiting_since,
        auditor.newest_windows(),
        auditor.found,
    )


class TopicAuditor:
    """The partitions of one Topic, for the pool's member: a :class:`hadash.coordinator.member.topic_reader.Reader`."""

    def __init__(self, topic: str, pair: PairAuditor) -> None:
        self.topic = topic
        self._pair = pair

    def assign(self, token: int, partitions: frozenset[int]) -> None:
        self._pair.assign(self.topic, token, partitions)

    def reading(self) -> Reading:
        return self._pair.reading(self.topic)

    def stop(self) -> None:
        self._pair.end(self.topic)

    def is_closed(self, seconds: float = 0.0) -> bool:
        deadline = time.monotonic() + seconds
        while not self._pair.has_ended(self.topic):
            if time.monotonic() >= deadline:
                return False
            time.sleep(READ_SECONDS)
        return True
