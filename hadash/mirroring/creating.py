"""Creates mirrors, and the Topics that they need on the other cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping

from django.conf import settings
from django.db import transaction

from hadash.inventory.models import Cluster, Pair
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition, TopicInfo
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.services import (
    POLL_SECONDS,
    MirrorError,
    cluster_client,
    partitions_in,
    partitions_of,
    save_offset_syncs,
    start,
)
from hadash.mirroring.standby import deny_writes
from hadash.mirroring.standby_topics import Needs, make_standby, needs
from hadash.mirroring.topic_settings import new_configs
from hadash.sentences import say

log = logging.getLogger(__name__)


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
                return client.end_offsets(partitions_in(found))
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
