"""Looking at mirrors: how far they are, whether they run, where both sides correspond."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.kafka.errors import ClusterUnavailable, ConnectError, KafkaError
from hadash.kafka.tail import TAIL_SECONDS
from hadash.kafka.values import Partition
from hadash.mirroring.lag import measure, seconds_behind
from hadash.mirroring.models import Anchor, LagSample, Mirror
from hadash.mirroring.offsets import Corresponding, mirrored_up_to
from hadash.mirroring.recount import recount
from hadash.mirroring.services import (
    MirrorError,
    anchor,
    anchors_of,
    cluster_client,
    partitions_of,
    status_of,
)

log = logging.getLogger(__name__)

#: Records of a partition that are read to find out why its mirror holds more than its source: what a mirror copies in some
#: seconds, between two looks.
RECOUNT_RECORDS = 2000

#: When these do not go back far enough, so many, within so many seconds, and not sooner again than this: a Connect worker that dies
#: several times in a row begins each time where the first one had committed, minutes ago.
RECOUNT_FAR_RECORDS = 50_000
RECOUNT_FAR_SECONDS = 15.0
RECOUNT_AGAIN_SECONDS = 30.0


#: What a look writes.
_LOOKED_AT = ("state", "fault", "lag_records", "lag_seconds", "looked_at", "sighted", "sighted_at")


def look_at_pair(pair: Pair) -> None:
    """Look at all mirrors of a pair, one after the other; what goes wrong with one is not the others' matter.

    When a cluster does not answer, the others of this round only say so: each of them would wait for it as long as the first.
    Who was not looked at for the longest time comes first, so the next round begins with them: if only one broker is
    away, whose mirrors come last from then on.
    """
    away = ""
    oldest_first = Mirror.objects.filter(pair=pair).order_by(F("looked_at").asc(nulls_first=True), "name")
    for mirror in oldest_first.select_related("source", "pair__first", "pair__second"):
        try:
            if away:
                _note_unseen(mirror, f"{away} This mirror is looked at as soon as that is over.")
            else:
                _, away = _look(mirror)
        except Exception:  # (deleted meanwhile, for one)
            log.exception("mirror %s could not be looked at", mirror.name)


def _note_unseen(mirror: Mirror, fault: str) -> None:
    """Nobody knows how far it is. (When it was looked at last, and what was seen then, stays.)"""
    Mirror.objects.filter(pk=mirror.pk).update(
        state=Mirror.State.UNKNOWN, fault=fault, lag_records=None, lag_seconds=None
    )


def look(mirror: Mirror) -> LagSample:
    """Measure a mirror's lag and state, and keep the sample.

    A mirror that is failed, stopped or silent is never "lag 0": its lag is still counted, and its state says
    what is wrong; when a cluster does not answer the lag is unknown.
    """
    return _look(mirror)[0]


def _look(mirror: Mirror) -> tuple[LagSample, str]:
    """The sample, and what was said of a cluster that did not answer; empty if both did."""
    now = timezone.now()
    sample = LagSample(mirror=mirror, at=now)
    fault = away = ""
    state = Mirror.State.UNKNOWN
    try:
        state, fault = _connector_state(mirror)
        anchors, unknown = _anchors_now(mirror)
        # The target first: read the other way round, a busy mirror could seem ahead of its source.
        target_ends = cluster_client(mirror.target).end_offsets(anchors)
        source_ends = cluster_client(mirror.source).end_offsets(anchors)
        mirror.sighted = [[p.topic, p.partition, end] for p, end in sorted(source_ends.items())]
        mirror.sighted_at = now
        lag = measure(anchors, source_ends, target_ends)
        if lag.excess and state is Mirror.State.RUNNING and not mirror.turning:
            anchors |= _count_anew(mirror, {p: anchors[p] for p in lag.excess})
            lag = measure(anchors, source_ends, target_ends)
        sample.records = lag.records
        sample.partitions = {str(p): records for p, records in lag.partitions.items()}
        if mirror.turning:
            state, fault = (state, fault) if state is Mirror.State.FAILED else (Mirror.State.TURNING, "")
        elif lag.excess:
            partition, count = next(iter(lag.excess.items()))
            state = Mirror.State.FAILED
            fault = f"The mirror of {partition} holds {count} records that its source does not."
        sample.seconds = _seconds(mirror, now.timestamp(), anchors, source_ends, target_ends)
        if unknown:
            sample.records = sample.seconds = None
            fault = fault or (
                f"Of {', '.join(map(str, sorted(unknown)))} it is not known which records of both sides correspond."
            )
    except MirrorError as error:
        state, fault = Mirror.State.FAILED, str(error)
    except (KafkaError, ConnectError) as error:
        fault = str(error)
        away = fault if isinstance(error, ClusterUnavailable) else ""
    sample.save()
    mirror.state, mirror.fault = state, fault
    mirror.lag_records, mirror.lag_seconds, mirror.looked_at = sample.records, sample.seconds, now
    mirror.save(update_fields=[*_LOOKED_AT])
    return sample, away


def _anchors_now(mirror: Mirror) -> tuple[dict[Partition, Corresponding], set[Partition]]:
    """The anchors, with those of partitions that were added since, and the partitions that cannot have one (yet).

    A partition that begins with its first record on both sides has been copied from there on.
    """
    anchors = anchors_of(mirror)
    here, there = cluster_client(mirror.source), cluster_client(mirror.target)
    new = set(partitions_of(here, mirror.topics)) - anchors.keys()
    if not new:
        return anchors, new
    both = new & set(partitions_of(there, mirror.topics))
    here_starts, there_starts = here.start_offsets(both), there.start_offsets(both)
    added = {p: Corresponding(0, 0) for p in both if here_starts[p] == there_starts[p] == 0}
    Anchor.objects.bulk_create(
        (anchor(mirror, p, point) for p, point in added.items()), ignore_conflicts=True
    )
    return anchors | added, new - added.keys()


def _count_anew(mirror: Mirror, anchors: Mapping[Partition, Corresponding]) -> dict[Partition, Corresponding]:
    """New anchors of those partitions of which it is proved that the mirror has only copied records twice.

    Its Connect worker died. The copies stay in the target: who reads it from its beginning reads them twice. Where groups
    stand is translated exactly all the same, because a switch compares the records there (see ``translate``).

    :param anchors: of the partitions of which the target holds more than the source.
    """
    found = _recounted(mirror, anchors, RECOUNT_RECORDS, TAIL_SECONDS)
    left = {p: known for p, known in anchors.items() if p not in found}
    if left and time.monotonic() - _looked_far.get(mirror.pk, -math.inf) > RECOUNT_AGAIN_SECONDS:
        _looked_far[mirror.pk] = time.monotonic()
        found |= _recounted(mirror, left, RECOUNT_FAR_RECORDS, RECOUNT_FAR_SECONDS)
    with transaction.atomic():
        held = Mirror.objects.select_for_update(of=("self",)).get(pk=mirror.pk)
        if held.turning or held.source_id != mirror.source_id:
            return {}  # a switch has begun to turn it round, from the point that it has proved
        for p, point in found.items():
            mirror.anchors.filter(topic=p.topic, partition=p.partition).update(
                source_offset=point.source, target_offset=point.target
            )
            log.warning(
                "Mirror %s has copied %d records of %s twice; it is counted anew from there on.",
                mirror.name,
                (point.target - point.source) - (anchors[p].target - anchors[p].source),
                p,
            )
    return found


#: By mirror, when this process has last read far back for it.
_looked_far: dict[int, float] = {}


def _recounted(
    mirror: Mirror, anchors: Mapping[Partition, Corresponding], count: int, seconds: float
) -> dict[Partition, Corresponding]:
    """Where both sides correspond again, as far as the last ``count`` records of both prove it."""
    here, there = cluster_client(mirror.source), cluster_client(mirror.target)
    # The target first: what it has then, the source has too.
    copied = there.tail(there.end_offsets(anchors), there.start_offsets(anchors), count, seconds)
    written = here.tail(here.end_offsets(anchors), here.start_offsets(anchors), count, seconds)
    points = {p: recount(written[p], copied[p], known) for p, known in anchors.items()}
    return {p: point for p, point in points.items() if point is not None}


def _connector_state(mirror: Mirror) -> tuple[Mirror.State, str]:
    status = status_of(mirror)
    if status is None:
        return Mirror.State.STOPPED, "Connect knows no connector for it."
    if status.failed:
        return Mirror.State.FAILED, status.trace or "A task of its connector failed."
    if status.running:
        return Mirror.State.RUNNING, ""
    if status.state in ("STOPPED", "PAUSED"):
        return Mirror.State.STOPPED, f"Its connector is {status.state.lower()}."
    return Mirror.State.UNKNOWN, f"Its connector is {status.state.lower()}."


#: (time, end of the source) of this process's earlier looks, by mirror, direction and partition: enough to say how
#: late a mirror is.
_history: dict[tuple[int, int, Partition], list[tuple[float, int]]] = {}
_HISTORY_LENGTH = 300


def _seconds(
    mirror: Mirror,
    now: float,
    anchors: Mapping[Partition, Corresponding],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
) -> float | None:
    """How late the latest partition is; ``None`` when that of one cannot be known."""
    latest: float | None = 0.0
    for partition, end in source_ends.items():
        history = _history.setdefault((mirror.pk, mirror.source_id, partition), [])
        history.append((now, end))
        del history[:-_HISTORY_LENGTH]
        late = seconds_behind(now, mirrored_up_to(anchors[partition], target_ends[partition]), history)
        latest = None if late is None or latest is None else max(latest, late)
    return latest


def trim_samples() -> int:
    """Delete samples older than the setting says."""
    before = timezone.now() - timedelta(hours=settings.LAG_KEPT_HOURS)
    deleted, _ = LagSample.objects.filter(at__lt=before).delete()
    return deleted
