"""The MirrorMaker 2 connector of a mirror, as Connect's configuration. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One side of a mirror, with the mirror's own account."""

    name: str
    bootstrap_servers: str
    security_protocol: str
    sasl_mechanism: str
    username: str
    password: str


def connector_name(pair: str, mirror: str, source: str, target: str) -> str:
    """One connector for each direction; at most one of the two runs.

    >>> connector_name("main", "orders", "east", "west")
    'hadash.main.orders.east.west'
    """
    return f"hadash.{pair}.{mirror}.{source}.{target}"


def _jaas(endpoint: Endpoint) -> str:
    module = "plain.PlainLoginModule" if endpoint.sasl_mechanism == "PLAIN" else "scram.ScramLoginModule"
    user, password = (
        text.replace("\\", "\\\\").replace('"', '\\"') for text in (endpoint.username, endpoint.password)
    )
    return f'org.apache.kafka.common.security.{module} required username="{user}" password="{password}";'


def _client(prefix: str, endpoint: Endpoint) -> dict[str, str]:
    values = {
        f"{prefix}bootstrap.servers": endpoint.bootstrap_servers,
        f"{prefix}security.protocol": endpoint.security_protocol,
    }
    if endpoint.security_protocol.startswith("SASL"):
        values[f"{prefix}sasl.mechanism"] = endpoint.sasl_mechanism
        values[f"{prefix}sasl.jaas.config"] = _jaas(endpoint)
    return values


def connector_config(
    source: Endpoint, target: Endpoint, topics: Sequence[str], tasks: int = 1
) -> dict[str, str]:
    """Records with identical Topic names, keys, timestamps and headers, from ``source`` to ``target``.

    What hadash does itself is off: group offsets (exact, by :mod:`hadash.mirroring.offsets`), ACLs, heartbeats and
    the offset-sync Topic that only MirrorMaker's own translation needs.
    """
    return {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": str(tasks),
        "source.cluster.alias": source.name,
        "target.cluster.alias": target.name,
        **_client("source.cluster.", source),
        **_client("target.cluster.", target),
        # Connect's own producer writes the records: without this they would go to Connect's own cluster.
        **_client("producer.override.", target),
        "producer.override.acks": "all",
        "producer.override.linger.ms": "0",
        # Connect switches it off for its sources: a retry would then write a record twice.
        "producer.override.enable.idempotence": "true",
        "topics": ",".join(_literal(topic) for topic in topics),
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "refresh.topics.interval.seconds": "60",
        "sync.topic.configs.enabled": "true",
        "sync.topic.acls.enabled": "false",
        "emit.offset-syncs.enabled": "false",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    }


def _literal(topic: str) -> str:
    """``topics`` is a list of regular expressions, and a Topic name may hold dots."""
    return topic.replace(".", "\\.")
