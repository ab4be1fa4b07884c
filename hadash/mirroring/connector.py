"""Builds Connect's configuration for the MirrorMaker 2 connector of a mirror. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hadash.kafka.java_client import properties
from hadash.kafka.tls import JAVA_NAMES
from hadash.kafka.values import ClusterAccess
from hadash.mirroring.limits import Limits, sizes
from hadash.mirroring.topic_settings import EXCLUDED

#: The prefixes of the settings of each client of a connector.
SOURCE, TARGET, PRODUCER = PREFIXES = ("source.cluster.", "target.cluster.", "producer.override.")

#: The settings of a client that hadash sets only for some security protocols.
BY_PROTOCOL = frozenset({"sasl.mechanism", "sasl.jaas.config"}) | JAVA_NAMES


def connector_name(pair: str, mirror: str, source: str, target: str) -> str:
    """Return the name of a connector. There is one for each direction; at most one of the two runs.

    >>> connector_name("main", "orders", "east", "west")
    'hadash.main.orders.east.west'
    """
    return f"hadash.{pair}.{mirror}.{source}.{target}"


def _client(prefix: str, endpoint: ClusterAccess) -> dict[str, str]:
    """The settings of one client of a connector. Certificates are in them as texts: files would have to be on the
    machine of each worker of Connect. Connect stores the key in its config Topic, like the password.
    """
    return {f"{prefix}{name}": value for name, value in properties(endpoint).items()}


BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def connector_config(
    source: ClusterAccess,
    target: ClusterAccess,
    topics: Sequence[str],
    tasks: int = 1,
    limits: Limits | None = None,
) -> dict[str, str]:
    """Return the configuration that copies records with identical Topic names, keys, timestamps and headers.

    Features that hadash replaces are off: group offsets (exact, by :mod:`hadash.mirroring.offsets`), ACLs,
    heartbeats, and the offset-sync Topic that only MirrorMaker's own translation needs.

    :param limits: the sizes of records; the default are Kafka's own defaults.
    """
    return {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": str(tasks),
        "source.cluster.alias": source.name,
        "target.cluster.alias": target.name,
        **_client(SOURCE, source),
        **_client(TARGET, target),
        # Connect's own producer writes the records; without this it would write to Connect's own cluster.
        **_client(PRODUCER, target),
        "producer.override.acks": "all",
        "producer.override.linger.ms": "0",
        # Connect disables it for source connectors: then a retry could write a record twice.
        "producer.override.enable.idempotence": "true",
        **sizes(limits or Limits()),
        "topics": ",".join(_literal(name) for name in topics),
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "refresh.topics.interval.seconds": "60",
        "sync.topic.configs.enabled": "true",
        "config.properties.exclude": ",".join(_literal(name) for name in EXCLUDED),
        "sync.topic.acls.enabled": "false",
        "emit.offset-syncs.enabled": "false",
        "key.converter": BYTES,
        "value.converter": BYTES,
        # Connect's default treats headers as texts and writes bytes in base64.
        "header.converter": BYTES,
    }


def _literal(name: str) -> str:
    """Escape a name for a list of regular expressions: names of Topics and settings contain dots."""
    return name.replace(".", "\\.")
