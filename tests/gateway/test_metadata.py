"""METADATA of the clusters, as a client of the pair sees it, in every version."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.model import Broker
from hadash.gateway.brokers.nodes import NodeMap
from hadash.gateway.brokers.upstream import UpstreamUnavailable
from hadash.gateway.protocol.api_keys import OFFERED, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, decode_response, encode_response, response_module
from hadash.gateway.protocol.wire import MalformedFrame
from hadash.gateway.virtual import metadata
from hadash.gateway.virtual.metadata import Answer, Topic

METADATA_VERSIONS = range(OFFERED[ApiKey.METADATA][0], OFFERED[ApiKey.METADATA][1] + 1)
every_metadata = pytest.mark.parametrize("version", METADATA_VERSIONS)

T = TypeVar("T")


def finish(steps: Generator[None, None, T]) -> T:
    """What sliced work returns."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result


#: What a client sees of the pair: two brokers of east, one of west, with node ids and ports of their own.
VIRTUAL_NODES = {10_000: ("gw", 9101), 10_001: ("gw", 9102), 20_000: ("gw", 9111)}


@pytest.fixture
def nodes() -> NodeMap:
    """Both clusters number their brokers from 0."""
    made = NodeMap({"east": 1, "west": 2}, "gw", 9100, 10)
    made.learn("east", (Broker(0, "e0", 9092), Broker(1, "e1", 9092)))
    made.learn("west", (Broker(0, "w0", 9092),))
    return made


def west_metadata(version: int) -> Any:
    """Topic ``orders`` as west describes it: partition 0 led by broker 0 in epoch 12, partition 1 without leader."""
    module: Any = response_module(ApiKey.METADATA, version)
    partitions = (
        build(
            module.MetadataResponsePartition,
            error_code=ErrorCode.none,
            partition_index=0,
            leader_id=0,
            leader_epoch=12,
            replica_nodes=(0, 1),
            isr_nodes=(0,),
            offline_replicas=(1,),
        ),
        build(
            module.MetadataResponsePartition,
            error_code=ErrorCode.leader_not_available,
            partition_index=1,
            leader_id=-1,
            leader_epoch=12,
            replica_nodes=(1,),
            isr_nodes=(),
            offline_replicas=(1,),
        ),
    )
    topics = (
        build(module.MetadataResponseTopic, error_code=ErrorCode.none, name="orders", partitions=partitions),
        build(
            module.MetadataResponseTopic,
            error_code=ErrorCode.topic_authorization_failed,
            name="secret",
            partitions=(),
        ),
    )
    return build(
        module.MetadataResponse,
        brokers=(build(module.MetadataResponseBroker, node_id=0, host="w0", port=9092, rack="r1"),),
        cluster_id="real-id-of-west",
        controller_id=0,
        topics=topics,
    )


def payload_of(message: Any, version: int) -> bytes:
    return encode_response(ApiKey.METADATA, version, 7, message)[4:]


def read(version: int, nodes: NodeMap) -> Answer:
    """What west says, with the virtual cluster's node ids."""
    return finish(metadata.read(payload_of(west_metadata(version), version), version, nodes.base("west")))


def told(answer: Answer, topics: list[Topic], nodes: NodeMap) -> Any:
    """What the client reads."""
    frame = metadata.compose(answer, topics, "hadash-main", 20_000, nodes)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert int.from_bytes(frame[4:8], "big") == 7
    return decode_response(ApiKey.METADATA, answer.version, frame[4:])


def test_the_versions_are_0_to_8() -> None:
    """From 9 on its encoding is another one, which this module does not read."""
    assert list(METADATA_VERSIONS) == list(range(9))


class TestOwnCluster:
    @every_metadata
    def test_the_nodes_of_both_clusters_are_listed(self, version: int, nodes: NodeMap) -> None:
        """So that none vanishes at a move: librdkafka would throw its connections away and start over."""
        answer = read(version, nodes)
        response = told(answer, answer.topics, nodes)
        assert {b.node_id: (b.host, b.port) for b in response.brokers} == VIRTUAL_NODES
        assert answer.brokers == (Broker(0, "w0", 9092),)

    @every_metadata
    def test_leaders_and_replicas_are_virtual_nodes(self, version: int, nodes: NodeMap) -> None:
        answer = read(version, nodes)
        first, second = told(answer, answer.topics, nodes).topics[0].partitions
        assert (first.leader_id, first.replica_nodes, first.isr_nodes) == (
            20_000,
            (20_000, 20_001),
            (20_000,),
        )
        assert (second.leader_id, second.error_code) == (-1, ErrorCode.leader_not_available)
        if version >= 5:
            assert first.offline_replicas == (20_001,)

    @pytest.mark.parametrize("version", [7, 8])
    def test_no_leader_epoch_is_ever_told(self, version: int, nodes: NodeMap) -> None:
        """A client that knows a high epoch of the old cluster ignores the new one's lower epoch."""
        answer = read(version, nodes)
        response = told(answer, answer.topics, nodes)
        assert {p.leader_epoch for t in response.topics for p in t.partitions} == {-1}

    @every_metadata
    def test_cluster_id_and_controller_are_the_virtual_clusters(self, version: int, nodes: NodeMap) -> None:
        answer = read(version, nodes)
        response = told(answer, answer.topics, nodes)
        if version >= 1:
            assert response.controller_id == 20_000
        if version >= 2:
            assert response.cluster_id == "hadash-main"

    @every_metadata
    def test_what_a_client_may_not_see_it_still_may_not(self, version: int, nodes: NodeMap) -> None:
        answer = read(version, nodes)
        topic = told(answer, answer.topics, nodes).topics[1]
        assert (topic.name, topic.error_code) == ("secret", ErrorCode.topic_authorization_failed)
        assert answer.topics[1].error == int(ErrorCode.topic_authorization_failed)

    @every_metadata
    def test_a_broker_that_has_just_started_is_not_believed(self, version: int, nodes: NodeMap) -> None:
        """It names no broker and knows no Topic. A client that is told so gives up what it has to send."""
        found = replace(west_metadata(version), brokers=())
        with pytest.raises(UpstreamUnavailable, match="has just started"):
            finish(metadata.read(payload_of(found, version), version, nodes.base("west")))

    @every_metadata
    def test_an_answer_that_is_cut_off_is_refused(self, version: int, nodes: NodeMap) -> None:
        payload = payload_of(west_metadata(version), version)
        for end in range(len(payload)):
            with pytest.raises(MalformedFrame):
                finish(metadata.read(payload[:end], version, 0))

    @given(st.sampled_from(METADATA_VERSIONS), st.binary(max_size=200))
    def test_any_bytes_are_read_or_refused(self, version: int, data: bytes) -> None:
        try:
            finish(metadata.read(data, version, 0))
        except (MalformedFrame, UpstreamUnavailable):
            pass


class TestOtherCluster:
    """Topics that are bound to the cluster that was not asked, with the leaders that they have there."""

    @staticmethod
    def moved(version: int, nodes: NodeMap, *leaders: int) -> Any:
        answer = read(version, nodes)
        orders = metadata.with_leaders(answer.topics[0], version, leaders, nodes.base("east"))
        return told(answer, [orders, answer.topics[1]], nodes)

    @every_metadata
    def test_leaders_are_those_that_are_known(self, version: int, nodes: NodeMap) -> None:
        response = self.moved(version, nodes, 1)
        first = response.topics[0].partitions[0]
        assert (first.error_code, first.leader_id) == (ErrorCode.none, 10_001)
        assert (first.replica_nodes, first.isr_nodes) == ((10_001,), (10_001,))
        assert {b.node_id: (b.host, b.port) for b in response.brokers} == VIRTUAL_NODES
        if version >= 5:
            assert first.offline_replicas == ()
        if version >= 7:
            assert first.leader_epoch == -1

    @every_metadata
    def test_the_others_have_no_leader_yet(self, version: int, nodes: NodeMap) -> None:
        first, second = self.moved(version, nodes, -1).topics[0].partitions
        for index, partition in enumerate((first, second)):
            assert partition.partition_index == index
            assert (partition.error_code, partition.leader_id) == (ErrorCode.leader_not_available, -1)
            assert (partition.replica_nodes, partition.isr_nodes) == ((), ())

    @every_metadata
    def test_name_error_and_whether_it_is_internal_are_kept(self, version: int, nodes: NodeMap) -> None:
        topic = self.moved(version, nodes, 0, 0).topics[0]
        assert (topic.name, topic.error_code) == ("orders", ErrorCode.none)
        if version >= 1:
            assert not topic.is_internal


def test_a_large_answer_is_read_in_slices(nodes: NodeMap) -> None:
    message = west_metadata(8)
    (orders, _) = message.topics
    many = build(
        type(message),
        brokers=message.brokers,
        cluster_id="x",
        controller_id=0,
        topics=tuple(
            build(
                type(orders),
                error_code=ErrorCode.none,
                name=f"t{number}",
                partitions=orders.partitions * 50,
            )
            for number in range(10)
        ),
    )
    steps = metadata.read(payload_of(many, 8), 8, 20_000)
    slices = 0
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            answer: Answer = stop.value
            break
        slices += 1
    assert slices == 10 * 100 // metadata.SLICE
    assert [(t.name, t.partitions) for t in answer.topics] == [(f"t{n}", 100) for n in range(10)]
