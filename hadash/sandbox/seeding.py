"""Putting a world into the clusters and into hadash: Topics, ACLs, AppIDs, mirrors, people. All of it may be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hadash.accounts.roles import ensure_user
from hadash.inventory.models import AppID, InstanceID, Pair
from hadash.inventory.services import register_cluster, register_pair
from hadash.kafka.values import Acl
from hadash.mirroring.models import Mirror
from hadash.mirroring.services import await_topics, cluster_client, create_mirror
from hadash.mirroring.standby import copy_acls
from hadash.sandbox.world import World, acls
from hadash.switching.retirement.models import Retirement


class NotRegistered(Exception):
    """A cluster does not answer as hadash needs it. The message is for people."""


def register(name: str, described: Sequence[dict[str, Any]]) -> Pair:
    """Register two clusters, as the stack describes them, as the pair ``name``; the first is its default.

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
    """The world's Topics and mirrors, except what migrations have brought to its end, its ACLs and AppIDs."""
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
    copy_acls(pair, first, second, world.prefixes)
    for name, owner in world.owners.items():
        appid, _ = AppID.objects.update_or_create(pair=pair, name=name, defaults={"owner": owner})
        for instance in world.instances[name]:
            InstanceID.objects.get_or_create(appid=appid, name=instance)
    for name, topics in world.mirrors.items():
        if name not in known | ended:
            create_mirror(pair, name, topics, first)


def let_in(world: World, password: str) -> None:
    """Accounts for the world's people, all with one password."""
    for username, (role, full_name) in world.people.items():
        ensure_user(username, password, role, full_name)


def _ended(pair: Pair) -> set[str]:
    """Mirrors of migrations: once such a mirror is no more, its Topics have left the cluster that they came from."""
    of_pair = Retirement.objects.filter(switch__pair=pair).select_related("switch")
    return {name for held in of_pair for name in held.switch.the_plan().mirrors}
