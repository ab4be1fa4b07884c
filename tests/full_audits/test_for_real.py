"""Spark reads two real clusters and finds what is different, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from support.kafka import App, Clusters

from hadash.accounts.roles import ensure_user
from hadash.auditing.findings import Kind
from hadash.auditors.models import AuditDifference
from hadash.full_audits import requests, running
from hadash.full_audits.machine import Status
from hadash.full_audits.models import FullAudit
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash.pipeline.applications import APPLICATIONS
from hadash_sandbox.downloads import spark_kafka_jars
from hadash_sandbox.java import find_java

pytestmark = [
    pytest.mark.stack,
    pytest.mark.spark,
    pytest.mark.django_db(transaction=True),
    pytest.mark.in_turn,
]

#: A record: key, value, headers, milliseconds since 1970.
Record = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]


@pytest.fixture(autouse=True)
def small_spark(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_MASTER", "local[2]")
    monkeypatch.setenv("HADASH_SPARK_MEMORY", "512m")
    jars = ",".join(str(jar) for jar in spark_kafka_jars(find_java()))
    monkeypatch.setenv("HADASH_SPARK_MORE", f"spark.jars={jars}")
    settings.LAKE = str(tmp_path / "lake")


@pytest.fixture(scope="module", autouse=True)
def one_spark() -> Iterator[None]:
    """All tests share it: starting takes longer than comparing."""
    yield
    APPLICATIONS.end_idle()


def log(count: int) -> list[Record]:
    """So many records, some without a key, some deleted ones, some with headers that have no value."""
    begin = int(time.time() * 1000) - 10 * count
    return [
        (
            None if n % 5 == 0 else f"k{n % 7}".encode(),
            None if n % 11 == 0 else f"value {n}".encode(),
            [("trace", None), ("a", b"")] if n % 3 == 0 else [],
            begin + 10 * n,
        )
        for n in range(count)
    ]


def write(app: App, bootstrap: str, topic: str, records: list[Record], partition: int = 0) -> None:
    producer = Producer(app.config(bootstrap))
    for key, value, headers, at in records:
        producer.produce(topic, value, key, partition=partition, headers=headers, timestamp=at)
    producer.flush()


def write_in_transactions(app: App, bootstrap: str, topic: str, records: list[Record]) -> None:
    """Ten records each: after them stands one that no consumer sees. One transaction is aborted, which a mirror copies
    all the same.
    """
    producer = Producer(app.config(bootstrap, **{"transactional.id": f"{app.prefix}writer"}))
    producer.init_transactions(30)
    for begin in range(0, len(records), 10):
        producer.begin_transaction()
        for key, value, headers, at in records[begin : begin + 10]:
            producer.produce(topic, value, key, partition=0, headers=headers, timestamp=at)
        producer.flush()
        (producer.abort_transaction if begin == 10 else producer.commit_transaction)(30)


def audited(pair: Pair, topic: str, partitions: int) -> FullAudit:
    """The full audit of a Topic, carried out."""
    mirror = Mirror.objects.create(pair=pair, name=f"m{pair.pk}", source=pair.first, topics=[topic])
    for number in range(partitions):
        MirrorOffsetSync.objects.create(
            mirror=mirror, topic=topic, partition=number, source_offset=0, target_offset=0
        )
    audit = requests.request(ensure_user("olga", "a-long-password", "operator"), mirror, topic)
    running.carry_out(audit.pk)
    return FullAudit.objects.get(pk=audit.pk)


def test_every_difference_is_found_and_no_other(stack_pair: Pair, app: App, kafka: Clusters) -> None:
    topic = app.topic(partitions=3)
    records = log(300)
    east, west = (kafka.described[name].bootstrap_servers for name in ("east", "west"))
    other = list(records)
    other[250] = (b"k", b"altered", *other[250][2:])
    other[200] = (*other[200][:2], [("trace", b"lost")], other[200][3])
    other[150] = (*other[150][:3], other[150][3] + 1)
    # A header without a value, and one with an empty one, are not the same.
    other[99] = (*other[99][:2], [("trace", b""), ("a", None)], other[99][3])
    other[60], other[61] = other[61], other[60]
    del other[30]
    write(app, east, topic, records)
    write(app, west, topic, other)
    # The second partition is equal, and the target is ten records late; the third is empty.
    write(app, east, topic, records, partition=1)
    write(app, west, topic, records[:290], partition=1)
    found = audited(stack_pair, topic, 3)
    assert found.current is Status.DONE, found.fault
    kinds = found.partitions[0]["kinds"]
    assert kinds == {
        Kind.MISSING.value: 1, Kind.REORDERED.value: 1, Kind.HEADERS.value: 2, Kind.TIME.value: 1,
        Kind.DIFFERENT.value: 1,
    }  # fmt: skip
    assert (found.different, found.late) == (6, 10)
    assert [each["equal"] for each in found.partitions] == [294, 290, 0]
    assert found.offsets == 600
    places = set(AuditDifference.objects.values_list("kind", "source_offset", "audited__partition"))
    assert places >= {
        ("missing", 30, 0), ("headers", 99, 0), ("time", 150, 0), ("headers", 200, 0), ("different", 250, 0),
    }  # fmt: skip
    assert len(places) == 6


def test_transactions_leave_gaps_on_one_side(stack_pair: Pair, app: App, kafka: Clusters) -> None:
    topic = app.topic()
    records = log(100)
    east, west = (kafka.described[name].bootstrap_servers for name in ("east", "west"))
    write_in_transactions(app, east, topic, records)
    write(app, west, topic, records)
    found = audited(stack_pair, topic, 1)
    assert found.current is Status.DONE, found.fault
    assert (found.equal, found.different, found.late) == (100, 0, 0)
    assert found.partitions[0]["kinds"] == {Kind.OFFSETS.value: 9}
    assert not AuditDifference.objects.exists()


def test_a_topic_that_is_compacted_is_not_compared(stack_pair: Pair, app: App, kafka: Clusters) -> None:
    topic = app.topic()
    kafka.set_topic_configs("west", topic, **{"cleanup.policy": "compact"})
    found = audited(stack_pair, topic, 1)
    assert found.current is Status.FAILED and "compacted" in str(found.fault)
