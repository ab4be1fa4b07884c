"""Java's client at a Gateway, with its defaults: it reacts to some answers in ways that librdkafka does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.gateway import ControlPlane, GatewayProcess, Move
from support.java import JavaWriter, java_config, java_machine
from support.kafka import App, Clusters
from support.waiting import eventually

from hadash.bindings.model import BindingState
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    with java_machine() as machine:
        yield machine


def numbers(kafka: Clusters, cluster: str, topic: str) -> list[int]:
    return sorted(int(value) for value in kafka.values(cluster, topic))


def test_an_idempotent_producer_moves_there_and_back(
    gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters, jvm: Any
) -> None:
    """Its id is one of the old cluster: told so, it begins a new epoch on the other side, and loses nothing."""
    topic = app.topic(2)
    with JavaWriter(jvm, app.config(gateway.bootstrap), topic) as writer:
        writer.write(20)
        writer.wait()
        for source in ("east", "west"):
            move = Move(control, Identity(app.appid), source)
            move.block()
            before = kafka.end_offsets(source, topic)
            writer.write(20)
            eventually(lambda: any(c["parked"] for c in gateway.clients(app.appid)), "parked writes")
            move.forward(topic)
            writer.wait()
            assert kafka.end_offsets(source, topic) == before
        east, west = numbers(kafka, "east", topic), numbers(kafka, "west", topic)
    assert sorted(east + west) == list(range(60))
    assert west == list(range(20, 40))


def test_a_group_quiesces_and_moves(
    gateway: GatewayProcess, control: ControlPlane, app: App, kafka: Clusters, jvm: Any
) -> None:
    """With the default assignors (range first) it rebalances eagerly: what it read is committed before it waits."""
    topic, group = app.topic(), app.group()
    deserializer = "org.apache.kafka.common.serialization.StringDeserializer"
    properties = java_config(
        jvm,
        app.config(gateway.bootstrap),
        group_id=group,
        auto_offset_reset="earliest",
        heartbeat_interval_ms="300",
        key_deserializer=deserializer,
        value_deserializer=deserializer,
    )
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
    read: list[int] = []

    def poll() -> None:
        records = consumer.poll(jvm.java.time.Duration.ofMillis(50)).iterator()
        while records.hasNext():
            read.append(int(records.next().value()))

    def reads(count: int) -> bool:
        poll()
        return len(read) >= count

    def quiesced() -> bool:
        poll()
        return [m["state"] for m in gateway.members(app.appid)] == ["parked"]

    try:
        topics = jvm.java.util.ArrayList()
        topics.add(topic)
        consumer.subscribe(topics)
        with JavaWriter(jvm, app.config(gateway.bootstrap), topic, partitions=1) as writer:
            writer.write(10)
            writer.wait()
            eventually(lambda: reads(10), "the records of east", patience=40)
            move = Move(control, Identity(app.appid), "east")
            move.to(BindingState.QUIESCE)
            eventually(quiesced, "the member that waits")
            move.block()
            writer.write(10)
            move.forward(topic, groups=(group,))
            writer.wait()
            eventually(lambda: reads(20), "the records of west", patience=40)
    finally:
        consumer.close()
    assert read == list(range(20))
