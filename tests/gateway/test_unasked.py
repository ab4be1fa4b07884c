"""Versions that are served although they are not offered: what becomes of their requests, and of METADATA answers."""

from __future__ import annotations

import struct
from collections.abc import Generator
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import pytest
from support.messages import TOPICS, example, fetch, nested, request

from hadash.gateway.protocol.api_keys import OFFERED, SERVED, UNASKED, ApiKey
from hadash.gateway.protocol.codec import (
    ErrorCode,
    build,
    decode_request,
    decode_response,
    encode_response,
    respond,
)
from hadash.gateway.protocol.codec import response_module as module_of
from hadash.gateway.protocol.wire import MalformedFrame, Request, parse_request
from hadash.gateway.virtual import metadata, unasked

T = TypeVar("T")

later_metadata = pytest.mark.parametrize("version", [9, 10])


def finish(steps: Generator[None, None, T]) -> tuple[T, int]:
    """What sliced work returns, and in how many slices it was done."""
    slices = 1
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result, slices
        slices += 1


class TestVersions:
    def test_what_is_served_besides_what_is_offered(self) -> None:
        beyond = {
            kind: sorted(set(range(low, high + 1)) - set(range(OFFERED[kind][0], OFFERED[kind][1] + 1)))
            for kind, (low, high) in SERVED.items()
            if (low, high) != OFFERED[kind]
        }
        assert beyond == {ApiKey.METADATA: [9, 10], ApiKey.FETCH: [11], ApiKey.OFFSET_COMMIT: [1]}
        assert beyond.keys() == UNASKED.keys()

    def test_they_are_supported_although_no_client_hears_of_them(self) -> None:
        for kind, (low, high) in UNASKED.items():
            for version in range(low, high + 1):
                assert Request(kind, version, 0, "", b"", 0).supported
                assert not OFFERED[kind][0] <= version <= OFFERED[kind][1]


class TestOffsetCommit:
    @staticmethod
    def version_1(partitions: dict[str, list[tuple[int, int, str | None]]]) -> Request:
        """As Sarama before 1.41 writes it: with a time for each partition, and no retention."""

        def text(value: str | None) -> bytes:
            data = (value or "").encode()
            return struct.pack(">h", -1 if value is None else len(data)) + data

        body = text("workers") + struct.pack(">i", 3) + text("m-1") + struct.pack(">i", len(partitions))
        for topic, commits in partitions.items():
            body += text(topic) + struct.pack(">i", len(commits))
            for index, offset, kept in commits:
                body += struct.pack(">iqq", index, offset, -1) + text(kept)
        return parse_request(struct.pack(">hhih", ApiKey.OFFSET_COMMIT, 1, 7, 4) + b"test" + body)

    def test_version_1_becomes_version_2(self) -> None:
        sent = self.version_1({"orders": [(0, 10, "why"), (2, 2**40, None)], "订单": [(5, 7, "")]})
        served = unasked.commit(sent)
        assert (served.version, served.correlation_id, served.client_id) == (2, 7, "test")
        message = decode_request(served)
        assert (message.group_id, message.generation_id_or_member_epoch, message.member_id) == (
            "workers",
            3,
            "m-1",
        )
        assert message.retention_time.total_seconds() < 0  # as long as the broker keeps offsets
        assert {
            (t.name, p.partition_index, p.committed_offset, p.committed_metadata)
            for t in message.topics
            for p in t.partitions
        } == {("orders", 0, 10, "why"), ("orders", 2, 2**40, None), ("订单", 5, 7, "")}

    def test_nothing_to_commit(self) -> None:
        assert decode_request(unasked.commit(self.version_1({}))).topics == ()

    @pytest.mark.parametrize("version", range(2, OFFERED[ApiKey.OFFSET_COMMIT][1] + 1))
    def test_other_versions_stay_as_they_are(self, version: int) -> None:
        sent = example(ApiKey.OFFSET_COMMIT, version)
        assert unasked.commit(sent) is sent

    def test_one_that_is_cut_off_is_malformed_wherever_it_was_cut(self) -> None:
        whole = self.version_1({"orders": [(0, 10, "why")]})
        for end in range(whole.body, len(whole.frame)):
            cut = Request(whole.kind, 1, 7, "test", whole.frame[:end], whole.body)
            with pytest.raises(MalformedFrame):
                unasked.commit(cut)


class TestFetch:
    @staticmethod
    def version_11(rack: str) -> Request:
        gone = build(nested(ApiKey.FETCH, 11, "ForgottenTopic"), topic="gone", partitions=(0, 1))
        values = decode_request(fetch(11))
        return request(
            ApiKey.FETCH,
            11,
            **{field.name: getattr(values, field.name) for field in fields(values)}
            | {"forgotten_topics_data": (gone,), "rack_id": rack},
        )

    def test_it_names_no_rack(self) -> None:
        """A broker would name a replica of its own cluster in the answer, which passes unread."""
        assert unasked.without_rack(self.version_11("eu-1a")).frame == self.version_11("").frame

    def test_without_a_rack_it_stays_as_it_is(self) -> None:
        sent = self.version_11("")
        assert unasked.without_rack(sent) is sent

    @pytest.mark.parametrize("version", range(4, 11))
    def test_so_do_the_versions_that_name_none(self, version: int) -> None:
        sent = fetch(version)
        assert unasked.without_rack(sent) is sent

    def test_one_that_is_cut_off_is_malformed_wherever_it_was_cut(self) -> None:
        whole = self.version_11("eu-1a")
        for end in range(whole.body, len(whole.frame)):
            cut = Request(whole.kind, 11, 7, "test", whole.frame[:end], whole.body)
            with pytest.raises(MalformedFrame):
                unasked.without_rack(cut)


class TestMetadataRequest:
    @later_metadata
    def test_it_is_asked_in_version_8(self, version: int) -> None:
        sent = example(ApiKey.METADATA, version)
        asked, message = unasked.metadata_request(sent, decode_request(sent))
        assert (asked.version, asked.correlation_id, asked.client_id) == (8, 7, "test")
        assert decode_request(asked) == message
        assert [topic.name for topic in message.topics] == list(TOPICS)
        assert message.allow_auto_topic_creation

    @later_metadata
    def test_for_all_topics_too(self, version: int) -> None:
        sent = request(
            ApiKey.METADATA,
            version,
            topics=None,
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        )
        _, message = unasked.metadata_request(sent, decode_request(sent))
        assert message.topics is None
        assert message.include_topic_authorized_operations
        assert message.include_cluster_authorized_operations

    def test_a_topic_that_is_named_by_its_id_is_malformed(self) -> None:
        topic = build(nested(ApiKey.METADATA, 10, "MetadataRequestTopic"), topic_id=None, name=None)
        sent = request(
            ApiKey.METADATA,
            10,
            topics=(topic,),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        with pytest.raises(MalformedFrame, match="METADATA version 10 names a Topic by its id"):
            unasked.metadata_request(sent, decode_request(sent))


def answer_of_version_8(partitions: int = 2, name: str = "订单") -> bytes:
    """A framed answer with a Topic whose last partition has no leader, and one that may not be seen."""
    module: Any = module_of(ApiKey.METADATA, 8)
    described = tuple(
        build(
            module.MetadataResponsePartition,
            error_code=ErrorCode.none if index < partitions - 1 else ErrorCode.leader_not_available,
            partition_index=index,
            leader_id=10_000 if index < partitions - 1 else -1,
            leader_epoch=-1,
            replica_nodes=(10_000, 10_001),
            isr_nodes=(10_000,),
            offline_replicas=(10_001,) if index else (),
        )
        for index in range(partitions)
    )
    refused = ErrorCode.topic_authorization_failed
    return encode_response(
        ApiKey.METADATA,
        8,
        7,
        respond(
            ApiKey.METADATA,
            8,
            brokers=(
                build(module.MetadataResponseBroker, node_id=10_000, host="gw", port=9101, rack=None),
                build(module.MetadataResponseBroker, node_id=20_000, host="gw", port=9111, rack="r"),
            ),
            cluster_id="hadash-main",
            controller_id=10_000,
            topics=(
                build(
                    module.MetadataResponseTopic,
                    error_code=ErrorCode.none,
                    name=name,
                    is_internal=False,
                    partitions=described,
                    topic_authorized_operations=12,
                ),
                build(module.MetadataResponseTopic, error_code=refused, name="secret", partitions=()),
            ),
            cluster_authorized_operations=5,
        ),
    )


def values(message: Any) -> Any:
    """A message as values that do not depend on its version; without what the later one has besides."""
    if isinstance(message, tuple):
        return tuple(values(each) for each in message)
    if is_dataclass(message):
        names = {field.name for field in fields(message)} - {"topic_id"}
        return {name: values(getattr(message, name)) for name in names}
    return message


class TestMetadataAnswer:
    @later_metadata
    def test_it_says_the_same_in_the_version_that_was_asked(self, version: int) -> None:
        said = answer_of_version_8()
        frame, _ = finish(unasked.metadata_answer(said, version))
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        assert int.from_bytes(frame[4:8], "big") == 7
        later = decode_response(ApiKey.METADATA, version, frame[4:])
        assert values(later) == values(decode_response(ApiKey.METADATA, 8, said[4:]))
        assert encode_response(ApiKey.METADATA, version, 7, later) == frame

    @later_metadata
    def test_leader_epochs_are_unknown_and_no_topic_has_an_id(self, version: int) -> None:
        frame, _ = finish(unasked.metadata_answer(answer_of_version_8(), version))
        topics = decode_response(ApiKey.METADATA, version, frame[4:]).topics
        assert {p.leader_epoch for topic in topics for p in topic.partitions} == {-1}
        assert {getattr(topic, "topic_id", None) for topic in topics} == {None}

    @later_metadata
    def test_lengths_of_several_bytes(self, version: int) -> None:
        said = answer_of_version_8(partitions=300, name="n" * 249)
        frame, slices = finish(unasked.metadata_answer(said, version))
        later = decode_response(ApiKey.METADATA, version, frame[4:])
        assert values(later) == values(decode_response(ApiKey.METADATA, 8, said[4:]))
        assert slices == 1 + 300 // metadata.SLICE
