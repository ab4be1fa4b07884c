"""Puts a world into the clusters and into hadash: Topics, ACLs, AppIDs, mirrors, people. All of it is idempotent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from hadash.accounts.roles import ensure_user
from hadash.inventory.models import AppID, Cluster, InstanceID, Pair
from hadash.inventory.services import register_cluster, register_pair
from hadash.kafka.values import Acl
from hadash.mirroring.creating import await_topics, create_mirror
from hadash.mirroring.models import Mirror
from hadash.mirroring.services import cluster_client
from hadash.mirroring.standby import copy_acls
from hadash.switching.models.retirements import Retirement
from hadash_sandbox.world import World, acls

#: Records by which the offsets of shifted Topics are larger than on the other cluster, and seconds to get there.
SHIFT = 100
SHIFT_SECONDS = 60.0


class NotRegistered(Exception):
    """A cluster does not answer as hadash needs it. The message is shown to the user."""


def register(name: str, described: Sequence[dict[str, Any]]) -> Pair:
    """Register two clusters as the pair ``name``; the first is its default.

    :param described: the clusters, as :meth:`hadash_sandbox.kafka.KafkaCluster.describe` has them.
    :raises NotRegistered: one of them has a fault.
    """
    clusters = []
    for one in described:
        cluster = register_cluster(
            one["name"],
            one["id"],
            bootstrap_servers=one["bootstrap_servers"],
            security_protocol=one["security_protocol"],
            sasl_mechanism=one["sasl_mechanism"],
            admin_username=one["admin_user"],
            admin_password=one["admin_password"],
            mirror_username=one["mirror_user"],
            mirror_password=one["mirror_password"],
            zookeeper_hosts=one.get("zookeeper", ""),
        )
        if cluster.fault:
            raise NotRegistered(cluster.fault)
        clusters.append(cluster)
    first, second = clusters
    return register_pair(name, first, second, first)


def put(world: World, pair: Pair) -> None:
    """Create the world's Topics, mirrors, ACLs and AppIDs, where they are missing.

    Mirrors that a migration has retired, and their Topics, are left out.
    """
    first, second = pair.first, pair.second
    known = set(Mirror.objects.filter(pair=pair).values_list("name", flat=True))
    ended = _ended(pair) - known
    left = {topic for name, topics in world.mirrors.items() if name in ended for topic in topics}

    client = cluster_client(first)
    of_first: dict[str, tuple[int, int, dict[str, str]]] = {
        name: (partitions, world.brokers, {}) for name, partitions in world.topics.items() if name not in left
    }
    client.create_topics(of_first)
    await_topics(client, list(of_first))
    client.create_acls(
        Acl(kind, name, pattern, f"User:{appid}", "*", operation, "ALLOW")
        for kind, name, pattern, appid, operation in acls(world)
    )
    if not known:
        shift(first, world.shifted, world.topics)
    copy_acls(pair, first, second, world.prefixes)
    for name, owner in world.owners.items():
        appid, _ = AppID.objects.update_or_create(pair=pair, name=name, defaults={"owner": owner})
        for instance in world.instances[name]:
            InstanceID.objects.get_or_create(appid=appid, name=instance)
    for name, topics in world.mirrors.items():
        if name not in known | ended:
            create_mirror(pair, name, topics, first)


def shift(cluster: Cluster, topics: Iterable[str], partitions: Mapping[str, int]) -> None:
    """Write records to ``topics`` and delete them again, so that the offsets begin above 0.

    The offsets of every Topic that is older than its retention do.
    """
    config: dict[str, Any] = cluster.access.config()
    places = [TopicPartition(topic, index) for topic in topics for index in range(partitions[topic])]
    if not places:
        return
    producer = Producer(config)
    for place in places:
        for number in range(SHIFT):
            producer.produce(place.topic, b"%d" % number, partition=place.partition)
    producer.flush(SHIFT_SECONDS)
    below = [TopicPartition(place.topic, place.partition, SHIFT) for place in places]
    admin = AdminClient(config)  # in a variable: the client has to outlive its futures
    for deleted in admin.delete_records(below).values():
        deleted.result(SHIFT_SECONDS)


def let_in(world: World, password: str) -> None:
    """Create accounts for the world's people, all with one password."""
    for username, (role, full_name) in world.people.items():
        person = ensure_user(username, password, role, full_name)
        if not person.email:
            person.email = f"{username}@example.org"
            person.save(update_fields=["email"])


def _ended(pair: Pair) -> set[str]:
    """The names of mirrors of migrations: once such a mirror has ended, its Topics have left their old cluster."""
    of_pair = Retirement.objects.filter(switch__pair=pair).select_related("switch")
    return {name for held in of_pair for name in held.switch.the_plan().mirrors}
