"""What belongs to a mirror: the clients of its clusters, its connector, and its offset syncs.

``creating.py`` creates mirrors, ``turning.py`` turns them round, ``probe.py`` looks at them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from django.conf import settings
from django.db.models import QuerySet

from hadash.inventory.models import Cluster
from hadash.kafka.cluster import ClusterClient, client_for
from hadash.kafka.connect import ConnectClient, ConnectorStatus
from hadash.kafka.values import ClusterAccess, Partition, TopicInfo
from hadash.mirroring.connector import connector_config, connector_name
from hadash.mirroring.limits import Limits
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash.mirroring.offsets import OffsetSync, never_back
from hadash.mirroring.standby_topics import needs
from hadash.sentences import Explained, say

log = logging.getLogger(__name__)

#: Seconds between two looks at a connector that is starting or stopping.
POLL_SECONDS = 0.1


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
    return partitions_in(found)


def partitions_in(topics: Mapping[str, TopicInfo]) -> list[Partition]:
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


def _mirror_access(cluster: Cluster) -> ClusterAccess:
    """How the mirror's own account reaches a cluster."""
    return ClusterAccess(
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
    return connector_config(_mirror_access(source), _mirror_access(target), mirror.topics, limits=limits)


def connector_of(mirror: Mirror, source: Cluster) -> str:
    """Return the name of the connector that copies from ``source``."""
    return connector_name(mirror.pair.name, mirror.name, source.name, mirror.pair.other(source).name)


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


def is_held_back(mirror: Mirror) -> bool:
    """Return whether the connector is paused or stopped. :raises ConnectError: Connect does not answer."""
    status = status_of(mirror)
    return status is not None and status.state in ("PAUSED", "STOPPED")


def copied_by(mirror: Mirror) -> dict[Partition, int]:
    """Return the offset of the last record that a mirror has copied, by partition, as Connect has committed it."""
    return connect_client().offsets(connector_of(mirror, mirror.source))
