"""Requests about a cluster itself, each as a function of kafka-python's admin client."""

from __future__ import annotations

from kafka import errors
from kafka.protocol.metadata import MetadataRequest

from hadash.kafka.group_admin import Admin
from hadash.kafka.values import BrokerInfo, Engine


def nodes(admin: Admin) -> tuple[list[BrokerInfo], int | None]:
    """Return the live brokers, by id, and the id of the controller.

    :raises errors.MetadataEmptyBrokerList: the broker that was asked knows none yet: it has just been started.
    """
    answer = admin.ask(
        MetadataRequest(
            topics=[],
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
    )
    if not answer.brokers:
        raise errors.MetadataEmptyBrokerList()
    brokers = [BrokerInfo(b.node_id, b.host, b.port, b.rack or "") for b in answer.brokers]
    return sorted(
        brokers, key=lambda broker: broker.id
    ), answer.controller_id if answer.controller_id >= 0 else None


def engine(admin: Admin) -> Engine:
    version = admin.version()
    try:
        quorum = admin.describe_metadata_quorum()
    except (errors.UnsupportedVersionError, errors.IncompatibleBrokerVersion):
        return Engine(version)  # with ZooKeeper
    (partition,) = (p for topic in quorum["topics"] for p in topic["partitions"])
    return Engine(version, partition["leader_id"], partition["leader_epoch"])
