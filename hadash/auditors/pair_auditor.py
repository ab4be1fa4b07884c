"""Audits the partitions of a pair that an auditor has: one thread reads both clusters, compares, and notes.

All Topics of the pool share the thread and its two consumers; ``assignments.py`` has what the pool's member tells it to
read of each.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from django.db import Error as DatabaseError
from django.db import close_old_connections, connections

from hadash.auditors.assignments import Asked, Assignments, token_of
from hadash.auditors.interfaces import Books, Clusters
from hadash.auditors.ledger import Direction
from hadash.auditors.one_audit import Audit, place_of, progress_of, was_made_again
from hadash.auditors.partition_auditor import PartitionAuditor
from hadash.auditors.settings import AuditorSettings
from hadash.auditors.side_reader import SideReader, Taken
from hadash.coordinator.member.topic_reader import Reading
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition
from hadash.sentences import NOTHING, Sentence, say

log = logging.getLogger(__name__)

#: Seconds that the thread waits for records of each side: a new assignment is noticed after them, at the latest.
READ_SECONDS = 0.05

#: Seconds before a cluster or a database that has not answered is asked again.
AGAIN_SECONDS = 0.5

#: Seconds over which the bytes that are read are measured.
RATE_SECONDS = 1.0

#: Seconds between two looks for differences of records that are not there any more; and before a partition that could
#: not be read is tried again.
PRUNE_SECONDS, REST_SECONDS = 60.0, 10.0

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
        #: What the pool's member tells it to read.
        self.assignments = Assignments()
        self._stop = threading.Event()
        self._audits: dict[Partition, Audit] = {}
        #: Why partitions that are wanted are not audited.
        self._faults: dict[Partition, Sentence] = {}
        #: Partitions that another auditor has claimed, with the assignment by which this one had them: with the same it
        #: does not take them back.
        self._lost: dict[Partition, int] = {}
        #: Partitions that could not be read, until when they are left alone.
        self._rests: dict[Partition, float] = {}
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
        asked = self.assignments.asked()
        wanted = {
            Partition(name, number)
            for name, each in asked.items()
            if not each.is_ending
            for number in each.partitions
        }
        self._leave(self._audits.keys() - wanted)
        for partition in self._faults.keys() - wanted:
            del self._faults[partition]
        for partition in [p for p, token in self._lost.items() if token_of(asked, p) != token]:
            del self._lost[partition]
        if new := wanted - self._audits.keys() - self._faults.keys():
            self._faults |= dict.fromkeys(new, NOTHING)
            self._looked_at = -1e9  # they begin with the next look
        self._tell(asked)

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
        if self._clusters.have_changed():
            log.info("a cluster has another address or password: connecting again")
            self._note(self._audits)
            self._start_over()
            self._sides = self._clusters.readers()
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
        held = self._clusters.held({p: audit.source for p, audit in self._audits.items()})
        now = datetime.fromtimestamp(self._clock(), UTC)
        for partition, audit in list(self._audits.items()):
            if partition not in held:
                self._put_off(partition)
                continue
            audit.held = held[partition]
            self._settle(audit)
            self._prune(audit)
            if audit.awaited is not None and audit.has_compared(audit.awaited[0]):
                audit.compared_at, audit.awaited = audit.awaited[1], None
            if audit.awaited is None:
                audit.awaited = audit.held, now

    def _settle(self, audit: Audit) -> None:
        """Say what differs at the target's end of an earlier look: whatever it held there the source held before, whose
        end was read later. (Of what came since, the target may have been read before the source.) It is told as soon
        as that has been so for a while: more records often show better what has happened.
        """
        now = time.monotonic()
        seen = audit.awaited[0] if audit.awaited is not None else None
        if seen is None or not audit.has_read(seen) or not audit.auditor.has_surplus_before(seen.target_end):
            audit.surplus_since = None
        elif audit.surplus_since is None:
            audit.surplus_since = now
        elif now - audit.surplus_since >= self._settings.settle_seconds:
            audit.auditor.settle(seen.target_end)
            audit.surplus_since, audit.is_new = None, True

    def _prune(self, audit: Audit) -> None:
        now = time.monotonic()
        if now - audit.pruned_at >= PRUNE_SECONDS:
            audit.pruned_at = now
            self._books.prune(audit.claim, audit.held)

    def _put_off(self, partition: Partition) -> None:
        """Note how far a partition is and stop reading it, until a look finds that it can be audited again."""
        self._note({partition: self._audits[partition]})
        self._drop(partition)
        self._faults.setdefault(partition, NOTHING)

    def _begin(self) -> None:
        """Begin the partitions that are wanted and can be audited; note of the others why they cannot."""
        before = dict(self._faults)
        ready = self._ready()
        syncs = self._books.syncs(ready, self._directions)
        for partition in ready.keys() - self._clusters.held(ready).keys() if ready else ():
            self._faults[partition] = NOT_THERE
        claims = {
            p: self._books.claim(p, source) for p, source in ready.items() if self._faults[p] is not NOT_THERE
        }
        # (Read once more: the auditor before may have come further than was known before the claim.)
        held = self._clusters.held({p: ready[p] for p in claims}) if claims else {}
        begun: dict[Partition, Audit] = {}
        for p, claim in claims.items():
            if p not in held:
                self._faults[p] = NOT_THERE
                continue
            place = place_of(claim.known, syncs.get(p), held[p])
            if place is None:
                self._faults[p] = NO_POINT
                self._rests[p] = time.monotonic() + REST_SECONDS
            elif self._books.begin(
                claim, ready[p], place, was_made_again=was_made_again(claim.known, held[p])
            ):
                (target,) = self._sides.keys() - {ready[p]}
                begun[p] = Audit(ready[p], target, claim, PartitionAuditor(place), held[p])
        self._read_too(begun)
        for p, fault in self._faults.items():
            direction = self._directions.get(p.topic)
            if direction is not None and fault and fault != before[p]:
                self._books.say(p, direction.source, fault)

    def _ready(self) -> dict[Partition, int]:
        """The partitions that can be audited, as far as the database tells, with their sources."""
        ready: dict[Partition, int] = {}
        compacted = self._clusters.compacted({p.topic for p in self._faults if p.topic in self._directions})
        now = time.monotonic()
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
            elif self._rests.get(partition, 0.0) <= now:
                self._rests.pop(partition, None)
                self._faults[partition] = (
                    NOTHING if self._faults[partition] is NOT_THERE else self._faults[partition]
                )
                ready[partition] = direction.source
        return ready

    def _read_too(self, begun: Mapping[Partition, Audit]) -> None:
        """Let both sides read these partitions, too."""
        for cluster, side in self._sides.items():
            offsets = {p: audit.auditor.fetched[audit.which(cluster)] for p, audit in begun.items()}
            if offsets:
                side.begin(offsets)
        self._audits |= begun
        for partition in begun:
            del self._faults[partition]

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
        for partition, reason in taken.gone.items():
            if partition not in self._audits:
                continue
            self._put_off(partition)
            if partition in self._lost:
                continue  # another auditor has it, and says how it is
            if reason:
                self._rests[partition] = time.monotonic() + REST_SECONDS
                self._faults[partition] = say("It cannot be read: %(reason)s.", reason=reason)
                self._books.say(partition, self._directions[partition.topic].source, self._faults[partition])
            else:  # its next records were deleted on one side: it begins again with what both sides hold
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
                    if audit.auditor.wants(
                        audit.which(cluster),
                        # (What waits is fetched once more: it does so until there is room for a good many.)
                        ahead // 2 if side.is_waiting(p) else ahead,
                        may_search=p in may_search,
                    )
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
        progress = [progress_of(audit) for _, audit in due]
        for _, audit in due:  # (whatever the database answers: it may have noted it)
            audit.counted[audit.auditor.source_next, audit.auditor.target_next] = audit.auditor.equal
        lost = self._books.note(progress)
        for (p, audit), each in zip(due, progress, strict=True):
            audit.auditor.forget_found(len(each.found))
            audit.counted = {(each.source_next, each.target_next): each.equal}
            audit.noted_at, audit.is_new = now, False
            if audit.claim.row in lost and p in self._audits:
                self._drop(p)
                if not lost[audit.claim.row]:
                    self._faults[p] = NOTHING  # somebody has removed what was known: it begins again
                    continue
                log.warning("%s: another auditor has taken it", p)
                self._faults[p] = TAKEN_OVER
                token = token_of(self.assignments.asked(), p)
                self._lost[p] = token if token is not None else -1

    def _tell(self, asked: Mapping[str, Asked]) -> None:
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
        self.assignments.say(
            asked,
            {
                name: Reading(each.token, running[name], rates[name], lags[name], self._error)
                for name, each in asked.items()
            },
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
