"""The pool of a pair's auditors: it has the Topics that the pair's mirrors copy."""

from __future__ import annotations

import logging

from kazoo.client import KazooClient

from hadash.auditors.models import AuditedPartition
from hadash.coordinator.pool_view import PoolError
from hadash.coordinator.store import PoolStore
from hadash.inventory.models import Pair
from hadash.kafka.errors import KafkaError
from hadash.mirroring.models import Mirror
from hadash.mirroring.services import cluster_client

log = logging.getLogger(__name__)

#: What the names of auditors' pools begin with; the pair's name follows.
BEGIN = "auditors."

#: In the documents of auditors: they commit no offsets, and note in the database how far they are.
GROUP = "hadash-auditors"


def pool_of(pair: str) -> str:
    """Return the name of a pair's pool of auditors.

    >>> pool_of("main")
    'auditors.main'
    """
    return f"{BEGIN}{pair}"


def mirrored_topics(pair: Pair) -> set[str]:
    """Return the Topics that the pair's mirrors copy."""
    lists = Mirror.objects.filter(pair=pair).values_list("topics", flat=True)
    return {topic for topics in lists for topic in topics}


def keep(client: KazooClient, pair: Pair, *, with_servers: bool = False) -> tuple[int, int]:
    """Let the pool have the mirrored Topics and no others; what was known of others is removed.

    The coordinator itself follows a Topic that gets more partitions.

    :param with_servers: whether Topics are begun again whose documents name other servers than the cluster has: the
        coordinator would count their partitions there.

    :return: how many Topics came, and how many went.
    :raises StoreUnavailable: ZooKeeper does not answer. :raises KafkaError: the cluster of a new Topic does not answer.
    """
    store = PoolStore(client, pool_of(pair.name))
    store.create()
    wanted, known = mirrored_topics(pair), store.topics()
    gone = known - wanted
    for topic in gone:
        store.remove(topic)
    if with_servers:
        for topic, assigned in store.read().topics.items():
            if assigned.document.consumer["bootstrap.servers"] != pair.default.bootstrap_servers:
                store.remove(topic)
                known.discard(topic)
    AuditedPartition.objects.filter(pair=pair).exclude(topic__in=wanted).delete()
    come = sorted(wanted - known)
    if not come:
        return 0, len(gone)
    consumer = {"bootstrap.servers": pair.default.bootstrap_servers, "group.id": GROUP}
    there = cluster_client(pair.default).topics(come)
    if missing := set(come) - there.keys():
        log.warning(
            "Topics that %s does not have are not audited: %s", pair.default, ", ".join(sorted(missing))
        )
    by_topic = {topic: range(len(info.leaders)) for topic, info in there.items()}
    for topic, partitions in by_topic.items():
        try:
            store.register(topic, consumer, partitions)
        except PoolError as error:
            if topic not in store.topics():  # (otherwise another auditor has just done it)
                log.warning("Topic %s is not audited: %s", topic, error)
    return len(by_topic), len(gone)


def keep_if_possible(client: KazooClient, pair: Pair, *, with_servers: bool = False) -> bool:
    """The same as :func:`keep`, for what looks again anyway: a cluster that does not answer is told in the log. Whether
    it was done."""
    try:
        keep(client, pair, with_servers=with_servers)
    except KafkaError as error:
        log.warning("new Topics of pair %s are not audited yet: %s", pair, error)
        return False
    return True
