"""Java's own Kafka client, driven from here: the JVM of py4j (which PySpark brings) with the stack's jars."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from hadash_sandbox.downloads import kafka_jars
from hadash_sandbox.java import find_java, pyspark_jars
from support.waiting import eventually

_MODULES = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
}


@contextmanager
def java_machine() -> Iterator[Any]:
    """A JVM that knows Kafka's clients; it ends with this process at the latest."""
    java = find_java()
    jars = kafka_jars(java, lambda line: None)
    (py4j,) = pyspark_jars().glob("py4j-*.jar")
    port = launch_gateway(
        jarpath=str(py4j),
        classpath=":".join(str(jar) for jar in jars),
        java_path=str(java.path),
        javaopts=["-Xmx256m", "-Dlog4j.configuration=file:/dev/null"],
        die_on_exit=True,
        redirect_stdout=subprocess.DEVNULL,
        redirect_stderr=subprocess.DEVNULL,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()


def java_config(jvm: Any, config: dict[str, Any], **more: str) -> Any:
    """``java.util.Properties`` for what librdkafka would be told (see ``App.config``), with text as keys and values."""
    user, password = config["sasl.username"], config["sasl.password"]
    module = _MODULES[config["sasl.mechanism"]]
    properties = jvm.java.util.Properties()
    for name, value in {
        "bootstrap.servers": config["bootstrap.servers"],
        "security.protocol": config["security.protocol"],
        "sasl.mechanism": config["sasl.mechanism"],
        "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required "
        f'username="{user}" password="{password}";',
        "client.id": config.get("client.id", ""),
        **{name.replace("_", "."): value for name, value in more.items()},
    }.items():
        properties.setProperty(name, value)
    return properties


class JavaWriter:
    """A Java producer that writes 0, 1, 2, … to a Topic's partitions in turn; with the library's defaults it is
    idempotent. It writes when it is asked to, and does not wait for acknowledgements."""

    def __init__(self, jvm: Any, config: dict[str, Any], topic: str, partitions: int = 2) -> None:
        self.topic = topic
        self._jvm = jvm
        self._partitions = partitions
        self._sent: list[Any] = []
        serializer = "org.apache.kafka.common.serialization.StringSerializer"
        properties = java_config(jvm, config, key_serializer=serializer, value_serializer=serializer)
        self._producer = jvm.org.apache.kafka.clients.producer.KafkaProducer(properties)

    def __enter__(self) -> JavaWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.close(self._jvm.java.time.Duration.ofSeconds(5))

    def write(self, count: int) -> None:
        """Send ``count`` more records."""
        for _ in range(count):
            number = len(self._sent)
            record = self._jvm.org.apache.kafka.clients.producer.ProducerRecord(
                self.topic, number % self._partitions, str(number), str(number)
            )
            self._sent.append(self._producer.send(record))

    def acknowledged(self) -> int:
        return sum(1 for future in self._sent if future.isDone())

    def wait(self) -> None:
        """Return when all that was sent is acknowledged; raises the error of one that is not."""
        eventually(lambda: self.acknowledged() == len(self._sent), "all acknowledgements", patience=40)
        for future in self._sent:
            future.get()
