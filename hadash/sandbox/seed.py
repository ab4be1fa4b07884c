"""``python -m hadash.sandbox.seed``: put a world (HADASH_SANDBOX_WORLD, the demo's) into the clusters and into hadash. Idempotent.

Runs beside the stack with its environment, so that the stack's own process needs no Django.
"""

from __future__ import annotations

import json
import os
import sys

import django


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    from hadash.accounts.roles import ensure_user
    from hadash.inventory.models import AppID, InstanceID
    from hadash.inventory.services import register_cluster, register_pair
    from hadash.kafka.values import Acl
    from hadash.mirroring.models import Mirror
    from hadash.mirroring.services import cluster_client, create_mirror
    from hadash.mirroring.standby import copy_acls
    from hadash.sandbox.world import acls, world_named
    from hadash.switching.retirement.models import Retirement

    world = world_named(os.environ.get("HADASH_SANDBOX_WORLD", "demo"))
    clusters = []
    for described in json.loads(os.environ["HADASH_SANDBOX_CLUSTERS"]):
        cluster = register_cluster(
            described["name"],
            described["id"],
            bootstrap_servers=described["bootstrap_servers"],
            security_protocol=described["security_protocol"],
            sasl_mechanism=described["sasl_mechanism"],
            admin_username=described["admin_user"],
            admin_password=described["admin_password"],
            mirror_username=described["mirror_user"],
            mirror_password=described["mirror_password"],
            zookeeper_hosts=described.get("zookeeper", ""),
        )
        if cluster.fault:
            print(cluster.fault, file=sys.stderr)
            return 1
        clusters.append(cluster)
    first, second = clusters
    pair = register_pair(os.environ.get("HADASH_GATEWAY_PAIR", "main"), first, second, first)

    # A migration has come to its end: its Topics have left the first cluster, and its mirror is no more.
    over = {
        name
        for ended in Retirement.objects.filter(switch__pair=pair)
        for name in ended.switch.the_plan().mirrors
    } - set(Mirror.objects.filter(pair=pair).values_list("name", flat=True))
    gone = {topic for name in over & world.mirrors.keys() for topic in world.mirrors[name]}

    client = cluster_client(first)
    client.create_topics(
        {
            name: (partitions, world.brokers, {})
            for name, partitions in world.topics.items()
            if name not in gone
        }
    )
    client.create_acls(
        Acl(kind, name, pattern, f"User:{appid}", "*", operation, "ALLOW")
        for kind, name, pattern, appid, operation in acls(world)
    )
    copy_acls(pair, first, second, world.prefixes)
    for name, owner in world.owners.items():
        appid, _ = AppID.objects.update_or_create(pair=pair, name=name, defaults={"owner": owner})
        for instance in world.instances[name]:
            InstanceID.objects.get_or_create(appid=appid, name=instance)
    known = set(Mirror.objects.filter(pair=pair).values_list("name", flat=True))
    for name, topics in world.mirrors.items():
        if name not in known | over:
            create_mirror(pair, name, topics, first)

    password = os.environ["HADASH_SANDBOX_PASSWORD"]
    for username, (role, full_name) in world.people.items():
        ensure_user(username, password, role, full_name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
