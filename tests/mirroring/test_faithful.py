"""What a mirror copies, on real clusters with a real connector: the same records byte for byte, however large they
are, with the same times, and nothing that is missing without being said."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from confluent_kafka import Producer, TopicPartition
from django.core.management import CommandError, call_command
from kazoo.client import KazooClient
from support.kafka import SECONDS, App, Clusters
from support.waiting import eventually

from hadash.audit.models import Entry
from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash.inventory.models import AppID, Cluster, Pair
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.values import Partition
from hadash.mirroring import creating, probe, rebuild, topic_settings, turning, upkeep
from hadash.mirroring import services as mirroring
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.proof import compare_last_records
from hadash.mirroring.services import MirrorError
from hadash.mirroring.topic_settings import MAX_MESSAGE_BYTES, TIMESTAMP_TYPE
from hadash.radius.scope import Scope
from hadash.sentences import say
from hadash.switching.plan import Plan
from hadash.switching.planning import overlaps

pytestmark = [pytest.mark.stack, pytest.mark.django_db, pytest.mark.in_turn]

#: Seconds for Connect to start a connector and copy some records.
PATIENCE = 60

MIB = 1024 * 1024

#: Bytes that are no UTF-8 text.
BINARY = b"\x00\x01ab\xff"


class Mirrored:
    """A Topic with one partition on east, and its mirror on west."""

    def __init__(self, pair: Pair, app: App, kafka: Clusters, **configs: str) -> None:
        self.pair, self.app, self.kafka = pair, app, kafka
        self.topic = f"{app.prefix}mirrored"
        app.topics.append(self.topic)
        self.partition = Partition(self.topic, 0)
        east = pair.first
        self.client(east).create_topics({self.topic: (1, 1, configs)})
        creating.await_topics(self.client(east), [self.topic])
        self.mirror = creating.create_mirror(pair, app.appid, [self.topic], east)

    def client(self, cluster: Cluster) -> ClusterClient:
        return mirroring.cluster_client(cluster)

    @property
    def connector(self) -> str:
        return mirroring.connector_of(self.mirror, self.mirror.source)

    def write(self, cluster: str, *records: dict[str, Any], **settings: Any) -> None:
        """Each record as :meth:`Producer.produce` takes it. Admins write: the standby is closed to the application."""
        producer = Producer({**self.kafka.described[cluster].client_config(), "linger.ms": 5, **settings})
        errors: list[Any] = []
        for record in records:
            producer.produce(
                self.topic,
                partition=0,
                on_delivery=lambda error, _: errors.append(error) if error else None,
                **record,
            )
        assert producer.flush(SECONDS) == 0
        assert not errors

    def write_in_a_transaction(self, *values: bytes, commit: bool = True) -> None:
        config = {**self.kafka.described["east"].client_config(), "transactional.id": self.app.prefix + "tx"}
        producer = Producer(config)
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        for value in values:
            producer.produce(self.topic, value, partition=0)
        producer.flush(SECONDS)
        (producer.commit_transaction if commit else producer.abort_transaction)(SECONDS)

    def end(self, cluster: str) -> int:
        return self.kafka.end_offsets(cluster, self.topic)[0]

    def await_ends(self, east: int, west: int) -> None:
        """(A transaction's marker is written a moment after its commit was answered.)"""
        eventually(lambda: (self.end("east"), self.end("west")) == (east, west), f"ends {east} and {west}")

    def await_copies(self, count: int) -> None:
        """Until the standby ends at ``count``, or its connector fails."""

        def copied() -> bool:
            status = mirroring.status_of(self.mirror)
            assert status is None or not status.failed, status
            return self.end(self.mirror.target.name) >= count

        eventually(copied, f"{count} records on {self.mirror.target}", patience=PATIENCE)

    def look(self, thorough: bool = True) -> tuple[str, str, int | None]:
        """State, fault and lag as a switch's precheck finds them."""
        probe.look(self.mirror, thorough) if thorough else probe.look(self.mirror)
        return str(self.mirror.state), str(self.mirror.fault), self.mirror.lag_records

    def look_after(self) -> None:
        """As hadash does all the time: what differs is mended. Until its tasks have the mended settings."""
        before = self.mirror.drift
        probe.look_at_pair(self.pair)
        self.mirror.refresh_from_db()
        if self.mirror.drift == before:
            self.await_running()
        else:
            self.start_again()

    def start_again(self, config: dict[str, str] | None = None) -> None:
        """With ``config``, or the settings that Connect holds. (Of a connector that is only given others,
        Connect says RUNNING while the old tasks still copy.)
        """
        connect = mirroring.connect_client()
        connect.stop(self.connector)
        mirroring.await_stopped(self.connector)
        if config is not None:
            connect.create_stopped(self.connector, config)
        connect.resume(self.connector)
        self.await_running()

    def await_running(self) -> None:
        def runs() -> bool:
            status = mirroring.status_of(self.mirror)
            return status is not None and status.running

        eventually(runs, "the connector", patience=PATIENCE)

    def records(self, cluster: str) -> list[tuple[Any, ...]]:
        """Key, value, headers and time of each record."""
        found = self.kafka.records(cluster, self.topic)
        return [(m.key(), m.value(), m.headers(), m.timestamp()[1]) for m in found]

    def settings(self, cluster: str) -> dict[str, str]:
        return self.kafka.topic_configs(cluster, self.topic)

    def set(self, cluster: str, **configs: str) -> None:
        self.kafka.set_topic_configs(cluster, self.topic, **configs)

    def offset_at(self, cluster: str, time: int) -> int:
        """The first offset of which the record is not older than ``time`` (ListOffsets by timestamp)."""
        with self.kafka._reader(cluster) as consumer:
            (found,) = consumer.offsets_for_times([TopicPartition(self.topic, 0, time)], timeout=SECONDS)
        return int(found.offset)

    def delete_before(self, cluster: str, offset: int) -> None:
        future = self.kafka.admin(cluster).delete_records([TopicPartition(self.topic, 0, offset)])
        for done in future.values():
            done.result(SECONDS)


@pytest.fixture(autouse=True)
def at_each_look(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is read at each look: nobody waits for a minute here. Nor for old tasks:
    :meth:`Mirrored.look_after` has stopped them.
    """
    settings.MIRROR_SETTINGS_SECONDS = settings.MIRROR_COMPARE_SECONDS = 0
    monkeypatch.setattr(upkeep, "SETTLED_SECONDS", 0.0)


@pytest.fixture
def pair(stack_pair: Pair) -> Pair:
    return stack_pair


@pytest.fixture
def mirrored(pair: Pair, app: App, kafka: Clusters) -> Iterator[Callable[..., Mirrored]]:
    made: list[Mirrored] = []

    def make(**configs: str) -> Mirrored:
        made.append(Mirrored(pair, app, kafka, **configs))
        return made[-1]

    yield make
    for mirrored in made:
        for cluster in pair.clusters:
            mirroring.connect_client().delete(mirroring.connector_of(mirrored.mirror, cluster))


def test_every_record_is_the_same_on_both_sides(mirrored: Callable[..., Mirrored]) -> None:
    topic = mirrored()
    odd = [
        {"key": None, "value": b"no key", "timestamp": 1_000_000_000_001},
        {"key": b"no value", "value": None},
        {"key": b"", "value": b""},
        {"key": BINARY, "value": BINARY, "headers": [("trace-id", BINARY)]},
        {"value": b"header without value", "headers": [("none", None)]},
        {"value": b"empty header", "headers": [("empty", b"")]},
        {"value": b"text", "headers": [("text", b"abc"), ("number", b"12"), ("json", b'{"a": [1]}')]},
        {"value": b"twice", "headers": [("again", b"1"), ("again", b"2"), ("名", "值".encode())]},
    ]
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    for codec in codecs:
        topic.write("east", *odd, **{"compression.type": codec})
    topic.await_copies(len(odd) * len(codecs))
    assert topic.records("west") == topic.records("east")
    assert topic.look() == ("running", "", 0)


def test_a_mirror_of_an_earlier_hadash_is_mended_and_what_it_copied_wrongly_is_rebuilt(
    mirrored: Callable[..., Mirrored],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    """Its connector had no ``header.converter``: headers came in base64. And somebody had told it to skip what it could
    not convert."""
    settings.MIRROR_COMPARE_RECORDS = 2  # so the first records are met on the walk, not among the last ones
    topic, connect = mirrored(), mirroring.connect_client()
    earlier = connect.config(topic.connector) | {"operators.note": "ours", "errors.tolerance": "all"}
    del earlier["header.converter"]
    topic.start_again(earlier)
    topic.write("east", *({"value": b"%d" % n, "headers": [("trace-id", BINARY)]} for n in range(3)))
    topic.await_copies(3)
    copied, written = topic.records("west"), topic.records("east")
    assert [copy[2] == record[2] for copy, record in zip(copied, written, strict=True)] == [False] * 3

    # No switch begins, and the next look mends it.
    differing = ["errors.tolerance", "header.converter"]
    probe.look(topic.mirror)
    assert topic.mirror.drift["keys"] == differing
    assert topic.mirror.drift["mended"] is None
    probe.look_at_pair(topic.pair, moving={topic.mirror.name})
    assert "header.converter" not in connect.config(topic.connector), "a switch uses it"
    topic.look_after()
    assert topic.mirror.drift["keys"] == differing
    assert topic.mirror.drift["mended"]
    now = connect.config(topic.connector)
    assert now["header.converter"].endswith("ByteArrayConverter")
    assert "errors.tolerance" not in now
    assert now["operators.note"] == "ours"
    assert "header.converter" in caplog.text
    assert topic.kafka.described["east"].client_config()["sasl.password"] not in caplog.text

    # No switch while wrong records are there, also when a right one has come after them.
    topic.write("east", {"value": b"3", "headers": [("trace-id", BINARY)]})
    topic.await_copies(4)
    state, fault, _ = topic.look()
    said = f"Records of {topic.partition} on west differ from those on east: headers, between offsets 0 and 2 of east."
    assert (state, fault[: len(said)]) == ("failed", said)
    command = ("rebuild_mirror", "main", topic.mirror.name)
    assert f"hadash-manage {' '.join(command)} --confirm west" in fault
    with pytest.raises(CommandError, match="Confirm with that name"):
        call_command(*command, confirm="east")
    assert topic.end("west") == 4

    with monkeypatch.context() as cut_off:
        cut_off.setattr(rebuild, "start", Mock(side_effect=MirrorError("Cut off.")))
        with pytest.raises(CommandError, match=r"Cut off\. Run the command again"):
            call_command(*command, confirm="west")
    topic.mirror.refresh_from_db()
    assert topic.end("west") == 0
    assert topic.look()[0] == "turning", "until it is rebuilt nobody uses it"

    call_command(*command, confirm="west")
    topic.mirror.refresh_from_db()
    topic.await_copies(4)
    assert topic.records("west") == topic.records("east")
    assert topic.look() == ("running", "", 0)
    # A stopped one is mended, too, and stays stopped.
    connect.stop(topic.connector)
    mirroring.await_stopped(topic.connector)
    connect.change_config(topic.connector, {"tasks.max": "3"})
    probe.look_at_pair(topic.pair)
    assert connect.config(topic.connector)["tasks.max"] == "1"
    mirroring.await_stopped(topic.connector)
    asked = Entry.objects.filter(subject__contains=topic.mirror.name).values_list("verb", flat=True)
    assert {"rebuild standby", "standby rebuilt"} <= set(asked)


def test_records_as_large_as_their_topic_takes_are_copied(mirrored: Callable[..., Mirrored]) -> None:
    topic = mirrored()
    # Below the limit as it is stored, far above it before it is compressed.
    topic.write(
        "east", {"value": b"hadash" * MIB}, **{"compression.type": "gzip", "message.max.bytes": 30 * MIB}
    )
    topic.await_copies(1)
    # Its limit is raised later, and the mirror follows.
    topic.set("east", max_message_bytes=str(21 * MIB))
    state, fault, _ = topic.look()
    assert state == "unknown"
    assert fault.startswith("Topics on west are not yet as a standby needs them (max.message.bytes)")
    topic.look_after()
    assert {"producer.override.max.request.size", "producer.override.buffer.memory"} <= set(
        topic.mirror.drift["keys"]
    )
    assert int(topic.settings("west")[MAX_MESSAGE_BYTES]) > 21 * MIB
    topic.write("east", {"value": os.urandom(20 * MIB)}, **{"message.max.bytes": 30 * MIB})
    topic.await_copies(2)
    assert topic.look() == ("running", "", 0)
    # As the drain proves it.
    ends = {topic.partition: 2}
    tails = [topic.client(c).tail(ends, {topic.partition: 0}, 16) for c in topic.pair.clusters]
    assert [len(tail[topic.partition]) for tail in tails] == [2, 2]
    assert compare_last_records(*tails) is None


def test_times_that_the_broker_sets_are_kept_and_follow_the_active_side(
    mirrored: Callable[..., Mirrored],
) -> None:
    topic = mirrored(**{TIMESTAMP_TYPE: "LogAppendTime"})
    connect = mirroring.connect_client()
    assert topic.settings("west")[TIMESTAMP_TYPE] == "CreateTime"
    # MirrorMaker brings the Topic's other settings along (here each second), and leaves this one alone.
    connect.change_config(topic.connector, {"sync.topic.configs.interval.seconds": "1"})
    topic.set("east", retention_ms="7654321")
    eventually(
        lambda: topic.settings("west")["retention.ms"] == "7654321", "the setting on west", patience=PATIENCE
    )
    assert topic.settings("west")[TIMESTAMP_TYPE] == "CreateTime"

    for n in range(3):
        topic.write("east", {"value": b"%d" % n, "timestamp": 1_000_000_000_000})
    topic.await_copies(3)
    tails = [
        topic.client(c).tail({topic.partition: 3}, {topic.partition: 0}, 16) for c in topic.pair.clusters
    ]
    assert compare_last_records(*tails) is None
    assert topic.look() == ("running", "", 0)

    turning.reverse(topic.mirror, {topic.partition: OffsetSync(3, 3)})
    assert topic.settings("west")[TIMESTAMP_TYPE] == "LogAppendTime"
    assert (
        topic.settings("west")[MAX_MESSAGE_BYTES]
        == topic.mirror.topic_settings[topic.topic][MAX_MESSAGE_BYTES]
    )
    assert topic.settings("east")[TIMESTAMP_TYPE] == "CreateTime"
    topic.write("west", {"value": b"3", "timestamp": 1_000_000_000_000})
    topic.await_copies(4)
    times = [record[3] for record in topic.records("west")]
    assert times[3] >= times[2] > 1_500_000_000_000, "the broker's times"
    assert topic.records("east") == topic.records("west")
    for time in times:
        assert topic.offset_at("east", time) == topic.offset_at("west", time)
    assert topic.offset_at("east", times[3]) <= 3
    assert topic.look() == ("running", "", 0)

    # A standby as earlier versions left it. (Its broker hears of the setting a moment later.)
    topic.set("east", message_timestamp_type="LogAppendTime")
    written = 4

    def has_a_time_of_its_own() -> bool:
        nonlocal written
        topic.write("west", {"value": b"%d" % written})
        written += 1
        topic.await_copies(written)
        return topic.records("east")[-1] != topic.records("west")[-1]

    eventually(has_a_time_of_its_own, "a copy with a time of its own", patience=PATIENCE)
    topic.look_after()
    assert topic.settings("east")[TIMESTAMP_TYPE] == "CreateTime"
    state, fault, _ = topic.look()
    assert state == "failed"
    last = written - 1
    assert f"-0 on east differ from those on west: times, between offsets {last} and {last} of west." in fault


def test_records_older_than_their_topic_takes_by_now_are_copied(mirrored: Callable[..., Mirrored]) -> None:
    """Their limit is for clients: on the standby it would stop the mirror."""
    topic, hour = mirrored(), "3600000"
    limits = (topic_settings.TIME_LIMITS[0], topic_settings.TIME_LIMITS[1])
    topic.write("east", {"value": b"old", "timestamp": 1_000_000_000_000})
    topic.await_copies(1)
    topic.set("east", **{key.replace(".", "_"): hour for key in limits})
    probe.look_at_pair(topic.pair)
    call_command("rebuild_mirror", "main", topic.mirror.name, confirm="west")
    topic.mirror.refresh_from_db()
    topic.await_copies(1)
    assert topic.records("west") == topic.records("east")
    assert topic.look() == ("running", "", 0)

    turning.reverse(topic.mirror, {topic.partition: OffsetSync(1, 1)})
    assert [topic.settings("west")[key] for key in limits] == [hour] * 2
    assert [topic.settings("east")[key] for key in limits] == [topic_settings.NO_LIMIT_MS] * 2


def test_offsets_of_transaction_markers_are_no_lag(
    mirrored: Callable[..., Mirrored], caplog: pytest.LogCaptureFixture
) -> None:
    topic = mirrored()
    topic.write_in_a_transaction(*(b"%d" % n for n in range(5)))
    topic.await_copies(5)
    topic.await_ends(6, 5)
    assert topic.look() == ("running", "", 0)
    assert f"1 offsets of {topic.partition} hold no record (transaction markers" in caplog.text

    # Looks see it by themselves, with more records behind it too.
    topic.write_in_a_transaction(b"5", commit=False)
    topic.write("east", {"value": b"6"})
    topic.await_copies(7)
    topic.await_ends(9, 7)
    eventually(lambda: topic.look(thorough=False) == ("running", "", 0), "a lag of nothing")
    assert mirroring.offset_syncs_of(topic.mirror)[topic.partition] == OffsetSync(9, 7)
    assert topic.look() == ("running", "", 0)


def test_records_that_were_deleted_before_they_were_mirrored_are_said(
    mirrored: Callable[..., Mirrored],
) -> None:
    topic, connect = mirrored(), mirroring.connect_client()
    topic.write("east", *({"value": b"%d" % n} for n in range(50)))
    topic.await_copies(50)
    assert topic.look() == ("running", "", 0)
    connect.stop(topic.connector)
    mirroring.await_stopped(topic.connector)
    topic.write("east", *({"value": b"%d" % n} for n in range(50, 100)))
    topic.delete_before("east", 80)
    connect.resume(topic.connector)
    topic.await_copies(70)

    state, fault, lag = topic.look()
    assert (state, lag) == ("failed", 0)
    said = f"Records 50..79 of {topic.partition} were deleted on the source before they were mirrored."
    assert fault.startswith(said)
    assert "before offset 50 (kafka-delete-records.sh)" in fault
    assert topic.look()[0] == "failed", "it stays so until somebody sees to it"

    topic.delete_before("west", 50)
    assert topic.look() == ("running", "", 0)
    assert topic.records("west") == topic.records("east")


def test_a_standby_that_somebody_needs_is_not_rebuilt(
    mirrored: Callable[..., Mirrored], zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = mirrored()
    command = ("rebuild_mirror", "main", topic.mirror.name)
    topic.write("east", {"value": b"1"})
    topic.await_copies(1)
    plan = Plan(
        "main",
        Scope.of(Identity(topic.app.appid)),
        "east",
        "west",
        (Identity(topic.app.appid),),
        (topic.topic,),
        (),
        (topic.mirror.name,),
    )
    holder = SimpleNamespace(plan=plan, sentence=say("Switch %(key)s holds it.", key="SW-1"))
    with monkeypatch.context() as held:
        held.setattr(overlaps, "holders", lambda pair: [holder])
        with pytest.raises(CommandError, match="Switch SW-1 holds it"):
            call_command(*command, confirm="west")
    BindingStore(zookeeper).change([Edit(Identity(topic.app.appid), Binding("west"))])
    AppID.objects.create(pair=topic.pair, name=topic.app.appid)
    with pytest.raises(CommandError, match="is bound to west and uses Topics of this mirror there"):
        call_command(*command, confirm="west")
    with pytest.raises(CommandError, match="Pair 'main' has no mirror 'nobody'"):
        call_command("rebuild_mirror", "main", "nobody", confirm="west")
    topic.mirror.refresh_from_db()
    assert not topic.mirror.turning
    assert topic.end("west") == 1
