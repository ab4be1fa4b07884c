"""What the members of a pool are told to read: the settings of their Kafka consumers, and the partitions of a Topic."""

from __future__ import annotations

from collections.abc import Mapping

from hadash.inventory.models import Cluster
from hadash.kafka.errors import KafkaError
from hadash.mirroring.services import cluster_client
from hadash.pools.actions import Action, Change
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.refusals import EnginesAway

#: Parts of the names of settings that are secret.
SECRET = ("password", "secret", "sasl.jaas", "ssl.key.pem", "token")


def consumer_of(cluster: Cluster, group: str, more: Mapping[str, str]) -> dict[str, str]:
    """The settings of consumers that read a cluster in a group.

    :param more: further ones, by Kafka's names; those of the connection are the cluster's.
    :raises Refused: one is secret: everybody who reads ZooKeeper would read it.
    """
    for name in sorted(more):
        if any(part in name.lower() for part in SECRET):
            raise Refused(
                say(
                    "%(name)s is a secret, which ZooKeeper must not hold: give it to the members, in "
                    "HADASH_MEMBER_CONSUMER_FILE.",
                    name=name,
                )
            )
    found = {
        **more,
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": cluster.security_protocol,
        "group.id": group,
    }
    if cluster.security_protocol.startswith("SASL"):
        found["sasl.mechanism"] = cluster.sasl_mechanism
    return found


def adding(pool: str, topic: str, cluster: Cluster, group: str, more: Mapping[str, str]) -> Change:
    """The change that lets a pool read a Topic; its cluster is asked how many partitions it has.

    :raises EnginesAway: it does not answer. :raises Refused: it has no such Topic, or a setting is secret.
    """
    consumer = consumer_of(cluster, group, more)
    if cluster.generated:
        raise Refused(
            say("Cluster %(cluster)s is generated: there are no servers behind it.", cluster=cluster.name)
        )
    try:
        found = cluster_client(cluster).topics([topic])
    except KafkaError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    if topic not in found:
        raise Refused(say("There is no Topic %(topic)s on %(cluster)s.", topic=topic, cluster=cluster.name))
    return Change(
        pool, Action.ADD_TOPIC, topic=topic, consumer=consumer, partitions=len(found[topic].leaders)
    )
