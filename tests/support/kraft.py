"""A cluster of another kind: the newest Kafka, in KRaft mode, behind TLS, with OAUTHBEARER and re-authentication."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from pathlib import Path
from types import TracebackType

from hadash_sandbox.downloads import CLIENT_VERSIONS, tool_jars
from hadash_sandbox.java import LEAN_ENV, find_java
from hadash_sandbox.kafka import plain_jaas, render
from hadash_sandbox.ports import is_listening
from hadash_sandbox.processes import Process
from support.certificates import Authority
from support.environment import Cluster

#: Milliseconds after which an OAUTHBEARER client has to sign in again.
REAUTHENTICATION_MS = 6000

_ADMIN, _PASSWORD = "admin", "kraft-admin-secret"


class KRaft:
    """The cluster, and brokers that join it later. Everything ends with it.

    :param behind: the port of one more listener, and the one that its clients are told to come to: a load
        balancer's. Its requests are logged, with who sent them.
    """

    def __init__(
        self,
        folder: Path,
        ports: tuple[int, int],
        authority: Authority,
        behind: tuple[int, int] | None = None,
    ) -> None:
        self._folder = folder
        self._ports = ports
        self._authority = authority
        self._behind = behind
        self._id = str(uuid.uuid4())
        self._java = find_java()
        self._jars = tool_jars(CLIENT_VERSIONS[-1], self._java, lambda line: None)
        self.brokers: dict[int, Process] = {}
        self.cluster = Cluster(
            "west", 2, f"127.0.0.1:{ports[0]}", _ADMIN, _PASSWORD, authority=str(authority.certificate)
        )

    def __enter__(self) -> KRaft:
        settings = _settings(self._folder, self._ports, self._authority)
        if self._behind is not None:
            settings = _with_listener(settings, "BALANCED", *self._behind)
        self._start(0, self._ports[0], settings, "--standalone")
        return self

    @property
    def request_log(self) -> str:
        """What the first broker has logged of requests."""
        return (self._folder / "kraft-0.log").read_text(errors="replace")

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broker in reversed(self.brokers.values()):
            broker.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def add_broker(self, number: int, port: int) -> Process:
        """One more broker, without the controller's part."""
        settings = _settings(self._folder, self._ports, self._authority)
        client = f"CLIENT://127.0.0.1:{port}"
        settings |= {
            "process.roles": "broker",
            "node.id": str(number),
            "listeners": client,
            "advertised.listeners": client,
            "log.dirs": str(self._folder / f"data-{number}"),
        }
        return self._start(number, port, settings, "--no-initial-controllers")

    def _start(self, number: int, port: int, settings: dict[str, str], role: str) -> Process:
        config = self._folder / f"server-{number}.properties"
        config.write_text(render(settings))
        storage = self._java.command(
            "kafka.tools.StorageTool",
            self._jars,
            heap_mb=128,
            arguments=["format", role, "-t", self._id, "-c", str(config)],
        )
        done = subprocess.run(
            [str(part) for part in storage], check=False, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        broker = Process(
            f"kraft-{number}",
            self._java.command(
                "kafka.Kafka", self._jars, heap_mb=384, arguments=[config], properties=self._logging()
            ),
            log_path=self._folder / f"kraft-{number}.log",
            ready=lambda: is_listening(port),
            env=LEAN_ENV,
        )
        self.brokers[number] = broker
        broker.start()
        broker.wait_ready(60)
        return broker

    def _logging(self) -> dict[str, str]:
        if self._behind is None:
            return {}
        path = self._folder / "log4j.properties"
        path.write_text(_LOG_REQUESTS)
        return {"log4j.configuration": f"file:{path}"}


_LOG_REQUESTS = """\
log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%c - %m%n
log4j.logger.kafka.request.logger=DEBUG
"""


def _with_listener(settings: dict[str, str], name: str, port: int, advertised: int) -> dict[str, str]:
    """One more listener, in all else as the one for clients."""
    own, as_client = f"listener.name.{name.lower()}.", "listener.name.client."
    return {
        **settings,
        "listeners": f"{settings['listeners']},{name}://127.0.0.1:{port}",
        "advertised.listeners": f"{settings['advertised.listeners']},{name}://127.0.0.1:{advertised}",
        "listener.security.protocol.map": f"{settings['listener.security.protocol.map']},{name}:SASL_SSL",
        **{own + k.removeprefix(as_client): v for k, v in settings.items() if k.startswith(as_client)},
    }


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
