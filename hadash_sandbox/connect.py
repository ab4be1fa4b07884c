"""One Kafka Connect worker with MirrorMaker 2 on its classpath."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

from hadash_sandbox.java import LEAN_ENV, Java
from hadash_sandbox.kafka import MIRROR, KafkaCluster, plain_jaas, render
from hadash_sandbox.ports import HOST
from hadash_sandbox.processes import Process
from hadash_sandbox.service import PortService

_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"

_LOG4J = """\
log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p [%X{connector.context}] %c{1} - %m%n
log4j.logger.org.apache.kafka.connect.runtime.Worker=INFO
log4j.logger.org.apache.kafka.connect.mirror=INFO
log4j.logger.org.apache.kafka.connect.mirror.Scheduler=WARN
# These warn of each setting that is meant for another layer.
log4j.logger.org.apache.kafka.clients.producer.ProducerConfig=ERROR
log4j.logger.org.apache.kafka.clients.consumer.ConsumerConfig=ERROR
log4j.logger.org.apache.kafka.clients.admin.AdminClientConfig=ERROR
log4j.logger.org.apache.kafka.connect.runtime.WorkerConfig=ERROR
"""


class Connect(PortService):
    """A distributed worker, whose own Topics live on the cluster ``home``."""

    title = "Kafka Connect"
    stop_timeout = 15.0

    def __init__(
        self,
        data_dir: Path,
        port: int,
        *,
        java: Java,
        jars: Sequence[Path],
        home: KafkaCluster,
        config: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__("connect", data_dir, port)
        self.home = home
        self._config = dict(config or {})
        self._properties = self.dir / "connect.properties"
        self._log4j = self.dir / "log4j.properties"
        self.process = Process(
            self.name,
            java.command(
                _MAIN,
                jars,
                heap_mb=512,
                properties={"log4j.configuration": f"file:{self._log4j}"},
                arguments=[self._properties],
            ),
            log_path=self.log_path(),
            ready=self._answers,
            env=LEAN_ENV,
        )
        self.processes = [self.process]

    @property
    def url(self) -> str:
        """CONNECT_URL."""
        return f"http://{self.address}"

    def prepare(self) -> None:
        self._log4j.write_text(_LOG4J)
        self._properties.write_text(render(self._settings()))

    def _settings(self) -> dict[str, str]:
        settings = {
            "group.id": "hadash-connect",
            "listeners": self.url,
            "rest.advertised.host.name": HOST,
            "rest.advertised.port": str(self.port),
            # To find plugins without META-INF/services, Connect would scan every class, which takes seconds.
            "plugin.discovery": "service_load",
            "connector.client.config.override.policy": "All",
            "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            # After a kill, the next worker copies again all that was copied since the last flush.
            "offset.flush.interval.ms": "100",
            "task.shutdown.graceful.timeout.ms": "2000",
            "scheduled.rebalance.max.delay.ms": "0",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
            "offset.storage.partitions": "5",
            "status.storage.partitions": "2",
        }
        for kind in ("config", "offset", "status"):
            settings[f"{kind}.storage.topic"] = f"hadash-connect-{kind}"
            settings[f"{kind}.storage.replication.factor"] = str(min(len(self.home.ports), 3))
        # The worker itself and the clients of its connectors sign in the same way; a connector
        # overrides only bootstrap.servers, because the mirror user is the same in all clusters.
        for prefix in ("", "producer.", "consumer.", "admin."):
            settings.update({prefix + key: value for key, value in self._sign_in().items()})
        return {**settings, **self._config}

    def _sign_in(self) -> dict[str, str]:
        return {
            "bootstrap.servers": self.home.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": plain_jaas(MIRROR, self.home.users[MIRROR]),
        }

    def _answers(self) -> bool:
        """Whether the worker is ready: it serves the list of connectors once it has joined its group."""
        try:
            # trust_env=False: a proxy for the internet is not for the loopback interface.
            answer = httpx.get(f"{self.url}/connectors", timeout=5, trust_env=False)
        except httpx.HTTPError:
            return False
        return answer.status_code == httpx.codes.OK
