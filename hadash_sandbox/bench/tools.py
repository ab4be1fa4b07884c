"""Kafka's own performance tools, as an operator would run them, and the load of the machine during a measurement."""

from __future__ import annotations

import os
import re
import subprocess
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from hadash_sandbox.downloads import tool_jars
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import find_java
from hadash_sandbox.kafka import plain_jaas, render

_PRODUCED = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\).* (\d+) ms 99th")

#: Seconds after which a tool counts as hanging.
TOOL_SECONDS = 180

#: Two consecutive windows of so many seconds are compared; the machine is calm if the second is less busy than the
#: first by less than so many per cent of the processors.
CALM_WINDOW_SECONDS = 10.0
CALM_PERCENT = 5.0
CALM_PATIENCE_SECONDS = 120.0


def load_average() -> float:
    """The average number of processes that ran or waited to run, in the last minute."""
    return round(os.getloadavg()[0], 1)


def await_calm(ask: Callable[[float], float] = psutil.cpu_percent) -> None:
    """Wait until the load of the machine no longer falls, or for :data:`CALM_PATIENCE_SECONDS`.

    Java servers that have just started compile their hot code. Servers of a real fleet did so long ago.

    :param ask: waits for so many seconds, and returns the per cent of the processors that were busy meanwhile.
    """
    before = ask(CALM_WINDOW_SECONDS)
    for _ in range(round(CALM_PATIENCE_SECONDS / CALM_WINDOW_SECONDS) - 1):
        now = ask(CALM_WINDOW_SECONDS)
        if before - now < CALM_PERCENT:
            return
        before = now


@dataclass(frozen=True, slots=True)
class Login:
    """The user as whom the tools sign in."""

    user: str
    password: str

    def properties(self) -> dict[str, str]:
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": plain_jaas(self.user, self.password),
        }


class PerfTools:
    """The performance tools of one version of Kafka.

    :param folder: for the files of their settings.
    """

    def __init__(self, version: str, folder: Path, login: Login) -> None:
        self._java = find_java()
        self._jars = tool_jars(version, self._java)
        self._folder = folder
        self._login = login

    def produce(
        self, bootstrap: str, topic: str, records: int, size: int, settings: Mapping[str, str]
    ) -> float:
        """Produce records; return MB (2**20 bytes) a second.

        :param size: bytes of a record.
        :raises SandboxError: the tool failed.
        """
        properties = {"bootstrap.servers": bootstrap, **self._login.properties(), **settings}
        output = self._run(
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", topic, "--num-records", str(records), "--record-size", str(size)),
            *("--throughput", "-1", "--producer.config", self._file("producer", properties)),
        )
        for line in reversed(output.splitlines()):
            found = _PRODUCED.match(line)
            if found:
                return float(found[3])
        raise SandboxError(f"the producer's tool said nothing that can be read:\n{output[-2000:]}")

    def consume(self, bootstrap: str, topic: str, records: int) -> float:
        """Consume records; return MB (2**20 bytes) a second, without the time in which the group is formed.

        :raises SandboxError: the tool failed, or did not read all records.
        """
        output = self._run(
            "org.apache.kafka.tools.ConsumerPerformance",
            *("--bootstrap-server", bootstrap, "--topic", topic, "--messages", str(records)),
            *("--group", f"bench-{uuid.uuid4().hex[:8]}", "--hide-header", "--timeout", "60000"),
            *("--consumer.config", self._file("consumer", self._login.properties())),
        )
        # start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
        fields = output.strip().splitlines()[-1].split(", ")
        if len(fields) != 10 or int(fields[4]) < records:
            raise SandboxError(f"the consumer's tool did not read everything:\n{output[-2000:]}")
        return float(fields[8])

    def _file(self, name: str, properties: Mapping[str, str]) -> str:
        path = self._folder / f"{name}.properties"
        path.write_text(render(properties))
        return str(path)

    def _run(self, main_class: str, *arguments: str) -> str:
        command = self._java.command(
            main_class,
            self._jars,
            heap_mb=512,
            properties={"log4j.configuration": "file:/dev/null"},
            arguments=arguments,
        )
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=TOOL_SECONDS, check=False
        )
        if done.returncode != 0:
            raise SandboxError(f"{main_class} failed:\n{(done.stdout + done.stderr)[-2000:]}")
        return done.stdout
