"""A cluster of another kind: the newest Kafka, in KRaft mode, behind TLS, with OAUTHBEARER and re-authentication."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hadash.sandbox.downloads import CLIENT_VERSIONS, tool_jars
from hadash.sandbox.java import LEAN_ENV, find_java
from hadash.sandbox.kafka import plain_jaas, render
from hadash.sandbox.ports import is_listening
from hadash.sandbox.processes import Process
from support.certificates import Authority
from support.environment import Cluster

#: Milliseconds after which an OAUTHBEARER client has to sign in again.
REAUTHENTICATION_MS = 2000

_ADMIN, _PASSWORD = "admin", "kraft-admin-secret"


@contextmanager
def kraft_cluster(folder: Path, ports: tuple[int, int], authority: Authority) -> Iterator[Cluster]:
    """One broker, its own controller, in the place of west (number 2).

    :param ports: for clients and for the controller.
    """
    java = find_java()
    jars = tool_jars(CLIENT_VERSIONS[-1], java, lambda line: None)
    config = folder / "server.properties"
    config.write_text(render(_settings(folder, ports, authority)))
    storage = java.command(
        "kafka.tools.StorageTool",
        jars,
        heap_mb=128,
        arguments=["format", "--standalone", "-t", str(uuid.uuid4()), "-c", str(config)],
    )
    subprocess.run([str(part) for part in storage], check=True, capture_output=True, timeout=60)
    broker = Process(
        "kraft",
        java.command("kafka.Kafka", jars, heap_mb=384, arguments=[config]),
        log_path=folder / "kraft.log",
        ready=lambda: is_listening(ports[0]),
        env=LEAN_ENV,
    )
    broker.start()
    try:
        broker.wait_ready(60)
        yield Cluster(
            "west", 2, f"127.0.0.1:{ports[0]}", _ADMIN, _PASSWORD, authority=str(authority.certificate)
        )
    finally:
        broker.stop()
        shutil.rmtree(folder / "data", ignore_errors=True)


def _settings(folder: Path, ports: tuple[int, int], authority: Authority) -> dict[str, str]:
    client, controller = (f"127.0.0.1:{port}" for port in ports)
    prefix = "listener.name.client."
    oauth = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "0",
        "controller.quorum.bootstrap.servers": controller,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CLIENT://{client},CONTROLLER://{controller}",
        "advertised.listeners": f"CLIENT://{client},CONTROLLER://{controller}",
        "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        f"{prefix}plain.sasl.jaas.config": plain_jaas(_ADMIN, _PASSWORD, {f"user_{_ADMIN}": _PASSWORD}),
        f"{prefix}oauthbearer.sasl.jaas.config": f'{oauth} required unsecuredLoginStringClaim_sub="nobody";',
        f"{prefix}oauthbearer.connections.max.reauth.ms": str(REAUTHENTICATION_MS),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue("kraft").both()),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{_ADMIN};User:ANONYMOUS",
        "log.dirs": str(folder / "data"),
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "5",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "2",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "500",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    }
    for digits in ("256", "512"):
        settings[f"{prefix}scram-sha-{digits}.sasl.jaas.config"] = (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        )
    return settings
