"""Producers and consumers of other libraries, each with its stock configuration, that write the same journal."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hadash_sandbox.downloads import tool_jars
from hadash_sandbox.java import find_java
from hadash_sandbox.kafka import plain_jaas, render
from hadash_sandbox.traffic import program, tool
from hadash_sandbox.traffic.journal import Writer
from hadash_sandbox.traffic.records import KEYS, damage, headers_of, place, plain_number_of
from hadash_sandbox.traffic.tool import END_SECONDS, LOOK_SECONDS

if TYPE_CHECKING:
    from aiokafka import AIOKafkaProducer

# -- Kafka's own tools -------------------------------------------------------------------------------------------


class JavaTool:
    """One of Kafka's command-line clients, in one version."""

    _MODULES = {"PLAIN": "plain.PlainLoginModule"}

    def __init__(self, options: argparse.Namespace, version: str) -> None:
        self.options = options
        self.version = version

    def run(self, journal: Writer, wanted: Callable[[], bool]) -> None:
        """Run until ``wanted`` returns true."""
        produces = self.options.role == "produce"
        hear = self._sent if produces else self._read
        arguments = self._producer() if produces else self._consumer()
        code = tool.run(self._command(*arguments), lambda line: hear(journal, line), journal, wanted)
        if code is not None:
            journal.unfinished(f"the tool ended by itself with exit code {code}")

    def _command(self, main_class: str, *arguments: str) -> list[str]:
        java = find_java()
        command = java.command(
            main_class,
            tool_jars(self.version, java),
            heap_mb=96,
            properties={"log4j.configuration": f"file:{self._log4j()}"},
            arguments=arguments,
        )
        return [str(part) for part in command]

    def _log4j(self) -> Path:
        path = self.options.journal.with_suffix(".log4j.properties")
        path.write_text(
            "log4j.rootLogger=ERROR, e\nlog4j.appender.e=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.e.target=System.err\nlog4j.appender.e.layout=org.apache.log4j.SimpleLayout\n"
        )
        return Path(path)

    def _config(self) -> str:
        options = self.options
        path = options.journal.with_suffix(".properties")
        values = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": options.mechanism,
            "sasl.jaas.config": plain_jaas(options.user, os.environ["CLIENT_PASSWORD"]),
            **({"client.id": options.client_id} if options.client_id else {}),
        }
        if options.role == "produce":
            # The tool sets retries to 0, unlike the library's own default since 2.1.
            values["retries"] = str(2**31 - 1)
        for setting in options.config:
            name, _, value = setting.partition("=")
            values[name] = value
        if options.mechanism.startswith("SCRAM"):
            values["sasl.jaas.config"] = values["sasl.jaas.config"].replace(
                "plain.PlainLoginModule", "scram.ScramLoginModule"
            )
        path.write_text(render(values))
        path.chmod(0o600)
        return str(path)

    def _producer(self) -> tuple[str, ...]:
        options = self.options
        return (
            "org.apache.kafka.tools.VerifiableProducer",
            *("--bootstrap-server", options.bootstrap, "--topic", options.topic[0]),
            *("--throughput", str(int(options.rate)), "--repeating-keys", str(KEYS)),
            *(self._config_option("--producer.config"), self._config()),
        )

    def _consumer(self) -> tuple[str, ...]:
        options = self.options
        moved = not self.version.startswith("2.")
        return (
            "org.apache.kafka.tools.consumer.ConsoleConsumer" if moved else "kafka.tools.ConsoleConsumer",
            *("--bootstrap-server", options.bootstrap, "--topic", options.topic[0]),
            *("--group", options.group, "--from-beginning"),
            *(self._config_option("--consumer.config"), self._config()),
        )

    def _config_option(self, earlier: str) -> str:
        """The tool's option for a configuration file.

        Since 4.2 all tools have the same option (KIP-1147). With the earlier one they print a deprecation warning
        among the records.
        """
        since = tuple(map(int, self.version.split(".")[:2])) >= (4, 2)
        return "--command-config" if since else earlier

    def _sent(self, journal: Writer, line: str) -> None:
        said = json.loads(line)
        if said.get("name") == "producer_send_success":
            journal.progress(*place(self.options.topic[0], int(said["value"])))
        elif said.get("name") == "producer_send_error":
            journal.failed(*place(self.options.topic[0], int(said["value"])), str(said.get("message")))

    def _read(self, journal: Writer, line: str) -> None:
        number = plain_number_of(line.encode())
        if number is None:
            journal.stranger(self.options.topic[0], -1, -1, line.encode())  # (the tool prints values only)
        else:
            journal.progress(*place(self.options.topic[0], number))


# -- kafka-python ------------------------------------------------------------------------------------------------


def _python_config(options: argparse.Namespace) -> dict[str, Any]:
    """The configuration of kafka-python and aiokafka, which have the same names of settings."""
    return {
        "bootstrap_servers": options.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": options.mechanism,
        "sasl_plain_username": options.user,
        "sasl_plain_password": os.environ["CLIENT_PASSWORD"],
        **({"client_id": options.client_id} if options.client_id else {}),
    }


def kafka_python(options: argparse.Namespace, journal: Writer, wanted: Callable[[], bool]) -> None:
    """Run a kafka-python client until ``wanted`` returns true."""
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.errors import KafkaTimeoutError

    (topic,) = options.topic
    if options.role == "consume":
        consumer = KafkaConsumer(
            topic, group_id=options.group, auto_offset_reset="earliest", **_python_config(options)
        )
        while not wanted():
            for records in consumer.poll(timeout_ms=int(1000 * LOOK_SECONDS)).values():
                for record in records:
                    _note(record, journal)
            journal.flush()
        consumer.close()
        return
    producer = KafkaProducer(acks="all", **_python_config(options))
    under_way: set[tuple[str, int]] = set()

    def delivered(key: str, index: int, error: BaseException | None = None) -> None:
        under_way.discard((key, index))
        if error is None:
            journal.progress(key, index)
        else:
            journal.failed(key, index, repr(error))

    with _flushing(journal):
        for number in _paced(options.rate, wanted):
            key, index = place(topic, number)
            under_way.add((key, index))
            sent = producer.send(topic, value=b"%d" % number, key=key.encode(), headers=headers_of(number))
            sent.add_callback(lambda _, key=key, index=index: delivered(key, index))
            sent.add_errback(lambda error, key=key, index=index: delivered(key, index, error))
        try:
            producer.flush(END_SECONDS)
        except KafkaTimeoutError:
            journal.note(f"flush() did not finish within {END_SECONDS} s")
        _note_unknown(journal, under_way)
        producer.close(END_SECONDS)


def _note_unknown(journal: Writer, under_way: Iterable[tuple[str, int]]) -> None:
    """Note the records for which a producer never received an answer, at its end."""
    for key, index in sorted(under_way):
        journal.unknown(key, index, f"no answer {END_SECONDS} s after the last record was sent")


def _note(record: Any, journal: Writer) -> None:
    """Note that one more record was read, by kafka-python or aiokafka."""
    number = plain_number_of(record.value)
    if number is None:
        journal.stranger(record.topic, record.partition, record.offset, record.value)
        return
    key, index = place(record.topic, number)
    journal.progress(key, index)
    if what := damage(number, record.headers):
        journal.damaged(key, index, what)


def _paced(rate: float, wanted: Callable[[], bool]) -> Iterator[int]:
    """Yield 0, 1, 2, … at a steady rate, until ``wanted`` returns true."""
    number, due = 0, time.monotonic()
    while not wanted():
        yield number
        number += 1
        due += 1 / rate
        time.sleep(max(due - time.monotonic(), 0))


@contextmanager
def _flushing(journal: Writer) -> Iterator[None]:
    """Flush the journal from time to time."""
    done = threading.Event()

    def flush() -> None:
        while not done.wait(LOOK_SECONDS):
            journal.flush()

    thread = threading.Thread(target=flush, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# -- aiokafka ----------------------------------------------------------------------------------------------------


def aiokafka(options: argparse.Namespace, journal: Writer, wanted: Callable[[], bool]) -> None:
    """Run an aiokafka client until ``wanted`` returns true."""
    asyncio.run((_aio_consume if options.role == "consume" else _aio_produce)(options, journal, wanted))


async def _aio_consume(options: argparse.Namespace, journal: Writer, wanted: Callable[[], bool]) -> None:
    from aiokafka import AIOKafkaConsumer

    (topic,) = options.topic
    consumer = AIOKafkaConsumer(
        topic, group_id=options.group, auto_offset_reset="earliest", **_python_config(options)
    )
    await consumer.start()
    try:
        while not wanted():
            found = await consumer.getmany(timeout_ms=int(1000 * LOOK_SECONDS))
            for records in found.values():
                for record in records:
                    _note(record, journal)
            journal.flush()
    finally:
        await consumer.stop()


async def _aio_produce(options: argparse.Namespace, journal: Writer, wanted: Callable[[], bool]) -> None:
    from aiokafka import AIOKafkaProducer

    (topic,) = options.topic
    producer = AIOKafkaProducer(enable_idempotence=True, **_python_config(options))
    await producer.start()
    under_way: dict[asyncio.Future[Any], tuple[str, int]] = {}
    number, due = 0, time.monotonic()
    try:
        while not wanted():
            key, index = place(topic, number)
            sent = await producer.send(
                topic, value=b"%d" % number, key=key.encode(), headers=headers_of(number)
            )
            under_way[sent] = key, index

            def answered(sent: asyncio.Future[Any], key: str = key, index: int = index) -> None:
                under_way.pop(sent, None)
                if sent.exception() is None:
                    journal.progress(key, index)
                else:
                    journal.failed(key, index, repr(sent.exception()))

            sent.add_done_callback(answered)
            number += 1
            due += 1 / options.rate
            if number % int(options.rate) == 0:
                journal.flush()
            await asyncio.sleep(max(due - time.monotonic(), 0))
    finally:
        await _stop(producer, journal, under_way)


async def _stop(
    producer: AIOKafkaProducer, journal: Writer, under_way: Mapping[asyncio.Future[Any], tuple[str, int]]
) -> None:
    """Stop a producer, after :data:`END_SECONDS` even if records are still in flight."""
    if under_way:
        await asyncio.wait(list(under_way), timeout=END_SECONDS)
    if under_way:
        _note_unknown(journal, under_way.values())
        return  # stop() would wait for them
    await producer.stop()


def run(library: str, options: argparse.Namespace, journal: Writer, wanted: Callable[[], bool]) -> None:
    """Run a client until ``wanted`` returns true.

    :param library: kafka-python, aiokafka, java-VERSION, fleet, or one of
        :mod:`hadash_sandbox.clients.installing`.
    """
    if library == "fleet":
        from hadash_sandbox.traffic import fleet

        fleet.produce(options, journal, wanted)
    elif library == "kafka-python":
        kafka_python(options, journal, wanted)
    elif library == "aiokafka":
        aiokafka(options, journal, wanted)
    elif not library.startswith("java-"):
        program.run(library, options, journal, wanted)
    else:
        JavaTool(options, library.removeprefix("java-")).run(journal, wanted)
