"""Looks at mirrors: measures their lag, and checks that they run and hold what their source holds."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Count, F, Max, Q
from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.kafka.connect import ConnectorStatus
from hadash.kafka.errors import ClusterUnavailable, ConnectError, KafkaError
from hadash.kafka.values import Partition
from hadash.mirroring import catching_up, comparing, resync, upkeep
from hadash.mirroring.lag import Lag, measure, seconds_behind
from hadash.mirroring.models import LagSample, Mirror, PairLag
from hadash.mirroring.offsets import OffsetSync, mirrored_up_to
from hadash.mirroring.services import (
    MirrorError,
    cluster_client,
    connector_of,
    status_of,
)
from hadash.mirroring.tasks import counted, unseen
from hadash.sentences import NOTHING, Sentence, joined, say

log = logging.getLogger(__name__)

#: The fields that a look writes.
_LOOKED_AT = (
    "state", "fault", "tasks", "lag_records", "lag_seconds", "partition_seconds", "looked_at", "known_ends",
    "known_ends_at",
)  # fmt: skip


def look_at_pair(pair: Pair, moving: Collection[str] = ()) -> None:
    """Look at all mirrors of a pair, one after the other. A failure of one does not affect the others.

    :param moving: names of mirrors that a running switch uses. Their settings are not mended: a connector that
        restarts would keep its clients waiting.

    When a cluster does not answer, the remaining mirrors of this round are only marked as unknown: each look
    would wait for the cluster as long as the first. Mirrors that were not looked at for the longest time come
    first, so the next round begins with these. If only one broker is down, its mirrors soon come last.
    """
    away, comparing_seconds = NOTHING, 0.0
    oldest_first = Mirror.objects.filter(pair=pair).order_by(F("looked_at").asc(nulls_first=True), "name")
    for mirror in oldest_first.select_related("source", "pair__first", "pair__second"):
        try:
            if away:
                _note_unseen(mirror, joined(away, say("This mirror is looked at as soon as that is over.")))
            else:
                began, before = time.monotonic(), mirror.compared_at
                compare = comparing_seconds < settings.MIRROR_COMPARE_ROUND_SECONDS
                _, away = _look(mirror, mend=mirror.name not in moving, compare=compare)
                if mirror.compared_at != before:
                    comparing_seconds += time.monotonic() - began
        except Exception:  # (for example, it was deleted meanwhile)
            log.exception("mirror %s could not be looked at", mirror.name)
    note_lag_of(pair)


def note_lag_of(pair: Pair) -> None:
    """Store the lag of a pair's mirrors together, if it has any."""
    found = Mirror.objects.filter(pair=pair).aggregate(
        seconds=Max("lag_seconds"),
        records=Max("lag_records"),
        unknown=Count("pk", filter=Q(lag_seconds=None)),
        down=Count("pk", filter=Q(state__in=Mirror.DOWN)),
    )
    if found["seconds"] is not None or found["unknown"]:
        PairLag.objects.create(pair=pair, at=timezone.now(), **found)


def _note_unseen(mirror: Mirror, fault: Sentence) -> None:
    """Store a sample with an unknown lag. (The time and the offsets of the last look are kept.)"""
    LagSample.objects.create(mirror=mirror, at=timezone.now(), state=Mirror.State.UNKNOWN)
    Mirror.objects.filter(pk=mirror.pk).update(
        state=Mirror.State.UNKNOWN, fault=fault, lag_records=None, lag_seconds=None, partition_seconds={}
    )


def look(
    mirror: Mirror, thorough: bool = False, held: catching_up.Held | None = None, max_lag: int | None = None
) -> LagSample:
    """Measure a mirror's lag and state, and store the sample.

    A mirror that is failed, stopped or silent never has a lag of 0 by default: its lag is still counted, and
    its state says what is wrong. When a cluster does not answer the lag is unknown.

    :param thorough: for the time before clients move: settings are read and records compared even if that was
        done recently, and the records that the source holds have to be copied within
        ``MIRROR_CATCH_UP_SECONDS``.
    :param held: the ends of the source for that, if they were read before (``catching_up.held_now``); else the
        current ones.
    :param max_lag: the lag in records with which a switch may begin; with more it is not awaited. Default: the
        setting.

    Settings that differ are recorded; :func:`look_at_pair` mends them.
    """
    return _look(mirror, mend=False, thorough=thorough, compare=thorough, held=held, max_lag=max_lag)[0]


def _look(
    mirror: Mirror,
    mend: bool,
    thorough: bool = False,
    compare: bool = False,
    held: catching_up.Held | None = None,
    max_lag: int | None = None,
) -> tuple[LagSample, Sentence]:
    """Look at a mirror; return the sample, and why a cluster did not answer (``NOTHING`` if both did)."""
    now = timezone.now()
    sample = LagSample(mirror=mirror, at=now)
    behind: dict[Partition, float | None] = {}
    fault = away = NOTHING
    state = Mirror.State.UNKNOWN
    tasks_before, mirror.tasks = mirror.tasks, unseen(mirror.tasks)
    try:
        kept = _keep(mirror, mend, thorough)
        status = status_of(mirror)
        mirror.tasks = counted(tasks_before, connector_of(mirror, mirror.source), status, now.isoformat())
        state, fault = _connector_state(status)
        fault = joined(fault, kept.fault)
        copies = state is Mirror.State.RUNNING and not mirror.turning
        sides = _measure(mirror, now, copies, thorough, held, max_lag)
        sample.records = sides.lag.records
        sample.partitions = {str(p): records for p, records in sides.lag.partitions.items()}
        state, fault = _judged(mirror, state, fault, sides)
        if copies and not sides.lag.excess:
            compare = thorough or (compare and comparing.due(mirror))
            wrong = _content(mirror, sides, compare, thorough)
            state, fault = (Mirror.State.FAILED, wrong) if wrong else (state, fault)
            if thorough and kept.unfit and not wrong:
                state, fault = Mirror.State.UNKNOWN, kept.unfit
        behind = _seconds(mirror, now.timestamp(), sides)
        sample.seconds = None if None in behind.values() else max(filter(None, behind.values()), default=0.0)
        if sides.unknown:
            sample.records = sample.seconds = None
            fault = fault or say(
                "Of %(partitions)s it is not known which records of both sides correspond.",
                partitions=sorted(sides.unknown),
            )
    except MirrorError as error:
        state, fault = Mirror.State.FAILED, error.sentence
    except (KafkaError, ConnectError) as error:
        fault = error.sentence
        away = fault if isinstance(error, ClusterUnavailable) else NOTHING
        if thorough:
            state = Mirror.State.UNKNOWN  # not everything could be checked
        if not mirror.turning and (known := comparing.fault_of(mirror)):
            state, fault = Mirror.State.FAILED, joined(known, fault)
    sample.state = state
    sample.partition_seconds = {str(p): seconds for p, seconds in behind.items() if seconds != 0}
    sample.save()
    mirror.state, mirror.fault = state, fault
    mirror.lag_records, mirror.lag_seconds, mirror.looked_at = sample.records, sample.seconds, now
    mirror.partition_seconds = sample.partition_seconds
    mirror.save(update_fields=[*_LOOKED_AT])
    return sample, away


@dataclass
class _Sides:
    """Both sides of a mirror at one look, by partition: where their records correspond, where each ends, and what that
    makes of the lag. ``unknown``: partitions of which nobody knows where they correspond.
    """

    syncs: dict[Partition, OffsetSync]
    unknown: Collection[Partition]
    source_ends: Mapping[Partition, int]
    target_ends: Mapping[Partition, int]
    lag: Lag


def _measure(
    mirror: Mirror,
    now: datetime,
    copies: bool,
    thorough: bool,
    held: catching_up.Held | None,
    max_lag: int | None,
) -> _Sides:
    """Read where both sides end, and note the source's ends with the mirror. Parameters as for :func:`look`.

    :param now: when the look began.
    :param copies: whether the mirror copies: then points are looked for where what is known does not explain what the
        target holds (copied twice, gaps), and a thorough look waits until it has caught up.
    """
    syncs, unknown = catching_up.syncs_now(mirror)
    source_ends, target_ends = catching_up.ends(mirror, syncs)
    mirror.known_ends = [[p.topic, p.partition, end] for p, end in sorted(source_ends.items())]
    mirror.known_ends_at = now
    lag = measure(syncs, source_ends, target_ends)
    if not copies:
        return _Sides(syncs, unknown, source_ends, target_ends, lag)
    found: dict[Partition, OffsetSync] = {}
    if lag.excess:
        found |= resync.after_copies(mirror, {p: syncs[p] for p in lag.excess})
    if lag.records:
        found |= catching_up.over_gaps(mirror, syncs, source_ends, target_ends, thorough)
    syncs |= found
    if thorough and 0 < lag.records <= (settings.SWITCH_MAX_LAG if max_lag is None else max_lag):
        catching_up.catch_up(mirror, syncs, held or catching_up.Held(source_ends, time.monotonic()))
        found = syncs
    if found:
        # The new points may be behind the ends that were read.
        source_ends, target_ends = catching_up.ends(mirror, syncs)
        lag = measure(syncs, source_ends, target_ends)
    return _Sides(syncs, unknown, source_ends, target_ends, lag)


def _judged(
    mirror: Mirror, state: Mirror.State, fault: Sentence, sides: _Sides
) -> tuple[Mirror.State, Sentence]:
    """Return the state and fault of a mirror, whose connector says these, as far as its offsets tell."""
    if mirror.turning:
        return (state, fault) if state is Mirror.State.FAILED else (Mirror.State.TURNING, _half(mirror))
    if not sides.lag.excess:
        return state, fault
    partition, count = next(iter(sides.lag.excess.items()))
    return Mirror.State.FAILED, say(
        "The mirror of %(partition)s holds %(count)s records that its source does not.",
        partition=partition,
        count=count,
    )


def _half(mirror: Mirror) -> Sentence:
    """Return what a mirror that counts as turning waits for, if an administrator may have to act."""
    if not mirror.rebuilding:
        return NOTHING
    return say(
        "Its standby on %(cluster)s is being rebuilt. If nobody is at it any more, run the command again: %(command)s",
        cluster=mirror.target.name,
        command=comparing.rebuild_command(mirror),
    )


def _keep(mirror: Mirror, mend: bool, thorough: bool) -> upkeep.Kept:
    """Check a mirror's settings. A cluster's refusal to return them is a fault; in a thorough look it is raised."""
    try:
        return upkeep.keep(mirror, mend, thorough)
    except ClusterUnavailable:
        raise
    except KafkaError as error:
        if thorough:
            raise
        return upkeep.Kept(error.sentence)


def _content(mirror: Mirror, sides: _Sides, compare: bool, thorough: bool) -> Sentence:
    """Return what is wrong with the records of the standby; ``NOTHING`` if no fault is known.

    :raises KafkaError: they could not be compared in a thorough look.
    """
    if compare:
        try:
            compared_before = mirror.compared_at
            _compare(mirror, sides)
            comparing.save(mirror, compared_before)
        except KafkaError as error:
            if thorough:
                raise
            log.warning("The records of mirror %s could not be compared: %s", mirror.name, error)
    lost = (
        resync.losses(mirror, cluster_client(mirror.target).start_offsets(sides.syncs)) if mirror.gaps else []
    )
    if lost:
        return joined(
            resync.said_of(lost[0]),
            say("%(cluster)s holds older records before them.", cluster=mirror.target.name),
            resync.advice(mirror, lost[0]),
        )
    return comparing.fault_of(mirror)


def _compare(mirror: Mirror, sides: _Sides) -> None:
    """Compare the records, and check whether different keys or values only mean that both sides are shifted."""
    before = (mirror.comparison, mirror.compared_at)
    syncs = sides.syncs
    found = comparing.compare(mirror, syncs, sides.source_ends, sides.target_ends)
    shifted = {d.partition: syncs[d.partition] for d in found if d.kind in ("key", "value")}
    points = resync.after_gaps(mirror, shifted, {}) if shifted else {}
    if left := {p: known for p, known in shifted.items() if p not in points}:
        points |= resync.after_copies(mirror, left)
    if points:
        syncs |= points
        mirror.comparison, mirror.compared_at = before
        comparing.compare(mirror, syncs, sides.source_ends, sides.target_ends)


def _connector_state(status: ConnectorStatus | None) -> tuple[Mirror.State, Sentence]:
    if status is None:
        return Mirror.State.STOPPED, say("Connect knows no connector for it.")
    if status.failed:
        trace = Sentence.from_json(status.trace)
        return Mirror.State.FAILED, trace or say("A task of its connector failed.")
    if status.running:
        return Mirror.State.RUNNING, NOTHING
    stopped = status.state in ("STOPPED", "PAUSED")
    state = Mirror.State.STOPPED if stopped else Mirror.State.UNKNOWN
    return state, say("Its connector is in state %(state)s.", state=status.state)


#: (time, end of the source) of this process's earlier looks, by mirror, direction and partition, for the lag in
#: seconds.
_history: dict[tuple[int, int, Partition], list[tuple[float, int]]] = {}
_HISTORY_LENGTH = 300


def _seconds(mirror: Mirror, now: float, sides: _Sides) -> dict[Partition, float | None]:
    """Return the lag of each partition in seconds; ``None`` for one whose lag is not known."""
    found = {}
    for partition, end in sides.source_ends.items():
        history = _history.setdefault((mirror.pk, mirror.source_id, partition), [])
        history.append((now, end))
        del history[:-_HISTORY_LENGTH]
        mirrored = mirrored_up_to(sides.syncs[partition], sides.target_ends[partition])
        found[partition] = seconds_behind(now, mirrored, history)
    return found
