"""Reading and setting what hadash keeps of the Topics of a mirror: see ``topic_settings.py`` for what that is, and
why.
"""

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

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a mirror needs by the settings of the side that it copies from.

    ``active``: what is in effect there. ``standby``: what the other side's Topics are set to. ``fault``: what the
    other side's brokers would refuse, in words; empty if they take everything.
    """

    active: TopicSettings
    standby: TopicSettings
    limits: Limits
    fault: str = ""


def needs(source: Cluster, target: Cluster, topics: Iterable[str]) -> Needs:
    """:raises KafkaError: a cluster does not answer."""
    factor = settings.MIRROR_UNCOMPRESSED_FACTOR
    active = client_for(source.access).topic_settings(topics, KEPT)
    batches = {topic: int(held[MAX_MESSAGE_BYTES]) for topic, held in active.items()}
    largest_request = _largest_request(target)
    refused = too_large(batches, largest_request)
    fault = (
        f"Topic {refused} takes records of {batches[refused]} bytes on {source.name}; brokers of {target.name} refuse "
        f"requests over {largest_request} bytes: raise their socket.request.max.bytes."
        if refused
        else ""
    )
    standby = {topic: for_standby(held, factor, largest_request) for topic, held in active.items()}
    return Needs(active, standby, limits_of(batches, factor, largest_request), fault)


def _largest_request(cluster: Cluster) -> int:
    """That every broker of ``cluster`` takes."""
    client = client_for(cluster.access)
    found = client.broker_configs(broker for broker, _, _ in client.brokers())
    limits = [int(configs.get("socket.request.max.bytes", SOCKET_BYTES)) for configs in found.values()]
    return min(limits, default=SOCKET_BYTES)


def standby_changes(cluster: Cluster, wanted: TopicSettings) -> TopicSettings:
    """What has to change of Topics on ``cluster`` to make them what a standby needs."""
    return to_change_on_standby(client_for(cluster.access).topic_settings(wanted, KEPT), wanted)


def make_standby(cluster: Cluster, wanted: TopicSettings) -> None:
    """Set Topics of ``cluster`` to what a standby needs."""
    set_topics(cluster, standby_changes(cluster, wanted), "a standby")


def make_active(mirror: Mirror, cluster: Cluster) -> None:
    """Set the mirror's Topics on ``cluster`` to what is meant for clients."""
    held = client_for(cluster.access).topic_settings(mirror.topic_settings, KEPT)
    set_topics(cluster, to_change_on_active(held, mirror.topic_settings), "active")


def set_topics(cluster: Cluster, changes: TopicSettings, role: str) -> None:
    """Set some configs of Topics, and log it. :param role: what the Topics are, for the log."""
    client_for(cluster.access).set_topic_configs(changes)
    for topic, changed in changes.items():
        texts = ", ".join(f"{key}={value}" for key, value in changed.items())
        log.info("Topic %s on %s is %s: %s.", topic, cluster.name, role, texts)
