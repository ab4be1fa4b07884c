"""The only door for changing mirrors: create, look, stop, reverse."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import lru_cache

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hadash.inventory.models import Cluster, Pair
from hadash.kafka.cluster import ClusterClient, client_for
from hadash.kafka.connect import ConnectClient, ConnectorStatus
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.kafka.values import Partition
from hadash.mirroring.connector import Endpoint, connector_config, connector_name
from hadash.mirroring.lag import measure, seconds_behind
from hadash.mirroring.models import Anchor, LagSample, Mirror
from hadash.mirroring.offsets import Corresponding, mirrored_up_to, never_back, resume_after
from hadash.mirroring.recount import recount
from hadash.mirroring.standby import deny_writes

log = logging.getLogger(__name__)

#: Seconds between two looks at a connector that is starting or stopping.
POLL_SECONDS = 0.1

#: Records of a partition that are read to find out why its mirror holds more than its source: what a mirror copies in some
#: seconds, between two looks.
RECOUNT_RECORDS = 2000

#: Orders that Connect is given at once.
CONNECT_ORDERS = 32


class MirrorError(Exception):
    """A mirror did not do what it was told. The message is for people."""


@lru_cache(maxsize=4)
def _connect(url: str) -> ConnectClient:
    return ConnectClient(url)


def connect_client() -> ConnectClient:
    """The one Connect client of this process."""
    return _connect(settings.CONNECT_URL)


def cluster_client(cluster: Cluster) -> ClusterClient:
    return client_for(cluster.access)


def partitions_of(client: ClusterClient, topics: Iterable[str]) -> list[Partition]:
    """All partitions of ``topics``. :raises MirrorError: naming one that does not exist."""
    found = client.topics(topics)
    for topic in topics:
        if topic not in found:
            raise MirrorError(f"Topic {topic} does not exist on cluster {client.name}.")
    return [
        Partition(name, index) for name, info in sorted(found.items()) for index in range(len(info.leaders))
    ]


def anchors_of(mirror: Mirror) -> dict[Partition, Corresponding]:
    return {
        Partition(a.topic, a.partition): Corresponding(a.source_offset, a.target_offset)
        for a in mirror.anchors.all()
    }


def _endpoint(cluster: Cluster) -> Endpoint:
    return Endpoint(
        cluster.name,
        cluster.bootstrap_servers,
        cluster.security_protocol,
        cluster.sasl_mechanism,
        cluster.mirror_username,
        cluster.mirror_password,
    )


def connector_of(mirror: Mirror, source: Cluster) -> str:
    """The name of the connector that copies from ``source``."""
    return connector_name(mirror.pair.name, mirror.name, source.name, mirror.pair.other(source).name)


# -- creating -----------------------------------------------------------------------------------------------------


def create_mirror(pair: Pair, name: str, topics: Iterable[str], source: Cluster) -> Mirror:
    """Mirror ``topics`` from ``source`` to the other cluster, from their first record on.

    The Topics are created there with the same partitions and configs. One that exists must be empty: otherwise
    nobody knows which of its records correspond. May be repeated after it was cut off.

    :raises MirrorError: a Topic is missing, is mirrored already, is not empty, or is compacted; or the name is taken.
    """
    wanted = sorted(set(topics))
    target = pair.other(source)
    held = Mirror.objects.filter(pair=pair, name=name).select_related("source").first()
    if held is not None:
        if held.topics != wanted or held.source != source or held.turning:
            raise MirrorError(
                f"Mirror {name} exists already: from {held.source} with {', '.join(held.topics)}."
            )
        deny_writes(pair, target, wanted)
        start(held, source)
        return held
    here, there = cluster_client(source), cluster_client(target)
    for mirror in Mirror.objects.filter(pair=pair):
        both = set(mirror.topics) & set(wanted)
        if both:
            raise MirrorError(f"Topic {min(both)} is mirrored already, by {mirror.name}.")
    partitions = partitions_of(here, wanted)
    configs = here.topic_configs(wanted)
    for topic, config in configs.items():
        if "compact" in config.get("cleanup.policy", ""):
            raise MirrorError(
                f"Topic {topic} is compacted: its offsets have holes, so they cannot be translated exactly."
            )
    infos = here.topics(wanted)
    brokers = len(there.brokers())
    there.create_topics(
        {
            t: (len(i.leaders), min(i.replication_factor, brokers), configs.get(t, {}))
            for t, i in infos.items()
        }
    )
    await_topics(there, wanted)
    starts, ends = here.start_offsets(partitions), there.end_offsets(partitions)
    for partition, end in ends.items():
        if end != 0:
            raise MirrorError(
                f"{partition} on cluster {target.name} is not empty ({end} records were written to it). "
                "Delete the Topic there, or mirror it under another name."
            )
    with transaction.atomic():
        mirror = Mirror.objects.create(pair=pair, name=name, topics=wanted, source=source)
        save_anchors(mirror, {p: Corresponding(starts[p], ends[p]) for p in partitions})
    deny_writes(pair, target, wanted)
    start(mirror, source)
    return mirror


def await_topics(client: ClusterClient, topics: list[str]) -> None:
    """Wait until every partition of new Topics has a leader that has heard of it: another broker may know it earlier."""
    seconds = settings.MIRROR_TOPICS_SECONDS
    deadline = time.monotonic() + seconds
    while True:
        found = client.topics(topics)
        if len(found) == len(topics) and all(leader >= 0 for i in found.values() for leader in i.leaders):
            try:
                client.end_offsets(partitions_of(client, topics))
                return
            except KafkaError:
                pass
        if time.monotonic() > deadline:
            raise MirrorError(f"The Topics on cluster {client.name} have no leaders after {seconds:.0f} s.")
        time.sleep(POLL_SECONDS)


def save_anchors(mirror: Mirror, points: Mapping[Partition, Corresponding]) -> None:
    mirror.anchors.all().delete()
    Anchor.objects.bulk_create(_anchor(mirror, p, point) for p, point in points.items())


def _anchor(mirror: Mirror, partition: Partition, point: Corresponding) -> Anchor:
    return Anchor(
        mirror=mirror,
        topic=partition.topic,
        partition=partition.partition,
        source_offset=point.source,
        target_offset=point.target,
    )


# -- running ------------------------------------------------------------------------------------------------------


#: Raises when the caller may not act any more (see ``switching/executor.py``). Called directly before each step.
Fence = Callable[[], None]


def nobody_else() -> None:
    """The fence of a caller that has no rival."""


def start(
    mirror: Mirror,
    source: Cluster,
    resume: Mapping[Partition, int] | None = None,
    fence: Fence = nobody_else,
) -> None:
    """Create the connector from ``source``, set where it goes on, and let it run.

    :param resume: the last record of each partition that is not to be copied; ``None`` begins with the first one. A
        connector that has copied more than that already is never set back: it would copy records twice.
    """
    connect, name = connect_client(), connector_of(mirror, source)
    target = mirror.pair.other(source)
    config = connector_config(_endpoint(source), _endpoint(target), mirror.topics)
    status = connect.status(name)
    if status is not None and status.running:
        return
    fence()
    if status is not None and resume is not None:
        connect.stop(name)
    connect.create_stopped(name, config)
    if resume is not None:
        await_stopped(name)
        ends = cluster_client(source).end_offsets(resume)
        fence()
        connect.set_offsets(name, source.name, never_back(resume, connect.offsets(name), ends))
    opposite = connect.status(connector_of(mirror, target))
    if opposite is not None and not opposite.stopped:
        raise MirrorError(
            f"Mirror {mirror.name} still copies from {target.name}: both ways at once is a loop."
        )
    fence()
    connect.resume(name)


def await_stopped(name: str, seconds: float = 30.0) -> None:
    """Wait until a connector and its tasks have stopped: only then it cannot write any more."""
    deadline = time.monotonic() + seconds
    while True:
        status = connect_client().status(name)
        if status is not None and status.stopped:
            return
        if time.monotonic() > deadline:
            raise MirrorError(f"Connector {name} has not stopped after {seconds:.0f} s.")
        time.sleep(POLL_SECONDS)


def status_of(mirror: Mirror) -> ConnectorStatus | None:
    """The connector's status in the mirror's direction."""
    return connect_client().status(connector_of(mirror, mirror.source))


def pause_before_turning(mirrors: Sequence[Mirror], fence: Fence = nobody_else) -> None:
    """Ask the connectors of drained mirrors to pause. Connect keeps that: a worker that starts again copies nothing.

    (To stop them would make Connect rebalance, which takes a second, and clients wait: :func:`reverse` does it later.)
    Until :func:`reverse` or :func:`resume_unturned` the mirrors count as turning.
    """
    with transaction.atomic():
        fence()
        Mirror.objects.filter(pk__in=[mirror.pk for mirror in mirrors]).update(turning=True)
    connect, seconds = connect_client(), settings.SWITCH_CONNECT_SECONDS
    with ThreadPoolExecutor(max_workers=CONNECT_ORDERS) as beside:
        orders = [
            beside.submit(connect.pause, connector_of(mirror, mirror.source), seconds) for mirror in mirrors
        ]
        for order in orders:
            order.result()


def hold(mirrors: Sequence[Mirror], fence: Fence = nobody_else) -> None:
    """Stop the connectors of mirrors whose source is lost, and wait until their tasks are gone: a source that comes back must
    not be copied behind what clients have written since. They count as turning until :func:`resume_unturned`, or until
    somebody rebuilds the other side.

    :raises ConnectError: Connect does not answer. :raises MirrorError: a connector does not stop.
    """
    with transaction.atomic():
        fence()
        Mirror.objects.filter(pk__in=[mirror.pk for mirror in mirrors]).update(turning=True)
    connect = connect_client()
    names = [name for m in mirrors if connect.status(name := connector_of(m, m.source)) is not None]
    for name in names:
        fence()
        connect.stop(name)
    for name in names:
        await_stopped(name)


def resume_unturned(mirror: Mirror, fence: Fence = nobody_else) -> None:
    """Take :func:`pause_before_turning` back, if it was called."""
    if not mirror.turning:
        return
    fence()
    connect_client().resume(connector_of(mirror, mirror.source))
    with transaction.atomic():
        fence()
        Mirror.objects.filter(pk=mirror.pk).update(turning=False)


def reverse(mirror: Mirror, ends: Mapping[Partition, Corresponding], fence: Fence = nobody_else) -> None:
    """Turn a drained mirror round: stop the old direction, then start the new one after the drained point.

    May be repeated: the old connector is stopped, with its tasks gone, before the new one runs; the new one copies
    only what came after ``ends``, and is never set back: no record can go round, none is copied twice.

    :param ends: where both sides corresponded when the mirror was drained, by the *old* direction.
    """
    connect = connect_client()
    old_source = mirror.source
    new_source = mirror.pair.other(old_source)
    old = connector_of(mirror, old_source)
    if connect.status(old) is not None:
        fence()
        connect.stop(old)
        await_stopped(old)
    start(mirror, new_source, resume_after(ends), fence)
    with transaction.atomic():
        fence()
        mirror.source, mirror.turning = new_source, False
        mirror.save(update_fields=["source", "turning"])
        save_anchors(mirror, {p: Corresponding(point.target, point.source) for p, point in ends.items()})


# -- looking ------------------------------------------------------------------------------------------------------


#: What a look writes.
_LOOKED_AT = ("state", "fault", "lag_records", "lag_seconds", "looked_at", "sighted", "sighted_at")


def look(mirror: Mirror) -> LagSample:
    """Measure a mirror's lag and state, and keep the sample.

    A mirror that is failed, stopped or silent is never "lag 0": its lag is still counted, and its state says
    what is wrong; when a cluster does not answer the lag is unknown.
    """
    now = timezone.now()
    sample = LagSample(mirror=mirror, at=now)
    fault = ""
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
    sample.save()
    mirror.state, mirror.fault = state, fault
    mirror.lag_records, mirror.lag_seconds, mirror.looked_at = sample.records, sample.seconds, now
    mirror.save(update_fields=[*_LOOKED_AT])
    return sample


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
        (_anchor(mirror, p, point) for p, point in added.items()), ignore_conflicts=True
    )
    return anchors | added, new - added.keys()


def _count_anew(mirror: Mirror, anchors: Mapping[Partition, Corresponding]) -> dict[Partition, Corresponding]:
    """New anchors of those partitions of which it is proved that the mirror has only copied records twice.

    Its Connect worker died. The copies stay in the target: who reads it from its beginning reads them twice. Where groups
    stand is translated exactly all the same, because a switch compares the records there (see ``translate``).

    :param anchors: of the partitions of which the target holds more than the source.
    """
    here, there = cluster_client(mirror.source), cluster_client(mirror.target)
    # The target first: what it has then, the source has too.
    copied = there.tail(there.end_offsets(anchors), there.start_offsets(anchors), RECOUNT_RECORDS)
    written = here.tail(here.end_offsets(anchors), here.start_offsets(anchors), RECOUNT_RECORDS)
    points = {p: recount(written[p], copied[p], anchor) for p, anchor in anchors.items()}
    found = {p: point for p, point in points.items() if point is not None}
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
