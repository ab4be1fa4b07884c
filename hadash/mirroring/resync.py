"""Finds new points where both sides of a mirror correspond, when counting from the last known point has become
wrong.

If the mirror holds more than its source, it may have copied records twice (``recount.py``). If it holds fewer
although nothing is left to copy, offsets of the source have no copy (``gaps.py``). Reading the last records of
both sides proves either, and gives new offset syncs; cases that cannot be proved need an administrator.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from hadash.kafka.errors import ClusterUnavailable, KafkaError
from hadash.kafka.tail import TAIL_SECONDS
from hadash.kafka.values import Partition
from hadash.mirroring.comparing import rebuild_advice, rebuild_command
from hadash.mirroring.gaps import Gap, Read, find_gap
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.recount import PROOF, recount
from hadash.mirroring.services import cluster_client
from hadash.sentences import Sentence, say

log = logging.getLogger(__name__)

#: Records of a partition that are read to find out why its mirror holds more or fewer than its source: as many
#: as a mirror copies in some seconds, between two looks.
RECOUNT_RECORDS = 2000

#: Records that are read first to find a gap: enough for the proof, and few even where they are large.
GAP_RECORDS = 4 * PROOF

#: When these do not go back far enough: the number of records to read, the seconds for that, and the seconds
#: before it may be repeated. A Connect worker that dies several times in a row begins each time where the first
#: one had committed, minutes ago.
RECOUNT_FAR_RECORDS = 50_000
RECOUNT_FAR_SECONDS = 15.0
RECOUNT_AGAIN_SECONDS = 30.0

Points = dict[Partition, OffsetSync]

#: By mirror, when this process last read far back for it.
_looked_far: dict[int, float] = {}


def after_copies(mirror: Mirror, syncs: Mapping[Partition, OffsetSync]) -> Points:
    """Return new offset syncs of the partitions for which it is proved that the mirror has only copied records
    twice, because its Connect worker died.

    The copies stay in the target: a client that reads it from its beginning reads them twice. Offsets of groups
    are still translated exactly, because a switch compares the records there (see ``translate``).

    :param syncs: the offset syncs of partitions whose target holds more than the source.
    """
    found = _recounted(mirror, syncs, RECOUNT_RECORDS, TAIL_SECONDS)
    left = {p: known for p, known in syncs.items() if p not in found}
    if left and _may_look_far(mirror):
        found |= _recounted(mirror, left, RECOUNT_FAR_RECORDS, RECOUNT_FAR_SECONDS)
    twice = {
        p: (point.target - point.source) - (syncs[p].target - syncs[p].source) for p, point in found.items()
    }
    kept = _keep(mirror, syncs, found, repeated=twice)
    for p in kept:
        log.warning(
            "Mirror %s has copied %d records of %s twice; it is counted again from there on.",
            mirror.name,
            twice[p],
            p,
        )
    return kept


def after_gaps(
    mirror: Mirror, syncs: Mapping[Partition, OffsetSync], copied: Mapping[Partition, int]
) -> Points:
    """Return new offset syncs of the partitions for which it is proved that offsets of the source have no copy.
    Their gaps are logged, and kept on the mirror.

    :param syncs: the offset syncs of partitions that seem to lag.
    :param copied: the last record of each that was copied, as Connect reports it.
    """
    found: dict[Partition, Gap] = {}
    for count, seconds in (
        (GAP_RECORDS, TAIL_SECONDS),
        (RECOUNT_RECORDS, TAIL_SECONDS),
        (RECOUNT_FAR_RECORDS, RECOUNT_FAR_SECONDS),
    ):
        # A loss is counted exactly only if all records that the source still holds were read.
        left = {
            p: known
            for p, known in syncs.items()
            if p not in found or (found[p].lost and found[p].resumes_at is None)
        }
        if not left or (count == RECOUNT_FAR_RECORDS and not _may_look_far(mirror)):
            break
        try:
            more = _gaps(mirror, left, copied, count, seconds)
        except ClusterUnavailable:
            raise
        except KafkaError as error:
            log.info("Mirror %s: its last %d records could not be read: %s", mirror.name, count, error)
            break
        # Reading further is more reliable, also when it finds no gap.
        found = {p: gap for p, gap in found.items() if p not in left} | more
    known_gaps = mirror.gaps
    entries = {p: _entry(p, gap) for p, gap in sorted(found.items())}
    points = {p: gap.point for p, gap in found.items()}
    kept = _keep(mirror, syncs, points, entries)
    for p, entry in entries.items():
        if p not in kept:
            continue
        # A warning only once: a Topic with transactions has such offsets all the time.
        known = any((e["topic"], e["partition"]) == (p.topic, p.partition) for e in known_gaps)
        level = logging.INFO if known and not entry["lost"] else logging.WARNING
        log.log(level, "Mirror %s: %s", mirror.name, said_of(entry))
    return kept


def _keep(
    mirror: Mirror,
    known: Mapping[Partition, OffsetSync],
    points: Points,
    entries: Mapping[Partition, Mapping[str, Any]] | None = None,
    repeated: Mapping[Partition, int] | None = None,
) -> Points:
    """Save new offset syncs and gaps, unless a switch has begun to turn the mirror round, which sets its own
    offset syncs. An offset sync that another look has changed meanwhile is not written: counting from the old one would
    count twice.

    :param known: the offset syncs that were counted from.
    :param entries: the entry of each partition's gap.
    :param repeated: how many records of a partition the target holds twice before its new offset sync.
    :return: the offset syncs that were saved.
    """
    twice = repeated or {}
    with transaction.atomic():
        held = Mirror.objects.select_for_update(of=("self",)).get(pk=mirror.pk)
        if held.turning or held.source_id != mirror.source_id:
            return {}
        kept = {p: point for p, point in points.items() if _move(mirror, p, known[p], point, twice.get(p, 0))}
        for p, entry in (entries or {}).items():
            if p in kept:
                held.gaps = [*(e for e in held.gaps if not _replaces(entry, e)), entry]
        held.save(update_fields=["gaps"])
    mirror.gaps = held.gaps
    return kept


def _move(mirror: Mirror, p: Partition, known: OffsetSync, point: OffsetSync, twice: int) -> bool:
    """Change an offset sync from ``known`` to ``point``; return whether it still was ``known``."""
    there = mirror.syncs.filter(
        topic=p.topic, partition=p.partition, source_offset=known.source, target_offset=known.target
    )
    return bool(
        there.update(
            source_offset=point.source,
            target_offset=point.target,
            target_repeated=F("target_repeated") + twice,
        )
    )


def _may_look_far(mirror: Mirror) -> bool:
    if time.monotonic() - _looked_far.get(mirror.pk, -math.inf) <= RECOUNT_AGAIN_SECONDS:
        return False
    _looked_far[mirror.pk] = time.monotonic()
    return True


def _last_records(
    mirror: Mirror, partitions: Iterable[Partition], count: int, seconds: float
) -> dict[Partition, tuple[Read, Read]]:
    """Return the last ``count`` records of each partition on (source, target)."""
    wanted, sides = list(partitions), []
    # The target first: the source then has all records of the target.
    for client in (cluster_client(mirror.target), cluster_client(mirror.source)):
        starts, ends = client.start_offsets(wanted), client.end_offsets(wanted)
        spans = {p: (max(starts[p], ends[p] - count), ends[p]) for p in wanted}
        records = client.records(spans, seconds)
        sides.append({p: Read(starts[p], *spans[p], records[p]) for p in wanted})
    return {p: (sides[1][p], sides[0][p]) for p in wanted}


def _recounted(mirror: Mirror, syncs: Mapping[Partition, OffsetSync], count: int, seconds: float) -> Points:
    """Return the new points of partitions, where the last ``count`` records of both sides prove them."""
    read = _last_records(mirror, syncs, count, seconds)
    points = {p: recount(read[p][0].records, read[p][1].records, known) for p, known in syncs.items()}
    return {p: point for p, point in points.items() if point is not None}


def _gaps(
    mirror: Mirror,
    syncs: Mapping[Partition, OffsetSync],
    copied: Mapping[Partition, int],
    count: int,
    seconds: float,
) -> dict[Partition, Gap]:
    read = _last_records(mirror, syncs, count, seconds)
    gaps = {p: find_gap(*read[p], known, copied.get(p)) for p, known in syncs.items()}
    return {p: gap for p, gap in gaps.items() if gap is not None}


# -- what a gap held ---------------------------------------------------------------------------------------------


def _entry(p: Partition, gap: Gap) -> dict[str, Any]:
    """Return the entry of a gap in ``Mirror.gaps``."""
    return {
        "topic": p.topic,
        "partition": p.partition,
        "without_record": gap.without_record,
        "lost": gap.lost,
        "lost_before": gap.lost_before,
        "resumes_at": gap.resumes_at,
        "at": timezone.now().isoformat(),
    }


def _replaces(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Return whether a new entry replaces an old one: of each partition all losses are kept, which need an
    administrator, and the last gap without one.
    """
    same = (new["topic"], new["partition"]) == (old["topic"], old["partition"])
    return same and not new["lost"] and not old["lost"]


def said_of(entry: Mapping[str, Any]) -> Sentence:
    """Return a sentence about a gap."""
    p = Partition(entry["topic"], entry["partition"])
    if not entry["lost"]:
        return say(
            "%(count)s offsets of %(partition)s hold no record (transaction markers, or compacted).",
            count=entry["without_record"],
            partition=p,
        )
    if entry["lost_before"] is None:
        return say(
            "%(count)s offsets of %(partition)s have no copy: their records were deleted on the source before they "
            "were mirrored, or left out, or they hold none.",
            count=entry["lost"],
            partition=p,
        )
    return say(
        "Records %(first)s..%(last)s of %(partition)s were deleted on the source before they were mirrored.",
        first=entry["lost_before"] - entry["lost"],
        last=entry["lost_before"] - 1,
        partition=p,
    )


def losses(mirror: Mirror, target_starts: Mapping[Partition, int]) -> list[dict[str, Any]]:
    """Return the losses that have older records before them on the standby: a client that reads it from its
    beginning skips records without noticing. A standby that begins after a loss only begins later, like its
    source.

    :param target_starts: the first offset of each partition on the standby.
    """
    found = []
    for entry in mirror.gaps:
        p = Partition(entry["topic"], entry["partition"])
        resumes_at = entry["resumes_at"]
        if entry["lost"] and (resumes_at is None or target_starts.get(p, -1) < resumes_at):
            found.append(entry)
    return found


def advice(mirror: Mirror, entry: Mapping[str, Any]) -> Sentence:
    """Return what to do about a loss: the standby is rebuilt or, if its older records can be told, accepts it."""
    if entry["resumes_at"] is None:
        return rebuild_advice(mirror)
    return say(
        "Rebuild the mirror's standby (%(command)s), or accept it: delete the older records of %(partition)s on "
        "%(cluster)s, before offset %(offset)s (kafka-delete-records.sh), so that both sides begin with the same "
        "record.",
        command=rebuild_command(mirror),
        partition=Partition(entry["topic"], entry["partition"]),
        cluster=mirror.target.name,
        offset=entry["resumes_at"],
    )
