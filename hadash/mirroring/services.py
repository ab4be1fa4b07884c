"""The only place that changes mirrors: creates, pauses, holds and reverses them. (``looking.py`` looks at them.)"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from hadash.inventory.models import Cluster, Pair
from hadash.kafka.cluster import ClusterClient, client_for
from hadash.kafka.connect import ConnectClient, ConnectorStatus
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.kafka.values import Partition, TopicInfo
from hadash.mirroring.connector import Endpoint, connector_config, connector_name
from hadash.mirroring.limits import Limits
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash.mirroring.offsets import OffsetSync, never_back, resume_after
from hadash.mirroring.standby import deny_writes
from hadash.mirroring.standby_topics import Needs, make_active, make_standby, needs
from hadash.mirroring.topic_settings import new_configs
from hadash.sentences import Explained, say

log = logging.getLogger(__name__)

#: Seconds between two looks at a connector that is starting or stopping.
POLL_SECONDS = 0.1

#: Requests to Connect that run in parallel, at most.
CONNECT_ORDERS = 32


class MirrorError(Explained):
    """An operation on a mirror failed. Its sentence is for users."""


@lru_cache(maxsize=4)
def _connect(url: str) -> ConnectClient:
    return ConnectClient(url)


def connect_client() -> ConnectClient:
    """Return the one Connect client of this process."""
    return _connect(settings.CONNECT_URL)


def cluster_client(cluster: Cluster) -> ClusterClient:
    return client_for(cluster.access)


def partitions_of(client: ClusterClient, topics: Iterable[str]) -> list[Partition]:
    """Return all partitions of ``topics``. :raises MirrorError: a Topic does not exist."""
    found = client.topics(topics)
    for topic in topics:
        if topic not in found:
            raise MirrorError(
                say(
                    "Topic %(topic)s does not exist on cluster %(cluster)s.", topic=topic, cluster=client.name
                )
            )
    return _partitions(found)


def _partitions(topics: Mapping[str, TopicInfo]) -> list[Partition]:
    return [
        Partition(name, index) for name, info in sorted(topics.items()) for index in range(len(info.leaders))
    ]


def offset_syncs_of(mirror: Mirror) -> dict[Partition, OffsetSync]:
    return _points(mirror.syncs.all())


def offset_syncs_of_topics(mirrors: Iterable[Mirror], topics: Iterable[str]) -> dict[Partition, OffsetSync]:
    """Return the offset syncs of these Topics with one query, because clients wait for it."""
    return _points(MirrorOffsetSync.objects.filter(mirror__in=mirrors, topic__in=topics))


def _points(syncs: QuerySet[MirrorOffsetSync]) -> dict[Partition, OffsetSync]:
    rows = syncs.values_list("topic", "partition", "source_offset", "target_offset")
    return {Partition(topic, index): OffsetSync(source, target) for topic, index, source, target in rows}


def _endpoint(cluster: Cluster) -> Endpoint:
    return Endpoint(
        cluster.name,
        cluster.bootstrap_servers,
        cluster.security_protocol,
        cluster.sasl_mechanism,
        cluster.mirror_username,
        cluster.mirror_password,
        cluster.tls,
    )


def config_of(mirror: Mirror, source: Cluster, limits: Limits) -> dict[str, str]:
    """Return the settings of the connector that copies from ``source``."""
    target = mirror.pair.other(source)
    return connector_config(_endpoint(source), _endpoint(target), mirror.topics, limits=limits)


def connector_of(mirror: Mirror, source: Cluster) -> str:
    """Return the name of the connector that copies from ``source``."""
    return connector_name(mirror.pair.name, mirror.name, source.name, mirror.pair.other(source).name)


# -- creating ----------------------------------------------------------------------------------------------------


def create_mirror(pair: Pair, name: str, topics: Iterable[str], source: Cluster) -> Mirror:
    """Mirror ``topics`` from ``source`` to the other cluster, from their first record on.

    The Topics are created there with the same partitions and configs. An existing one must be empty: otherwise
    it is not known which of its records correspond. May be repeated after an interruption.

    :raises MirrorError: a Topic is missing, is mirrored already, has other partitions there, is not empty
        there, or is compacted; or the name is taken.
    """
    wanted = sorted(set(topics))
    target = pair.other(source)
    held = Mirror.objects.filter(pair=pair, name=name).select_related("source").first()
    if held is not None:
        if held.topics != wanted or held.source != source or held.turning:
            raise MirrorError(
                say(
                    "Mirror %(name)s exists already: from %(source)s with %(topics)s.",
                    name=name,
                    source=held.source,
                    topics=", ".join(held.topics),
                )
            )
        make_standby(target, needs(source, target, wanted).standby)
        deny_writes(pair, target, wanted)
        start(held, source)
        return held
    here, there = cluster_client(source), cluster_client(target)
    for mirror in Mirror.objects.filter(pair=pair):
        both = set(mirror.topics) & set(wanted)
        if both:
            raise MirrorError(
                say(
                    "Topic %(topic)s is mirrored already, by %(mirror)s.", topic=min(both), mirror=mirror.name
                )
            )
    partitions = partitions_of(here, wanted)
    configs = here.topic_configs(wanted)
    for topic, config in configs.items():
        if "compact" in config.get("cleanup.policy", ""):
            raise MirrorError(
                say(
                    "Topic %(topic)s is compacted: its offsets have holes, so they cannot be translated exactly.",
                    topic=topic,
                )
            )
    needed = needs(source, target, wanted)
    there.create_topics(new_topics(here.topics(wanted), configs, needed, len(there.brokers())))
    ends = await_topics(there, wanted)
    uneven = min(ends.keys() ^ set(partitions), default=None)
    if uneven is not None:
        raise MirrorError(
            say(
                "Topic %(topic)s has other partitions on cluster %(target)s than on %(source)s: only one of them has "
                "%(partition)s. Delete the Topic there, or give both as many.",
                topic=uneven.topic,
                target=target.name,
                source=source.name,
                partition=uneven,
            )
        )
    starts = here.start_offsets(partitions)
    for partition, end in ends.items():
        if end != 0:
            raise MirrorError(
                say(
                    "%(partition)s on cluster %(target)s is not empty (%(count)s records were written to it). Delete "
                    "the Topic there, or mirror it under another name.",
                    partition=partition,
                    target=target.name,
                    count=end,
                )
            )
    with transaction.atomic():
        mirror = Mirror.objects.create(
            pair=pair, name=name, topics=wanted, source=source, topic_settings=needed.active
        )
        save_offset_syncs(mirror, {p: OffsetSync(starts[p], ends[p]) for p in partitions})
    make_standby(target, needed.standby)  # also for Topics that existed
    deny_writes(pair, target, wanted)
    start(mirror, source)
    return mirror


def new_topics(
    infos: Mapping[str, TopicInfo], configs: Mapping[str, Mapping[str, str]], needed: Needs, brokers: int
) -> dict[str, tuple[int, int, Mapping[str, str]]]:
    """Return standby Topics for :meth:`ClusterClient.create_topics`: like those of the active side, except for
    the settings that hadash keeps. When they exist :func:`make_standby` sets the rest.

    :param configs: the configs of the active side, by Topic.
    :param brokers: the number of brokers of the standby's cluster.
    """
    return {
        name: (
            len(info.leaders),
            min(info.replication_factor, brokers),
            new_configs(configs.get(name, {}), needed.standby[name]),
        )
        for name, info in infos.items()
    }


def await_topics(client: ClusterClient, topics: list[str]) -> dict[Partition, int]:
    """Wait until every partition of new Topics has a leader that knows it; return the ends.

    (A second request for the ends could be answered by another broker, which does not know them yet.)
    """
    seconds = settings.MIRROR_TOPICS_SECONDS
    deadline = time.monotonic() + seconds
    while True:
        found = client.topics(topics)
        if len(found) == len(topics) and all(leader >= 0 for i in found.values() for leader in i.leaders):
            try:
                return client.end_offsets(_partitions(found))
            except KafkaError as error:
                log.info("not all brokers know the new Topics yet: %s", error)
        if time.monotonic() > deadline:
            raise MirrorError(
                say(
                    "The Topics on cluster %(cluster)s have no leaders after %(seconds)s s.",
                    cluster=client.name,
                    seconds=f"{seconds:.0f}",
                )
            )
        time.sleep(POLL_SECONDS)


def save_offset_syncs(mirror: Mirror, points: Mapping[Partition, OffsetSync]) -> None:
    """Save the offset syncs of a new mirror, or of one that is turned round. The numbers of records that each side
    holds twice are kept, and swapped.
    """
    repeated = {
        Partition(a.topic, a.partition): {
            "source_repeated": a.target_repeated,
            "target_repeated": a.source_repeated,
        }
        for a in mirror.syncs.all()
    }
    mirror.syncs.all().delete()
    MirrorOffsetSync.objects.bulk_create(
        sync(mirror, p, point, **repeated.get(p, {})) for p, point in points.items()
    )


def repeated_in(mirror: Mirror) -> dict[Partition, int]:
    """Return how many records the target of a mirror is known to hold twice before its offset syncs, by partition."""
    return {Partition(a.topic, a.partition): a.target_repeated for a in mirror.syncs.all()}


def sync(mirror: Mirror, partition: Partition, point: OffsetSync, **repeated: int) -> MirrorOffsetSync:
    return MirrorOffsetSync(
        **repeated,
        mirror=mirror,
        topic=partition.topic,
        partition=partition.partition,
        source_offset=point.source,
        target_offset=point.target,
    )


# -- running -----------------------------------------------------------------------------------------------------


#: Raises when the caller must not act any more (see ``switching/execution/executor.py``). Called directly
#: before each step.
Fence = Callable[[], None]


def nobody_else() -> None:
    """Do nothing: the fence of callers without a rival."""


def start(
    mirror: Mirror,
    source: Cluster,
    resume: Mapping[Partition, int] | None = None,
    fence: Fence = nobody_else,
) -> None:
    """Create the connector from ``source``, set where it continues, and start it.

    :param resume: the last record of each partition that is not to be copied; ``None`` begins with the first
        one. A connector that has already copied more is never set back: it would copy records twice.
    """
    connect, name = connect_client(), connector_of(mirror, source)
    target = mirror.pair.other(source)
    status = connect.status(name)
    if status is not None and status.running:
        return
    config = config_of(mirror, source, needs(source, target, mirror.topics).limits)
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
            say(
                "Mirror %(mirror)s still copies from %(target)s: both ways at once is a loop.",
                mirror=mirror.name,
                target=target.name,
            )
        )
    fence()
    connect.resume(name)


def await_stopped(name: str, seconds: float = 30.0) -> None:
    """Wait until a connector and its tasks have stopped: only then it cannot write.

    :raises MirrorError: they have not after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while True:
        status = connect_client().status(name)
        if status is not None and status.stopped:
            return
        if time.monotonic() > deadline:
            raise MirrorError(
                say(
                    "Connector %(name)s has not stopped after %(seconds)s s.",
                    name=name,
                    seconds=f"{seconds:.0f}",
                )
            )
        time.sleep(POLL_SECONDS)


def status_of(mirror: Mirror) -> ConnectorStatus | None:
    """Return the status of the connector in the mirror's direction; ``None`` when there is none."""
    return connect_client().status(connector_of(mirror, mirror.source))


def copied_by(mirror: Mirror) -> dict[Partition, int]:
    """Return the offset of the last record that a mirror has copied, by partition, as Connect has committed it."""
    return connect_client().offsets(connector_of(mirror, mirror.source))


def pause_before_turning(mirrors: Sequence[Mirror], fence: Fence = nobody_else) -> None:
    """Ask the connectors of drained mirrors to pause. Connect stores that: a worker that restarts copies
    nothing.

    (Stopping them would make Connect rebalance, which takes a second while clients wait; :func:`reverse` does
    it later.) Until :func:`reverse` or :func:`resume_unturned` the mirrors count as turning.
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


def turn_on_record(mirror: Mirror, ends: Mapping[Partition, OffsetSync]) -> None:
    """Do the part of :func:`reverse` that needs no server, when the new source is lost. Nothing is copied, and
    the mirror counts as turning until the other side is rebuilt.

    :param ends: as in :func:`reverse`.
    """
    with transaction.atomic():
        mirror.source, mirror.turning = mirror.pair.other(mirror.source), True
        mirror.known_ends, mirror.known_ends_at = [], None
        mirror.save(update_fields=["source", "turning", "known_ends", "known_ends_at"])
        save_offset_syncs(mirror, {p: OffsetSync(point.target, point.source) for p, point in ends.items()})


def hold(mirrors: Sequence[Mirror], active: Cluster, fence: Fence = nobody_else) -> None:
    """Stop the connectors of mirrors whose source is lost, in both directions, and wait until their tasks have
    ended.

    A source that comes back must not be copied behind the records that clients have written since, and an
    interrupted turn must not copy either. The mirrors count as turning until :func:`resume_unturned`, or until
    the other side is rebuilt. Topics on ``active``, where clients write from now on, get their settings for
    clients.

    :raises ConnectError: Connect does not answer.
    :raises MirrorError: a connector does not stop.
    :raises KafkaError: ``active`` does not answer.
    """
    with transaction.atomic():
        fence()
        Mirror.objects.filter(pk__in=[mirror.pk for mirror in mirrors]).update(turning=True)
    connect = connect_client()
    both = [connector_of(m, source) for m in mirrors for source in (m.source, m.pair.other(m.source))]
    names = [name for name in both if connect.status(name) is not None]
    for name in names:
        fence()
        connect.stop(name)
    for name in names:
        await_stopped(name)
    for mirror in mirrors:
        fence()
        make_active(mirror, active)


def resume_unturned(mirror: Mirror, fence: Fence = nobody_else) -> None:
    """Undo :func:`pause_before_turning` or :func:`hold`, if it was called."""
    if mirror.rebuilding or not (mirror.turning or _held_back(mirror)):
        return
    fence()
    connect_client().resume(connector_of(mirror, mirror.source))
    with transaction.atomic():
        fence()
        Mirror.objects.filter(pk=mirror.pk).update(turning=False)


def _held_back(mirror: Mirror) -> bool:
    """Return whether a mirror is paused or stopped in Connect although PostgreSQL does not say so, because it
    may have lost its last commits. While Connect does not answer the result is ``False``; pages show that the
    mirror does not run.
    """
    try:
        return is_held_back(mirror)
    except ConnectError as error:
        log.warning("whether mirror %s is paused is not known: %s", mirror.name, error)
        return False


def is_held_back(mirror: Mirror) -> bool:
    """Return whether the connector is paused or stopped. :raises ConnectError: Connect does not answer."""
    status = status_of(mirror)
    return status is not None and status.state in ("PAUSED", "STOPPED")


def reverse(mirror: Mirror, ends: Mapping[Partition, OffsetSync], fence: Fence = nobody_else) -> None:
    """Turn a drained mirror round: stop the old direction, then start the new one after the drained point.

    May be repeated: the old connector and its tasks have stopped before the new one runs. The new one copies
    only records after ``ends``, and is never set back: no record is copied back or twice.

    :param ends: where both sides corresponded when the mirror was drained, in the *old* direction.
    """
    connect = connect_client()
    old_source = mirror.source
    new_source = mirror.pair.other(old_source)
    old = connector_of(mirror, old_source)
    if connect.status(old) is not None:
        fence()
        connect.stop(old)
        await_stopped(old)
    fence()
    _change_roles(mirror, new_source)
    start(mirror, new_source, resume_after(ends), fence)
    with transaction.atomic():
        fence()
        mirror.source, mirror.turning = new_source, False
        mirror.save(update_fields=["source", "turning"])
        save_offset_syncs(mirror, {p: OffsetSync(point.target, point.source) for p, point in ends.items()})


def _change_roles(mirror: Mirror, active: Cluster) -> None:
    """Set the Topics on both sides for the roles in which clients write to ``active``. Idempotent."""
    old = mirror.pair.other(active)
    if missing := set(mirror.topics) - set(mirror.topic_settings):
        # Not stored yet by a look: the old side still has the settings for clients.
        mirror.topic_settings = {**mirror.topic_settings, **needs(old, active, missing).active}
        mirror.save(update_fields=["topic_settings"])
    make_active(mirror, active)
    make_standby(old, needs(active, old, mirror.topics).standby)
