"""A broker that was not told of a cluster's Topics yet is not believed that they are gone; who deletes one
is, a while later.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from typing import Any, TypeVar

import pytest

from hadash.bindings.model import Placement
from hadash.gateway.brokers.nodes import NodeMap
from hadash.gateway.protocol.api_keys import OFFERED, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, decode_response, encode_response, response_module
from hadash.gateway.reporting.traffic import AccessKey, Traffic
from hadash.gateway.virtual import known_topics, metadata
from hadash.gateway.virtual.known_topics import DISBELIEF_SECONDS, KnownTopics
from hadash.gateway.virtual.metadata import Answer, Topic

every_metadata = pytest.mark.parametrize(
    "version", range(OFFERED[ApiKey.METADATA][0], OFFERED[ApiKey.METADATA][1] + 1)
)

UNKNOWN, FORBIDDEN = ErrorCode.unknown_topic_or_partition, ErrorCode.topic_authorization_failed


T = TypeVar("T")


class Clock:
    """Time that passes when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Gateway:
    """What a cluster's brokers say, and what a client hears of it."""

    def __init__(self, version: int = 8) -> None:
        self.version = version
        self.clock = Clock()
        self.known = KnownTopics(self.clock)

    def _answer(self, **topics: int | ErrorCode) -> Answer:
        module: Any = response_module(ApiKey.METADATA, self.version)
        described = tuple(
            build(
                module.MetadataResponseTopic,
                name=name,
                error_code=said if isinstance(said, ErrorCode) else ErrorCode.none,
                is_internal=False,
                partitions=tuple(
                    self._partition(module, index)
                    for index in range(0 if isinstance(said, ErrorCode) else said)
                ),
            )
            for name, said in topics.items()
        )
        broker = build(module.MetadataResponseBroker, node_id=1, host="b", port=9092)
        message = build(
            module.MetadataResponse, brokers=(broker,), topics=described, cluster_id="c", controller_id=1
        )
        return run(
            metadata.read(encode_response(ApiKey.METADATA, self.version, 7, message)[4:], self.version, 0)
        )

    @staticmethod
    def _partition(module: Any, index: int) -> Any:
        """One that is led by broker 1."""
        return build(
            module.MetadataResponsePartition,
            error_code=ErrorCode.none,
            partition_index=index,
            leader_id=1,
            replica_nodes=(1,),
            isr_nodes=(1,),
        )

    def hears(
        self, cluster: str = "east", used: frozenset[str] = frozenset(), **topics: int | ErrorCode
    ) -> dict[str, str]:
        """What a client is told when a broker names ``topics``: a number of partitions, or an error."""
        answer = self._answer(**topics)
        run(self.known.check(cluster, answer, used))
        framed = metadata.compose(answer, answer.topics, "hadash-main", 1, NodeMap({}, "gw", 9100, 10))
        told = decode_response(ApiKey.METADATA, self.version, framed[4:]).topics
        return {topic.name: self._heard(topic) for topic in told}

    @staticmethod
    def _heard(topic: object) -> str:
        error, partitions = topic.error_code, topic.partitions  # type: ignore[attr-defined]
        if error is not ErrorCode.none:
            assert not partitions
            return str(error.name)
        leaders = ["no leader" if p.leader_id < 0 else "led" for p in partitions]
        for partition, leader in zip(partitions, leaders, strict=True):
            wanted = ErrorCode.none if leader == "led" else ErrorCode.leader_not_available
            assert partition.error_code is wanted
        return f"{len(partitions)} {' '.join(sorted(set(leaders)))}"


def run(steps: Generator[None, None, T]) -> T:
    """What sliced work returns."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result


@every_metadata
class TestABrokerThatKnowsNothing:
    def test_a_topic_that_was_there_has_no_leader_for_now(self, version: int) -> None:
        """UNKNOWN_TOPIC_OR_PARTITION would make librdkafka give up what it has queued."""
        gateway = Gateway(version)
        assert gateway.hears(orders=3) == {"orders": "3 led"}
        assert gateway.hears(orders=UNKNOWN) == {"orders": "3 no leader"}
        assert gateway.hears(orders=2) == {"orders": "3 no leader"}
        assert gateway.hears(orders=3) == {"orders": "3 led"}

    def test_one_that_was_really_deleted_is_believed_to_be_a_term_later(self, version: int) -> None:
        gateway = Gateway(version)
        gateway.hears(orders=3)
        gateway.hears(orders=UNKNOWN)
        gateway.clock.now += DISBELIEF_SECONDS - 0.1
        assert gateway.hears(orders=UNKNOWN) == {"orders": "3 no leader"}
        gateway.clock.now += 0.1
        assert gateway.hears(orders=UNKNOWN) == {"orders": UNKNOWN.name}
        # Made again with fewer partitions, it is what it is now.
        assert gateway.hears(orders=1) == {"orders": "1 led"}

    def test_a_list_of_all_keeps_what_its_appid_has_used(self, version: int) -> None:
        """A regex subscriber would give the Topic up. What its AppID never used it may not see, for all that
        is known.
        """
        gateway = Gateway(version)
        gateway.hears(orders=3, secret=1)
        used = frozenset({"orders", "never-seen-here"})
        assert gateway.hears(used=used) == {"orders": "3 no leader"}
        gateway.clock.now += DISBELIEF_SECONDS
        assert gateway.hears(used=used) == {}


class TestWhatIsKnown:
    def test_a_topic_that_nobody_has_seen_is_unknown(self) -> None:
        assert Gateway().hears(orders=UNKNOWN) == {"orders": UNKNOWN.name}

    def test_one_clusters_topics_are_not_the_others(self) -> None:
        gateway = Gateway()
        gateway.hears("east", orders=3)
        assert gateway.hears("west", orders=UNKNOWN) == {"orders": UNKNOWN.name}

    def test_what_may_not_be_seen_stays_so(self) -> None:
        gateway = Gateway()
        gateway.hears(orders=3)
        assert gateway.hears(orders=FORBIDDEN) == {"orders": FORBIDDEN.name}

    def test_the_term_begins_with_the_first_doubt_after_a_good_answer(self) -> None:
        """Two brokers that start one after the other have a term each."""
        gateway = Gateway()
        gateway.hears(orders=3)
        gateway.hears(orders=UNKNOWN)
        gateway.clock.now += 50
        gateway.hears(orders=3)
        gateway.clock.now += 50
        assert gateway.hears(orders=UNKNOWN) == {"orders": "3 no leader"}

    def test_a_placement_says_it_too_after_a_start_of_the_gateway(self) -> None:
        gateway = Gateway()
        gateway.known.placed([Placement("west", {"orders": (1, 2)})])
        assert gateway.hears("west", orders=UNKNOWN) == {"orders": "2 no leader"}

    def test_a_topic_that_was_made_anew_smaller_is_believed_by_its_placement(self) -> None:
        """A mirror that was rebuilt: the switch back to it must not wait a term."""
        gateway = Gateway()
        gateway.hears("west", orders=6)
        gateway.known.placed([Placement("west", {"orders": (1, 2)})])
        assert gateway.hears("west", orders=2) == {"orders": "2 led"}

    def test_what_was_learnt_first_goes_when_there_are_too_many(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(known_topics, "MAX_TOPICS", 2)
        gateway = Gateway()
        gateway.hears(a=1, b=1, c=1)
        assert gateway.hears(a=UNKNOWN, b=UNKNOWN) == {"a": UNKNOWN.name, "b": "1 no leader"}

    def test_the_log_says_once_which_broker_is_not_believed(self, caplog: pytest.LogCaptureFixture) -> None:
        gateway = Gateway()
        gateway.hears(orders=3, bills=1)
        for _ in range(2):
            gateway.hears(orders=UNKNOWN, bills=UNKNOWN)
        (line,) = caplog.messages
        assert line.startswith("a broker of east does not know 2 Topics")


@every_metadata
class TestWithLeaders:
    def test_leaders_of_another_cluster_are_not_an_error_of_the_own(self, version: int) -> None:
        """Its own cluster has removed the Topic: it exists on the other one only."""
        moved = metadata.with_leaders(metadata.absent("orders", version), version, (1, 2), 0)
        assert (moved.error, moved.partitions) == (0, 2)
        assert struct.unpack_from(">h", moved.body) == (0,)

    def test_without_any_partition_the_error_stays(self, version: int) -> None:
        """A Topic without error and partitions is one that clients do not know what to do with."""
        absent: Topic = metadata.absent("orders", version)
        assert metadata.with_leaders(absent, version, (), 0) == absent


def test_an_appid_uses_what_it_writes_and_reads_on_that_cluster() -> None:
    traffic = Traffic(1)
    for appid, kind, resource, cluster in (
        ("shop", "produce", "orders", "east"),
        ("shop", "consume", "bills", "east"),
        ("shop", "group", "g", "east"),
        ("shop", "consume", "elsewhere", "west"),
        ("other", "consume", "theirs", "east"),
    ):
        traffic.fact(AccessKey(appid, "c", kind, resource, cluster, "h", "l", "v"))
    assert traffic.topics_used("shop", "east") == {"orders", "bills"}
