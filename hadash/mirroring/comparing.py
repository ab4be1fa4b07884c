"""Compares the records of both sides of a mirror: in some of the looks, and in the precheck of a switch.

Each comparison reads the last records of every partition, and the next ones of a walk through all records that
both sides hold. Differences are kept on the mirror until these records are gone or the standby is rebuilt:
``{"walked": {partition: offset}, "differences": [{"topic", "partition", "kind", "first", "last", "count", "since"}]}``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from hadash.kafka.values import Partition, Record
from hadash.mirroring.content import KINDS, Difference, differences, pairs_of
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync, held_by_both
from hadash.mirroring.services import cluster_client, offset_syncs_of
from hadash.sentences import NOTHING, Sentence, joined, say

log = logging.getLogger(__name__)

#: Seconds for reading the records of one comparison from both clusters: four times as long as the bytes take on
#: a slow network.
COMPARE_SECONDS = 20.0

Spans = dict[Partition, tuple[int, int]]


#: Kinds of differences that also appear when both sides are shifted against each other. They are not kept for
#: the
#: next comparison: they disappear as soon as it is known where both sides correspond.
_OF_A_SHIFT = ("key", "value")

#: What users read for each kind of difference.
PARTS = {"key": say("keys"), "value": say("values"), "headers": say("headers"), "time": say("times")}


def due(mirror: Mirror) -> bool:
    """Return whether the last comparison was long enough ago, or found differences that may only be a shift."""
    rhythm = timedelta(seconds=settings.MIRROR_COMPARE_SECONDS)
    if mirror.compared_at is None or timezone.now() - mirror.compared_at > rhythm:
        return True
    return any(entry["kind"] in _OF_A_SHIFT for entry in mirror.comparison.get("differences", []))


def compare(
    mirror: Mirror,
    points: Mapping[Partition, OffsetSync],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
) -> list[Difference]:
    """Compare the next records; set the walk's progress and the known differences on the mirror, without saving
    it.

    :param points: where both sides correspond.
    :return: the differences that were found now.
    :raises KafkaError: a cluster does not answer, or not in time.
    """
    here, there = cluster_client(mirror.source), cluster_client(mirror.target)
    source_starts, target_starts = here.start_offsets(points), there.start_offsets(points)
    held = {
        p: (
            max(source_starts[p], target_starts[p] - point.target + point.source),
            held_by_both(point, source_ends[p], target_ends[p]).source,
        )
        for p, point in points.items()
        if p in source_ends
    }
    count = settings.MIRROR_COMPARE_RECORDS
    walked = mirror.comparison.get("walked", {})
    newest = {p: (max(first, end - count), end) for p, (first, end) in held.items()}
    walk: Spans = {}
    for p, (first, _) in held.items():
        begin = max(walked.get(str(p), first), first)
        begin = (
            first if begin >= newest[p][0] else begin
        )  # start over: compared records may have been changed
        walk[p] = (begin, min(begin + count, newest[p][0]))
    known = mirror.comparison.get("differences", [])
    found: list[Difference] = []
    equal: set[tuple[Partition, int]] = set()
    reached: dict[str, int] = {}
    for spans in (_where_known(known, held), walk, newest):
        for p, (ours, theirs) in _read(mirror, spans, points).items():
            pairs = pairs_of(ours, theirs, points[p])
            found += differences(p, pairs)
            equal |= {(p, record.offset) for record, copy in pairs if record.checksum == copy.checksum}
            if spans is walk:
                reached[str(p)] = _reached(spans[p], ours, theirs, points[p])
    kept = [e for e in known if e["kind"] not in _OF_A_SHIFT and _lasts(e, held, equal)]
    mirror.comparison = {"walked": reached, "differences": _merged(kept, found)}
    mirror.compared_at = timezone.now()
    return found


def save(mirror: Mirror, before: datetime | None) -> None:
    """Save the result of :func:`compare`, unless another process has compared or rebuilt the mirror meanwhile.

    :param before: the time of the previous comparison.
    """
    Mirror.objects.filter(pk=mirror.pk, source=mirror.source_id, turning=False, compared_at=before).update(
        comparison=mirror.comparison, compared_at=mirror.compared_at
    )


def _read(
    mirror: Mirror, spans: Spans, points: Mapping[Partition, OffsetSync]
) -> dict[Partition, tuple[list[Record], list[Record]]]:
    """Read the records of ``spans`` (offsets of the source) from both sides in parallel."""
    shifted = {
        p: (first - points[p].source + points[p].target, end - points[p].source + points[p].target)
        for p, (first, end) in spans.items()
    }
    limit = settings.MIRROR_COMPARE_BYTES
    here, there = cluster_client(mirror.source), cluster_client(mirror.target)
    with ThreadPoolExecutor(max_workers=1) as beside:
        other = beside.submit(there.records, shifted, COMPARE_SECONDS, limit)
        ours = here.records(spans, COMPARE_SECONDS, limit)
        theirs = other.result()
    return {p: (ours[p], theirs[p]) for p in spans}


def _reached(span: tuple[int, int], ours: list[Record], theirs: list[Record], point: OffsetSync) -> int:
    """Return up to which offset both sides of a span were read: the limit of bytes can end one of them early,
    after at least one record.
    """
    if not ours or not theirs:
        return span[1]
    return min(ours[-1].offset, theirs[-1].offset - point.target + point.source) + 1


def _where_known(known: list[dict[str, Any]], held: Spans) -> Spans:
    """Return the spans of the last record of each known difference, if both sides hold it."""
    spans: Spans = {}
    for entry in known:
        p = Partition(entry["topic"], entry["partition"])
        if p in held and held[p][0] <= entry["last"] < held[p][1]:
            spans[p] = (entry["last"], entry["last"] + 1)
    return spans


def _lasts(entry: Mapping[str, Any], held: Spans, equal: set[tuple[Partition, int]]) -> bool:
    """Return whether a difference is kept: its last record was not removed, and was not found equal now."""
    p = Partition(entry["topic"], entry["partition"])
    return p in held and entry["last"] >= held[p][0] and (p, entry["last"]) not in equal


def _merged(known: list[dict[str, Any]], found: list[Difference]) -> list[dict[str, Any]]:
    """Return the known and the new differences, with one entry for each partition and kind."""
    entries = {(e["topic"], e["partition"], e["kind"]): dict(e) for e in known}
    for d in found:
        key = (d.partition.topic, d.partition.partition, d.kind)
        entry = entries.setdefault(
            key,
            {
                "topic": key[0],
                "partition": key[1],
                "kind": d.kind,
                "first": d.first,
                "last": d.last,
                "count": 0,
                "since": timezone.now().isoformat(),
            },
        )
        entry["first"], entry["last"] = min(entry["first"], d.first), max(entry["last"], d.last)
        entry["count"] = max(entry["count"], d.count)
    return [entries[key] for key in sorted(entries)]


def fault_of(mirror: Mirror) -> Sentence:
    """Return what differs, and what to do; ``NOTHING`` if no difference is known."""
    known = mirror.comparison.get("differences", [])
    if not known:
        return NOTHING
    p = Partition(known[0]["topic"], known[0]["partition"])
    of_it = [entry for entry in known if (entry["topic"], entry["partition"]) == (p.topic, p.partition)]
    others = len({(e["topic"], e["partition"]) for e in known}) - 1
    differ = say(
        "Records of %(partition)s on %(target)s differ from those on %(source)s: %(parts)s, between offsets "
        "%(first)s and %(last)s of %(source)s.",
        partition=p,
        target=mirror.target.name,
        source=mirror.source.name,
        parts=[PARTS[kind] for kind in KINDS if any(entry["kind"] == kind for entry in of_it)],
        first=min(entry["first"] for entry in of_it),
        last=max(entry["last"] for entry in of_it),
    )
    more = say("So do those of %(count)s more partitions.", count=others) if others else NOTHING
    originals = originals_of(mirror)
    if not originals:
        return joined(differ, more, rebuild_advice(mirror))
    keep = say(
        "Keep what you need of them first. Rebuild the mirror's standby: %(command)s --discard-originals",
        command=rebuild_command(mirror),
    )
    return joined(differ, more, originals, keep)


def originals_of(mirror: Mirror) -> Sentence:
    """Return a warning that the standby may hold the originals of records that differ; ``NOTHING`` if it holds
    only copies.

    Turning a mirror round sets its offset syncs: records before them may have been copied in the other direction.
    (Recounting sets offset syncs, too; then it is not known.)
    """
    syncs = offset_syncs_of(mirror)
    for entry in mirror.comparison.get("differences", []):
        p = Partition(entry["topic"], entry["partition"])
        if p in syncs and entry["first"] < syncs[p].source:
            return say(
                "Some of %(partition)s differ before offset %(offset)s of %(source)s, so they may be from before the "
                "last switch and copied in the other direction: then %(target)s has the originals, and rebuilding it "
                "copies the wrong ones over them.",
                partition=p,
                offset=syncs[p].source,
                source=mirror.source.name,
                target=mirror.target.name,
            )
    return NOTHING


def rebuild_advice(mirror: Mirror) -> Sentence:
    """Return a sentence with the command that rebuilds the standby."""
    return say("Rebuild the mirror's standby: %(command)s", command=rebuild_command(mirror))


def rebuild_command(mirror: Mirror) -> str:
    return f"hadash-manage rebuild_mirror {mirror.pair.name} {mirror.name} --confirm {mirror.target.name}"
