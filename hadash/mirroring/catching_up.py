"""Finds where both sides of a mirror correspond now, and waits until the standby holds what the source held."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings

from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition
from hadash.mirroring import comparing, resync
from hadash.mirroring.lag import measure
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash.mirroring.offsets import OffsetSync, mirrored_up_to
from hadash.mirroring.services import (
    MirrorError,
    cluster_client,
    connect_client,
    connector_of,
    offset_syncs_of,
    partitions_of,
    sync,
)
from hadash.sentences import say

log = logging.getLogger(__name__)

#: Seconds between two measurements of a mirror that has to catch up.
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Held:
    """The ends of a mirror's source, and when they were read (``time.monotonic``)."""

    ends: Mapping[Partition, int]
    at: float


def held_now(mirrors: Iterable[Mirror]) -> dict[Mirror, Held]:
    """Read the ends of each source, so that looks at many mirrors wait for all of them at the same time. A
    source that does not answer is missing; the look will report it.
    """
    found = {}
    for mirror in mirrors:
        client = cluster_client(mirror.source)
        try:
            found[mirror] = Held(client.end_offsets(partitions_of(client, mirror.topics)), time.monotonic())
        except KafkaError as error:
            log.warning("The source of mirror %s cannot be asked: %s", mirror.name, error)
    return found


def ends(
    mirror: Mirror, partitions: Collection[Partition]
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """Return the ends on (source, target). The target is read first: otherwise a busy mirror could seem ahead
    of its source.
    """
    target_ends = cluster_client(mirror.target).end_offsets(partitions)
    return cluster_client(mirror.source).end_offsets(partitions), target_ends


def syncs_now(mirror: Mirror) -> tuple[dict[Partition, OffsetSync], set[Partition]]:
    """Return the offset syncs, including new ones of added partitions, and the partitions that cannot have one
    (yet).

    A partition that still holds its first record on both sides has been copied from there on.
    """
    syncs = offset_syncs_of(mirror)
    here, there = cluster_client(mirror.source), cluster_client(mirror.target)
    new = set(partitions_of(here, mirror.topics)) - syncs.keys()
    if not new:
        return syncs, new
    both = new & set(partitions_of(there, mirror.topics))
    here_starts, there_starts = here.start_offsets(both), there.start_offsets(both)
    added = {p: OffsetSync(0, 0) for p in both if here_starts[p] == there_starts[p] == 0}
    MirrorOffsetSync.objects.bulk_create(
        (sync(mirror, p, point) for p, point in added.items()), ignore_conflicts=True
    )
    return syncs | added, new - added.keys()


#: By mirror, the ends of both sides of its partitions in this process's last look.
_last_ends: dict[int, dict[Partition, tuple[int, int]]] = {}


def over_gaps(
    mirror: Mirror,
    syncs: Mapping[Partition, OffsetSync],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
    thorough: bool,
) -> dict[Partition, OffsetSync]:
    """Return new offset syncs of partitions that seem to lag because offsets of the source have no copy.

    Checks partitions that did not move since the last look, partitions of which Connect has copied more than
    the target's count shows, and in a thorough look all.
    """
    now = {p: (end, target_ends[p]) for p, end in source_ends.items()}
    before, _last_ends[mirror.pk] = _last_ends.get(mirror.pk, {}), now
    lagging = {p for p, count in measure(syncs, source_ends, target_ends).partitions.items() if count > 0}
    # Connect first, then the target: it then holds all records that Connect has committed.
    copied = connect_client().offsets(connector_of(mirror, mirror.source))
    ends = cluster_client(mirror.target).end_offsets(lagging)
    suspect = {
        p: syncs[p]
        for p in lagging
        if thorough or before.get(p) == now[p] or copied.get(p, -1) + 1 > mirrored_up_to(syncs[p], ends[p])
    }
    return resync.after_gaps(mirror, suspect, copied) if suspect else {}


def catch_up(mirror: Mirror, syncs: dict[Partition, OffsetSync], held: Held) -> None:
    """Wait until the target holds the records up to ``held``. New offset syncs of gaps are added to ``syncs``.

    :raises MirrorError: it does not catch up in time, so a switch would block its clients in vain.
    """
    seconds = settings.MIRROR_CATCH_UP_SECONDS
    source_ends = {p: end for p, end in held.ends.items() if p in syncs}
    while True:
        target_ends = cluster_client(mirror.target).end_offsets(syncs)
        late = {
            p: missing
            for p, end in source_ends.items()
            if (missing := end - mirrored_up_to(syncs[p], target_ends[p])) > 0
        }
        if not late:
            return
        if time.monotonic() > held.at + seconds:
            found = over_gaps(mirror, syncs, source_ends, target_ends, thorough=True)
            syncs |= found
            left = sorted(late.keys() - found.keys())
            if not left:
                return
            raise MirrorError(
                say(
                    "The mirror of %(topic)s lacks %(count)s offsets that its source held %(seconds)s s ago. Either it "
                    "is too slow, or it has left records out, or they hold none and that cannot be proved. If it "
                    "stays so: %(advice)s",
                    topic=left[0],
                    count=late[left[0]],
                    seconds=f"{seconds:.0f}",
                    advice=comparing.rebuild_advice(mirror),
                )
            )
        time.sleep(POLL_SECONDS)
