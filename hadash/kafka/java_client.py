"""How Kafka's Java client reaches a cluster, by its own names of settings. Pure."""

from __future__ import annotations

from hadash.kafka.jaas import login
from hadash.kafka.tls import java
from hadash.kafka.values import ClusterAccess


def properties(access: ClusterAccess) -> dict[str, str]:
    """Return the settings with which a Java client connects as ``access`` does. They contain its password."""
    found = {
        "bootstrap.servers": access.bootstrap_servers,
        "security.protocol": access.security_protocol,
    }
    if access.security_protocol.startswith("SASL"):
        found["sasl.mechanism"] = access.sasl_mechanism
        found["sasl.jaas.config"] = login(access.sasl_mechanism, access.username, access.password)
    if access.security_protocol.endswith("SSL"):
        found |= java(access.tls)
    return found
