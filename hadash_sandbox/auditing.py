"""The auditors of a demo: a coordinator, and members of the pair's pool; and a difference that is planted for them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Message, Producer

from hadash_sandbox import ports
from hadash_sandbox.errors import SandboxError

#: Seconds that a cluster may take to accept the planted record.
PLANT_SECONDS = 20.0
#: Members and coordinator know each other by it.
TOKEN = "the token of the demo's pools"


class Auditing:
    """Settings and commands of the coordinator and the auditors.

    :param folder: the demo's data folder. :param kafka: librdkafka's settings of the cluster that says how many
        partitions a Topic has.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], kafka: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        token, consumer = folder / "pool-token", folder / "coordinator-consumer.json"
        token.write_text(TOKEN)
        consumer.write_text(json.dumps({k: v for k, v in kafka.items() if k != "bootstrap.servers"}))
        self._port = ports.allocate(["coordinator"], folder / "coordinator-ports.json")["coordinator"]
        self._environment = {
            **environment,
            "HADASH_MEMBER_TOKEN_FILE": str(token),
            "HADASH_MEMBER_HTTP_PORT": "0",
            "HADASH_COORDINATOR_TOKEN_FILE": str(token),
            "HADASH_COORDINATOR_CONSUMER_FILE": str(consumer),
        }

    def coordinator(self) -> tuple[list[str], dict[str, str]]:
        """Arguments of Python and the environment of the coordinator."""
        more = {"HADASH_COORDINATOR_NAME": "coordinator", "HADASH_COORDINATOR_HTTP_PORT": str(self._port)}
        return ["-m", "hadash.coordinator"], {**self._environment, **more}

    def auditor(self, number: int, pair: str) -> tuple[list[str], dict[str, str]]:
        """The same of an auditor."""
        more = {"HADASH_MEMBER_NAME": f"auditor-{number}", "HADASH_AUDITOR_PAIR": pair}
        return ["-m", "hadash.auditors"], {**self._environment, **more}


def plant(clusters: Mapping[str, Mapping[str, str]], topic: str, cluster: str, partition: int = 0) -> str:
    """Write a record into one side of a mirrored Topic, past the mirror and the Gateway; return where it is.

    :param clusters: librdkafka's settings of each cluster's administrator.
    :raises SandboxError: there is no such cluster, or it does not take the record.
    """
    if cluster not in clusters:
        raise SandboxError(f"There is no cluster {cluster!r}; there are: {', '.join(sorted(clusters))}.")
    told: list[Message] = []
    producer = Producer({**clusters[cluster], "message.timeout.ms": int(PLANT_SECONDS * 1000)})
    value = f"planted {random.randrange(10**9):09d}".encode()
    producer.produce(
        topic, value, b"planted", partition=partition, on_delivery=lambda _, sent: told.append(sent)
    )
    producer.flush(PLANT_SECONDS)
    if not told or told[0].error() is not None:
        raise SandboxError(
            f"Cluster {cluster} has not taken the record: {told[0].error() if told else 'no answer'}."
        )
    return f"{topic}-{partition} on {cluster}, offset {told[0].offset()}"


def administrator(described: Mapping[str, str]) -> dict[str, str]:
    """librdkafka's settings to connect as the administrator of a cluster of the sandbox.

    :param described: the cluster, as :meth:`hadash_sandbox.kafka.KafkaCluster.describe` says it.
    """
    return {
        "bootstrap.servers": described["bootstrap_servers"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": described["admin_user"],
        "sasl.password": described["admin_password"],
    }
