"""Looking at mirrors: how far they are, whether they run, where both sides correspond."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.kafka.connect import ConnectorStatus
from hadash.kafka.errors import ClusterUnavailable, ConnectError, KafkaError
from hadash.kafka.values import Partition
from hadash.mirroring import comparing, resync, upkeep
from hadash.mirroring.lag import measure, seconds_behind
from hadash.mirroring.models import Anchor, LagSample, Mirror
from hadash.mirroring.offsets import OffsetSync, mirrored_up_to
from hadash.mirroring.services import (
    MirrorError,
    anchor,
    anchors_of,
    cluster_client,
    connect_client,
    connector_of,
    partitions_of,
    status_of,
)
from hadash.mirroring.tasks import counted, unseen

log = logging.getLogger(__name__)

#: Seconds between two looks at a mirror that has to catch up.
POLL_SECONDS = 0.1

#: What a look writes.
_LOOKED_AT = ("state", "fault", "tasks", "lag_records", "lag_seconds", "looked_at", "sighted", "sighted_at")


def look_at_pair(pair: Pair, moving: Collection[str] = ()) -> None:
    """Look at all mirrors of a pair, one after the other; what goes wrong with one is not the others' matter.

    :param moving: names of mirrors that a switch uses at this moment. Their settings are not mended: a connector
        that starts again would keep its clients waiting.

    When a cluster does not answer, the others of this round only say so: each of them would wait for it as
    long as the first. Who was not looked at for the longest time comes first, so the next round begins with
    them: if only one broker is away, whose mirrors come last from then on.
    """
    away, comparing_seconds = "", 0.0
    oldest_first = Mirror.objects.filter(pair=pair).order_by(F("looked_at").asc(nulls_first=True), "name")
    for mirror in oldest_first.select_related("source", "pair__first", "pair__second"):
        try:
            if away:
                _note_unseen(mirror, f"{away} This mirror is looked at as soon as that is over.")
            else:
                began, before = time.monotonic(), mirror.compared_at
                compare = comparing_seconds < settings.MIRROR_COMPARE_ROUND_SECONDS
                _, away = _look(mirror, mend=mirror.name not in moving, compare=compare)
                if mirror.compared_at != before:
                    comparing_seconds += time.monotonic() - began
        except Exception:  # (deleted meanwhile, for one)
            log.exception("mirror %s could not be looked at", mirror.name)


def _note_unseen(mirror: Mirror, fault: str) -> None:
    """Nobody knows how far it is, which is a sample, too. (When it was looked at last, and what was seen
    then, stays.)
    """
    LagSample.objects.create(mirror=mirror, at=timezone.now(), state=Mirror.State.UNKNOWN)
    Mirror.objects.filter(pk=mirror.pk).update(
        state=Mirror.State.UNKNOWN, fault=fault, lag_records=None, lag_seconds=None
    )


@dataclass(frozen=True, slots=True)
class Held:
    """What the source of a mirror held, and when (``time.monotonic``)."""

    ends: Mapping[Partition, int]
    at: float


def held_now(mirrors: Iterable[Mirror]) -> dict[Mirror, Held]:
    """What each source holds: who looks at many mirrors waits for all of them at the same time. A source that does not
    answer is missing; the look will say so."""
    found = {}
    for mirror in mirrors:
        client = cluster_client(mirror.source)
        try:
            found[mirror] = Held(client.end_offsets(partitions_of(client, mirror.topics)), time.monotonic())
        except KafkaError as error:
            log.warning("The source of mirror %s cannot be asked: %s", mirror.name, error)
    return found


def look(
    mirror: Mirror, thorough: bool = False, held: Held | None = None, max_lag: int | None = None
) -> LagSample:
    """Measure a mirror's lag and state, and keep the sample.

    A mirror that is failed, stopped or silent is never "lag 0": its lag is still counted, and its state says
    what is wrong; when a cluster does not answer the lag is unknown.

    :param thorough: before clients are moved: settings are read and records compared however lately that was done,
        and what the source holds has to be copied within ``MIRROR_CATCH_UP_SECONDS``.
    :param held: what that is, if it was asked before (:func:`held_now`); else what it holds now.
    :param max_lag: records of lag with which a switch may begin; more are not waited for. The default is the setting's.

    Settings that differ are noted, and mended by :func:`look_at_pair`.
    """
    return _look(mirror, mend=False, thorough=thorough, compare=thorough, held=held, max_lag=max_lag)[0]


def _look(
    mirror: Mirror,
    mend: bool,
    thorough: bool = False,
    compare: bool = False,
    held: Held | None = None,
    max_lag: int | None = None,
) -> tuple[LagSample, str]:
    """The sample, and what was said of a cluster that did not answer; empty if both did."""
    now = timezone.now()
    sample = LagSample(mirror=mirror, at=now)
    fault = away = ""
    state = Mirror.State.UNKNOWN
    tasks_before, mirror.tasks = mirror.tasks, unseen(mirror.tasks)
    try:
        kept = _keep(mirror, mend, thorough)
        status = status_of(mirror)
        mirror.tasks = counted(tasks_before, connector_of(mirror, mirror.source), status, now.isoformat())
        state, fault = _connector_state(status)
        fault = " ".join(text for text in (fault, kept.fault) if text)
        anchors, unknown = _anchors_now(mirror)
        source_ends, target_ends = _ends(mirror, anchors)
        mirror.sighted = [[p.topic, p.partition, end] for p, end in sorted(source_ends.items())]
        mirror.sighted_at = now
        lag = measure(anchors, source_ends, target_ends)
        copies = state is Mirror.State.RUNNING and not mirror.turning
        found: dict[Partition, OffsetSync] = {}
        if lag.excess and copies:
            found |= resync.after_copies(mirror, {p: anchors[p] for p in lag.excess})
        if lag.records and copies:
            found |= _over_gaps(mirror, anchors, source_ends, target_ends, thorough)
        anchors |= found
        if (
            thorough
            and copies
            and 0 < lag.records <= (settings.SWITCH_MAX_LAG if max_lag is None else max_lag)
        ):
            _catch_up(mirror, anchors, held or Held(source_ends, time.monotonic()))
            found = anchors
        if found:
            # The new points may lie behind the ends that were read.
            source_ends, target_ends = _ends(mirror, anchors)
            lag = measure(anchors, source_ends, target_ends)
        sample.records = lag.records
        sample.partitions = {str(p): records for p, records in lag.partitions.items()}
        if mirror.turning:
            state, fault = (
                (state, fault) if state is Mirror.State.FAILED else (Mirror.State.TURNING, _half(mirror))
            )
        elif lag.excess:
            partition, count = next(iter(lag.excess.items()))
            state = Mirror.State.FAILED
            fault = f"The mirror of {partition} holds {count} records that its source does not."
        elif copies:
            compare = thorough or (compare and comparing.due(mirror))
            wrong = _content(mirror, anchors, source_ends, target_ends, compare, thorough)
            state, fault = (Mirror.State.FAILED, wrong) if wrong else (state, fault)
            if thorough and kept.unfit and not wrong:
                state, fault = Mirror.State.UNKNOWN, kept.unfit
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
        if thorough:
            state = Mirror.State.UNKNOWN  # what had to be looked at was not
        if not mirror.turning and (known := comparing.fault_of(mirror)):
            state, fault = Mirror.State.FAILED, f"{known} {fault}"
    sample.state = state
    sample.save()
    mirror.state, mirror.fault = state, fault
    mirror.lag_records, mirror.lag_seconds, mirror.looked_at = sample.records, sample.seconds, now
    mirror.save(update_fields=[*_LOOKED_AT])
    return sample, away


def _half(mirror: Mirror) -> str:
    """What a mirror that counts as turning waits for, if that may be a person."""
    if not mirror.rebuilding:
        return ""
    return (
        f"Its standby on {mirror.target.name} is being rebuilt. If nobody is at it any more, run the command again: "
        f"{comparing.rebuild_command(mirror)}"
    )


def _keep(mirror: Mirror, mend: bool, thorough: bool) -> upkeep.Kept:
    """What is wrong with its settings. That a cluster refuses to tell them is a fault as well; before a switch it is
    raised.
    """
    try:
        return upkeep.keep(mirror, mend, thorough)
    except ClusterUnavailable:
        raise
    except KafkaError as error:
        if thorough:
            raise
        return upkeep.Kept(str(error))


def _ends(
    mirror: Mirror, partitions: Collection[Partition]
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """The ends on (source, target). The target is read first: the other way round a busy mirror could seem ahead of
    its source.
    """
    target_ends = cluster_client(mirror.target).end_offsets(partitions)
    return cluster_client(mirror.source).end_offsets(partitions), target_ends


def _anchors_now(mirror: Mirror) -> tuple[dict[Partition, OffsetSync], set[Partition]]:
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
    added = {p: OffsetSync(0, 0) for p in both if here_starts[p] == there_starts[p] == 0}
    Anchor.objects.bulk_create(
        (anchor(mirror, p, point) for p, point in added.items()), ignore_conflicts=True
    )
    return anchors | added, new - added.keys()


#: By mirror, the ends of both sides of its partitions when this process has last looked.
_last_ends: dict[int, dict[Partition, tuple[int, int]]] = {}


def _over_gaps(
    mirror: Mirror,
    anchors: Mapping[Partition, OffsetSync],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
    thorough: bool,
) -> dict[Partition, OffsetSync]:
    """New anchors of partitions that seem to lag because offsets of the source have no copy.

    Looked into are those that did not move since the last look, those of which Connect says that it has copied
    further than the target's count goes, and before a switch all.
    """
    now = {p: (end, target_ends[p]) for p, end in source_ends.items()}
    before, _last_ends[mirror.pk] = _last_ends.get(mirror.pk, {}), now
    lagging = {p for p, count in measure(anchors, source_ends, target_ends).partitions.items() if count > 0}
    # Connect first, then the target: what Connect has committed is there.
    copied = connect_client().offsets(connector_of(mirror, mirror.source))
    ends = cluster_client(mirror.target).end_offsets(lagging)
    suspect = {
        p: anchors[p]
        for p in lagging
        if thorough or before.get(p) == now[p] or copied.get(p, -1) + 1 > mirrored_up_to(anchors[p], ends[p])
    }
    return resync.after_gaps(mirror, suspect, copied) if suspect else {}


def _catch_up(mirror: Mirror, anchors: dict[Partition, OffsetSync], held: Held) -> None:
    """Wait until the target holds what the source held. ``anchors`` get those of gaps that show meanwhile.

    :raises MirrorError: it does not come, so a switch would block its clients in vain.
    """
    seconds = settings.MIRROR_CATCH_UP_SECONDS
    source_ends = {p: end for p, end in held.ends.items() if p in anchors}
    while True:
        target_ends = cluster_client(mirror.target).end_offsets(anchors)
        late = {
            p: missing
            for p, end in source_ends.items()
            if (missing := end - mirrored_up_to(anchors[p], target_ends[p])) > 0
        }
        if not late:
            return
        if time.monotonic() > held.at + seconds:
            found = _over_gaps(mirror, anchors, source_ends, target_ends, thorough=True)
            anchors |= found
            left = sorted(late.keys() - found.keys())
            if not left:
                return
            raise MirrorError(
                f"The mirror of {left[0]} lacks {late[left[0]]} offsets that its source held {seconds:.0f} s ago. "
                "Either it is too slow, or it has left records out, or they hold none and that cannot be proved. If it "
                "stays so: "
                f"{comparing.rebuild_advice(mirror)}"
            )
        time.sleep(POLL_SECONDS)


def _content(
    mirror: Mirror,
    anchors: dict[Partition, OffsetSync],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
    compare: bool,
    thorough: bool,
) -> str:
    """What is wrong with the records of the standby, in words; empty if nothing is known to be.

    :raises KafkaError: they could not be compared, and had to be because a switch begins.
    """
    if compare:
        try:
            compared_before = mirror.compared_at
            _compare(mirror, anchors, source_ends, target_ends)
            comparing.save(mirror, compared_before)
        except KafkaError as error:
            if thorough:
                raise
            log.warning("The records of mirror %s could not be compared: %s", mirror.name, error)
    lost = resync.losses(mirror, cluster_client(mirror.target).start_offsets(anchors)) if mirror.gaps else []
    if lost:
        return (
            f"{resync.said_of(lost[0])} {mirror.target.name} holds older records before them. "
            f"{comparing.rebuild_advice(mirror)}.{resync.advice(mirror, lost[0])}"
        )
    return comparing.fault_of(mirror)


def _compare(
    mirror: Mirror,
    anchors: dict[Partition, OffsetSync],
    source_ends: Mapping[Partition, int],
    target_ends: Mapping[Partition, int],
) -> None:
    """Compare, and look whether other keys or values only mean that both sides are shifted against each other."""
    before = (mirror.comparison, mirror.compared_at)
    found = comparing.compare(mirror, anchors, source_ends, target_ends)
    shifted = {d.partition: anchors[d.partition] for d in found if d.kind in ("key", "value")}
    points = resync.after_gaps(mirror, shifted, {}) if shifted else {}
    if left := {p: known for p, known in shifted.items() if p not in points}:
        points |= resync.after_copies(mirror, left)
    if points:
        anchors |= points
        mirror.comparison, mirror.compared_at = before
        comparing.compare(mirror, anchors, source_ends, target_ends)


def _connector_state(status: ConnectorStatus | None) -> tuple[Mirror.State, str]:
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
    anchors: Mapping[Partition, OffsetSync],
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
