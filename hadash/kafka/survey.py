"""Reads the whole state of a cluster at one moment, for snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from hadash.kafka.cluster import ClusterClient
from hadash.kafka.controller import zookeeper_controller
from hadash.kafka.errors import KafkaError, NotOffered
from hadash.kafka.values import Acl, BrokerInfo, Engine, GroupInfo, PartitionInfo

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Survey:
    """The state of a cluster. ``broker_configs`` are by broker id, ``topic_configs`` by name. ``lacking``:
    sentences about data that could not be read although the cluster answers.

    ``acls`` are ``None`` where there is no authorizer. The controller's ``epoch`` is ``None`` where it is not
    known.
    """

    cluster_id: str
    engine: Engine
    controller: int | None
    epoch: int | None
    brokers: list[BrokerInfo]
    broker_configs: dict[int, dict[str, str]]
    topic_configs: dict[str, dict[str, str]]
    partitions: list[PartitionInfo]
    acls: set[Acl] | None
    users: dict[str, set[str]]
    groups: dict[str, GroupInfo]
    lacking: tuple[str, ...] = ()


def survey(client: ClusterClient, zookeeper_hosts: str = "") -> Survey:
    """Read the state of a cluster.

    :param zookeeper_hosts: the cluster's ZooKeeper with the chroot; empty when it has none or hadash does not
        know it.
    :raises KafkaError: it does not answer, or refuses data that every snapshot needs.
    """
    lacking: list[str] = []

    def if_offered(ask: Callable[[], T], otherwise: U) -> T | U:
        try:
            return ask()
        except NotOffered as error:
            lacking.append(str(error))
            return otherwise

    engine = client.engine()
    brokers, controller = client.nodes()
    epoch = engine.epoch
    if engine.kraft:
        controller = engine.controller
    elif zookeeper_hosts:
        try:
            controller, epoch = zookeeper_controller(client.name, zookeeper_hosts)
        except KafkaError as error:  # only the controller's history is missing then
            lacking.append(str(error))
    partitions = client.partitions()
    return Survey(
        cluster_id=client.cluster_id(),
        engine=engine,
        controller=controller,
        epoch=epoch,
        brokers=brokers,
        broker_configs=client.broker_configs(broker.id for broker in brokers),
        topic_configs=client.topic_configs(_names(partitions)),
        partitions=partitions,
        acls=client.acls_if_any(),
        users=if_offered(client.scram_users, {}),
        groups=client.groups(client.group_names()),
        lacking=tuple(lacking),
    )


def _names(partitions: Iterable[PartitionInfo]) -> list[str]:
    return sorted({each.partition.topic for each in partitions})
