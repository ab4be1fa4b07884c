"""Kafka 3.9 clusters in ZooKeeper mode with SASL and ACLs, as DiDi's engine and many fleets run them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from hadash_sandbox import kafka_admin
from hadash_sandbox.java import LEAN_ENV, Java
from hadash_sandbox.ports import HOST, is_listening
from hadash_sandbox.processes import Process
from hadash_sandbox.service import Service
from hadash_sandbox.zookeeper import LARGEST_PACKET

ADMIN = "admin"
MIRROR = "hadash-mirror"

_LOG4J = """\
log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} - %m%n
log4j.logger.kafka.server.KafkaServer=INFO
log4j.logger.kafka.coordinator.group.GroupCoordinator=INFO
# Says each request that an ACL denied.
log4j.logger.kafka.authorizer.logger=INFO
# One warning per default that could be set otherwise is no news.
log4j.logger.org.apache.kafka.clients.admin.AdminClientConfig=ERROR
"""


class KafkaCluster(Service):
    """One cluster of one or more brokers. Broker ids begin at 0 in every cluster on purpose, so that they collide."""

    def __init__(
        self,
        name: str,
        cluster_id: int,
        data_dir: Path,
        ports: Sequence[int],
        *,
        java: Java,
        jars: Sequence[Path],
        zookeeper: str,
        users: Mapping[str, str],
        scram_users: Mapping[str, str],
        config: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"kafka-{name}", data_dir)
        self.title = f"Kafka {name}"
        self.cluster = name
        self.id = cluster_id
        self.ports = list(ports)
        self.chroot = f"/kafka-{name}"
        self.users = dict(users)
        self.scram_users = dict(scram_users)
        self._zookeeper = zookeeper
        self._config = dict(config or {})
        self.brokers = [self._broker(number, java, jars) for number in range(len(self.ports))]
        self.processes = self.brokers

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.ports)

    @property
    def address(self) -> str:
        return self.bootstrap_servers

    def client_config(self, user: str = ADMIN, mechanism: str = "PLAIN") -> dict[str, str]:
        """librdkafka settings to connect as one of the cluster's users."""
        known = self.users if mechanism == "PLAIN" else self.scram_users
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": known[user],
        }

    def describe(self) -> dict[str, object]:
        """The cluster as a program needs it to register and control it: addresses, users, passwords."""
        return {
            "name": self.cluster,
            "id": self.id,
            "bootstrap_servers": self.bootstrap_servers,
            "zookeeper": self._zookeeper + self.chroot,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "admin_user": ADMIN,
            "admin_password": self.users[ADMIN],
            "mirror_user": MIRROR,
            "mirror_password": self.users[MIRROR],
        }

    def prepare(self) -> None:
        (self.dir / "log4j.properties").write_text(_LOG4J)
        for number in range(len(self.ports)):
            self._properties(number).write_text(render(self._settings(number)))
        self._prepare_zookeeper()

    def finish(self) -> None:
        admin = kafka_admin.connect(self.client_config())
        kafka_admin.wait_for_brokers(
            admin,
            len(self.ports),
            alive=lambda: all(broker.alive for broker in self.brokers),
            timeout=self.start_timeout,
        )
        kafka_admin.ensure_scram_users(admin, self.scram_users)

    def _broker(self, number: int, java: Java, jars: Sequence[Path]) -> Process:
        name = self.name if len(self.ports) == 1 else f"{self.name}-{number}"
        port = self.ports[number]
        return Process(
            name,
            java.command(
                "kafka.Kafka",
                jars,
                heap_mb=384,
                options=["-Xms384m"],
                properties={
                    "log4j.configuration": f"file:{self.dir / 'log4j.properties'}",
                    "jute.maxbuffer": str(LARGEST_PACKET),
                },
                arguments=[self._properties(number)],
            ),
            log_path=self.log_path(name),
            ready=lambda: is_listening(port),
            env=LEAN_ENV,
        )

    def _properties(self, number: int) -> Path:
        return self.dir / f"broker-{number}.properties"

    def _settings(self, number: int) -> dict[str, str]:
        listener = f"CLIENT://{HOST}:{self.ports[number]}"
        replicas = str(min(len(self.ports), 3))
        settings = {
            "broker.id": str(number),
            "log.dirs": str(self.dir / f"broker-{number}"),
            "zookeeper.connect": self._zookeeper + self.chroot,
            # Kafka's default. On a busy machine a shorter session may expire, and the controller with it.
            "zookeeper.session.timeout.ms": "18000",
            "zookeeper.connection.timeout.ms": "30000",
            "listeners": listener,
            "advertised.listeners": listener,
            "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT",
            "inter.broker.listener.name": "CLIENT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.client.plain.sasl.jaas.config": self._plain_jaas(),
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": f"User:{ADMIN};User:{MIRROR}",
            "allow.everyone.if.no.acl.found": "false",
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "10",
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.num.partitions": "5",
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": "1",
            # Few threads and a small cleaner buffer: two brokers share two cores.
            "num.network.threads": "2",
            "num.io.threads": "4",
            "background.threads": "2",
            "num.recovery.threads.per.data.dir": "2",
            "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        }
        for mechanism in ("256", "512"):
            settings[f"listener.name.client.scram-sha-{mechanism}.sasl.jaas.config"] = (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            )
        return {**settings, **self._config}

    def _plain_jaas(self) -> str:
        options = {f"user_{name}": word for name, word in self.users.items()}
        return plain_jaas(ADMIN, self.users[ADMIN], options)

    def _prepare_zookeeper(self) -> None:
        client = KazooClient(hosts=self._zookeeper, timeout=10)
        client.start(timeout=15)
        try:
            client.ensure_path(self.chroot)
            self._forget_earlier_life(client)
        finally:
            client.stop()
            client.close()

    def _forget_earlier_life(self, client: KazooClient) -> None:
        """Delete the ephemeral nodes of killed brokers: a broker refuses to start while its old node is there.

        A broker of this cluster that is down, with its port free, can only be dead.
        """
        dead = [number for number, broker in enumerate(self.brokers) if not broker.alive]
        for number in dead:
            _delete(client, f"{self.chroot}/brokers/ids/{number}")
        try:
            controller = json.loads(client.get(f"{self.chroot}/controller")[0])["brokerid"]
        except NoNodeError:
            return
        if controller in dead:
            _delete(client, f"{self.chroot}/controller")


def _delete(client: KazooClient, path: str) -> None:
    with contextlib.suppress(NoNodeError):
        client.delete(path)


def render(settings: Mapping[str, str]) -> str:
    """The text of a Java properties file."""
    return "".join("{}={}\n".format(key, value.replace("\\", "\\\\")) for key, value in settings.items())


def plain_jaas(user: str, password: str, options: Mapping[str, str] | None = None) -> str:
    """The sasl.jaas.config of a client, or of a broker that has its users in the options.

    >>> plain_jaas("shop", 'say "hi"')
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="shop" password="say \\\\"hi\\\\"";'
    """
    words = {"username": user, "password": password, **(options or {})}
    quoted = " ".join(
        '{}="{}"'.format(key, word.replace("\\", "\\\\").replace('"', '\\"')) for key, word in words.items()
    )
    return f"org.apache.kafka.common.security.plain.PlainLoginModule required {quoted};"
