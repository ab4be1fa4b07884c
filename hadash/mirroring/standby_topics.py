"""Reads and sets the settings of a mirror's Topics that hadash keeps. ``topic_settings.py`` explains them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from hadash.inventory.models import Cluster
from hadash.kafka.cluster import client_for
from hadash.mirroring.limits import SOCKET_BYTES, Limits, limits_of, too_large
from hadash.mirroring.models import Mirror
from hadash.mirroring.topic_settings import (
    KEPT,
    MAX_MESSAGE_BYTES,
    TopicSettings,
    for_standby,
    to_change_on_active,
    to_change_on_standby,
)
from hadash.sentences import NOTHING, Sentence, say

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Needs:
    """The settings that a mirror needs, derived from those of the side that it copies from.

    ``active``: the settings in effect there. ``standby``: the settings for the other side's Topics. ``fault``:
    says which records the other side's brokers would refuse; ``NOTHING`` if they accept all.
    """

    active: TopicSettings
    standby: TopicSettings
    limits: Limits
    fault: Sentence = NOTHING


def needs(source: Cluster, target: Cluster, topics: Iterable[str]) -> Needs:
    """Read the settings that a mirror of ``topics`` needs. :raises KafkaError: a cluster does not answer."""
    factor = settings.MIRROR_UNCOMPRESSED_FACTOR
    active = client_for(source.access).topic_settings(topics, KEPT)
    batches = {topic: int(held[MAX_MESSAGE_BYTES]) for topic, held in active.items()}
    largest_request = _largest_request(target)
    refused = too_large(batches, largest_request)
    fault = (
        say(
            "Topic %(topic)s takes records of %(bytes)s bytes on %(source)s; brokers of %(target)s refuse requests "
            "over %(limit)s bytes: raise their socket.request.max.bytes.",
            topic=refused,
            bytes=batches[refused],
            source=source.name,
            target=target.name,
            limit=largest_request,
        )
        if refused
        else NOTHING
    )
    standby = {topic: for_standby(held, factor, largest_request) for topic, held in active.items()}
    return Needs(active, standby, limits_of(batches, factor, largest_request), fault)


def _largest_request(cluster: Cluster) -> int:
    """Return the size of the largest request that every broker of ``cluster`` accepts, in bytes."""
    client = client_for(cluster.access)
    found = client.broker_configs(broker for broker, _, _ in client.brokers())
    limits = [int(configs.get("socket.request.max.bytes", SOCKET_BYTES)) for configs in found.values()]
    return min(limits, default=SOCKET_BYTES)


def standby_changes(cluster: Cluster, wanted: TopicSettings) -> TopicSettings:
    """Return the settings that have to change to give Topics on ``cluster`` those of a standby."""
    return to_change_on_standby(client_for(cluster.access).topic_settings(wanted, KEPT), wanted)


def make_standby(cluster: Cluster, wanted: TopicSettings) -> None:
    """Give Topics of ``cluster`` the settings of a standby."""
    set_topics(cluster, standby_changes(cluster, wanted), "a standby")


def make_active(mirror: Mirror, cluster: Cluster) -> None:
    """Give the mirror's Topics on ``cluster`` the settings for clients."""
    held = client_for(cluster.access).topic_settings(mirror.topic_settings, KEPT)
    set_topics(cluster, to_change_on_active(held, mirror.topic_settings), "active")


def set_topics(cluster: Cluster, changes: TopicSettings, role: str) -> None:
    """Set some configs of Topics, and log it. :param role: the role of the Topics, for the log."""
    client_for(cluster.access).set_topic_configs(changes)
    for topic, changed in changes.items():
        texts = ", ".join(f"{key}={value}" for key, value in changed.items())
        log.info("Topic %s on %s is %s: %s.", topic, cluster.name, role, texts)
