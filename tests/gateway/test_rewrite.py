"""One virtual cluster: what the clusters say, as a client of the pair sees it, in every version."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.messages import example, request

from hadash.bindings.model import Broker, Placement
from hadash.gateway import rewrite
from hadash.gateway.codec import (
    ErrorCode,
    build,
    decode_request,
    decode_response,
    encode_response,
    response_module,
)
from hadash.gateway.kinds import OFFERED, Kind
from hadash.gateway.nodes import NodeMap

METADATA_VERSIONS = range(OFFERED[Kind.METADATA][0], OFFERED[Kind.METADATA][1] + 1)
COORDINATOR_VERSIONS = range(OFFERED[Kind.FIND_COORDINATOR][0], OFFERED[Kind.FIND_COORDINATOR][1] + 1)

every_metadata = pytest.mark.parametrize("version", METADATA_VERSIONS)
every_coordinator = pytest.mark.parametrize("version", COORDINATOR_VERSIONS)

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
    module: Any = response_module(Kind.METADATA, version)
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


def as_the_client_reads_it(kind: Kind, version: int, message: Any) -> Any:
    return decode_response(kind, version, encode_response(kind, version, 7, message)[4:])


class TestMetadata:
    @every_metadata
    def test_the_nodes_of_both_clusters_are_listed(self, version: int, nodes: NodeMap) -> None:
        """So that none vanishes at a move: librdkafka would throw its connections away and start over."""
        changed = rewrite.metadata(west_metadata(version), version, "main", "west", nodes)
        response = as_the_client_reads_it(Kind.METADATA, version, changed)
        assert {b.node_id: (b.host, b.port) for b in response.brokers} == VIRTUAL_NODES

    @every_metadata
    def test_leaders_and_replicas_are_virtual_nodes(self, version: int, nodes: NodeMap) -> None:
        changed = rewrite.metadata(west_metadata(version), version, "main", "west", nodes)
        first, second = as_the_client_reads_it(Kind.METADATA, version, changed).topics[0].partitions
        assert (first.leader_id, first.replica_nodes, first.isr_nodes) == (
            20_000,
            (20_000, 20_001),
            (20_000,),
        )
        assert (second.leader_id, second.error_code) == (-1, ErrorCode.leader_not_available)
        if version >= 5:
            assert first.offline_replicas == (20_001,)

    @pytest.mark.parametrize("version", range(7, 10))
    def test_no_leader_epoch_is_ever_told(self, version: int, nodes: NodeMap) -> None:
        """A client that knows a high epoch of the old cluster ignores the new one's lower epoch."""
        changed = rewrite.metadata(west_metadata(version), version, "main", "west", nodes)
        response = as_the_client_reads_it(Kind.METADATA, version, changed)
        assert {p.leader_epoch for t in response.topics for p in t.partitions} == {-1}

    @pytest.mark.parametrize("version", range(2, 10))
    def test_the_cluster_id_is_the_pairs(self, version: int, nodes: NodeMap) -> None:
        for cluster in ("east", "west"):
            changed = rewrite.metadata(west_metadata(version), version, "main", cluster, nodes)
            assert as_the_client_reads_it(Kind.METADATA, version, changed).cluster_id == "hadash-main"

    @pytest.mark.parametrize("version", range(1, 10))
    def test_the_controller_is_a_node_of_the_cluster_that_answered(
        self, version: int, nodes: NodeMap
    ) -> None:
        changed = rewrite.metadata(west_metadata(version), version, "main", "west", nodes)
        assert as_the_client_reads_it(Kind.METADATA, version, changed).controller_id == 20_000

    @every_metadata
    def test_what_a_client_may_not_see_it_still_may_not(self, version: int, nodes: NodeMap) -> None:
        changed = rewrite.metadata(west_metadata(version), version, "main", "west", nodes)
        topic = as_the_client_reads_it(Kind.METADATA, version, changed).topics[1]
        assert (topic.name, topic.error_code) == ("secret", ErrorCode.topic_authorization_failed)

    @every_metadata
    def test_no_request_creates_a_topic_as_a_side_effect(self, version: int) -> None:
        message = decode_request(example(Kind.METADATA, version))
        changed = rewrite.without_topic_creation(message)
        assert changed.topics == message.topics
        if version >= 4:
            assert message.allow_auto_topic_creation
            assert not changed.allow_auto_topic_creation


class TestMetadataAfterAMove:
    """For a client that is signed in to the old cluster: its view of Topics, the placement's leaders."""

    PLACEMENT = Placement("east", {"orders": (1,)})

    @every_metadata
    def test_leaders_are_those_of_the_placement(self, version: int, nodes: NodeMap) -> None:
        changed = rewrite.metadata_moved(west_metadata(version), version, "main", self.PLACEMENT, nodes)
        response = as_the_client_reads_it(Kind.METADATA, version, changed)
        first = response.topics[0].partitions[0]
        assert (first.error_code, first.leader_id) == (ErrorCode.none, 10_001)
        assert (first.replica_nodes, first.isr_nodes) == ((10_001,), (10_001,))
        assert {b.node_id: (b.host, b.port) for b in response.brokers} == VIRTUAL_NODES
        if version >= 5:
            assert first.offline_replicas == ()
        if version >= 7:
            assert first.leader_epoch == -1

    @every_metadata
    def test_what_the_placement_does_not_know_has_no_leader_yet(self, version: int, nodes: NodeMap) -> None:
        changed = rewrite.metadata_moved(west_metadata(version), version, "main", self.PLACEMENT, nodes)
        second = as_the_client_reads_it(Kind.METADATA, version, changed).topics[0].partitions[1]
        assert (second.error_code, second.leader_id) == (ErrorCode.leader_not_available, -1)
        assert (second.replica_nodes, second.isr_nodes) == ((), ())

    @every_metadata
    def test_a_partition_without_leader_on_the_target_says_so(self, version: int, nodes: NodeMap) -> None:
        placement = Placement("east", {"orders": (-1, 0)})
        changed = rewrite.metadata_moved(west_metadata(version), version, "main", placement, nodes)
        first, second = as_the_client_reads_it(Kind.METADATA, version, changed).topics[0].partitions
        assert (first.error_code, first.leader_id) == (ErrorCode.leader_not_available, -1)
        assert (second.error_code, second.leader_id) == (ErrorCode.none, 10_000)

    def test_what_a_client_may_not_see_it_still_may_not(self, nodes: NodeMap) -> None:
        placement = Placement("east", {"orders": (0, 0), "secret": (0, 0)})
        changed = rewrite.metadata_moved(west_metadata(9), 9, "main", placement, nodes)
        topic = as_the_client_reads_it(Kind.METADATA, 9, changed).topics[1]
        assert (topic.error_code, topic.partitions) == (ErrorCode.topic_authorization_failed, ())


class TestCoordinators:
    @staticmethod
    def response(version: int, node_id: int, error: ErrorCode = ErrorCode.none) -> Any:
        module: Any = response_module(Kind.FIND_COORDINATOR, version)
        values = {"node_id": node_id, "host": "w", "port": 9092, "error_code": error, "error_message": None}
        if version >= 4:
            values = {"coordinators": (build(module.Coordinator, key="workers", **values),)}
        return build(module.FindCoordinatorResponse, **values)

    @staticmethod
    def told(version: int, message: Any) -> Any:
        response = as_the_client_reads_it(Kind.FIND_COORDINATOR, version, message)
        return response.coordinators[0] if version >= 4 else response

    @every_coordinator
    def test_a_coordinator_is_a_virtual_node(self, version: int, nodes: NodeMap) -> None:
        changed = rewrite.find_coordinator(self.response(version, 0), version, "west", nodes)
        found = self.told(version, changed)
        assert (found.node_id, found.host, found.port) == (20_000, "gw", 9111)

    @every_coordinator
    def test_no_coordinator_stays_none(self, version: int, nodes: NodeMap) -> None:
        before = self.response(version, -1, ErrorCode.coordinator_not_available)
        found = self.told(version, rewrite.find_coordinator(before, version, "west", nodes))
        assert (found.node_id, found.error_code) == (-1, ErrorCode.coordinator_not_available)

    @every_coordinator
    def test_after_a_move_it_comes_from_the_placement(self, version: int, nodes: NodeMap) -> None:
        placement = Placement("east", {}, {"workers": 1})
        found = rewrite.coordinators_from_placement(version, ("workers",), placement, nodes)
        told = self.told(version, found)
        assert (told.node_id, told.host, told.port) == (10_001, "gw", 9102)
        assert told.error_code is ErrorCode.none

    def test_many_groups_are_all_answered(self, nodes: NodeMap) -> None:
        placement = Placement("east", {}, {"workers": 1, "others": 0})
        found = rewrite.coordinators_from_placement(4, ("workers", "others"), placement, nodes)
        assert found is not None
        assert [(c.key, c.node_id) for c in found.coordinators] == [("workers", 10_001), ("others", 10_000)]

    @every_coordinator
    def test_a_group_that_the_placement_does_not_know_is_not_guessed(
        self, version: int, nodes: NodeMap
    ) -> None:
        placement = Placement("east", {}, {"workers": 1})
        assert rewrite.coordinators_from_placement(version, ("others",), placement, nodes) is None
        if version >= 4:
            both = rewrite.coordinators_from_placement(version, ("workers", "others"), placement, nodes)
            assert both is None


@pytest.mark.parametrize("version", [0, 1])
def test_a_described_cluster_is_the_virtual_one(version: int, nodes: NodeMap) -> None:
    module: Any = response_module(Kind.DESCRIBE_CLUSTER, version)
    message = build(
        module.DescribeClusterResponse,
        throttle_time=timedelta(0),
        error_code=ErrorCode.none,
        cluster_id="real-id-of-west",
        controller_id=0,
        brokers=(build(module.DescribeClusterBroker, broker_id=0, host="w0", port=9092),),
    )
    changed = rewrite.describe_cluster(message, version, "main", "west", nodes)
    response = as_the_client_reads_it(Kind.DESCRIBE_CLUSTER, version, changed)
    assert (response.cluster_id, response.controller_id) == ("hadash-main", 20_000)
    assert {b.broker_id: (b.host, b.port) for b in response.brokers} == VIRTUAL_NODES


@pytest.mark.parametrize("version", range(6, OFFERED[Kind.OFFSET_COMMIT][1] + 1))
def test_committed_offsets_carry_no_leader_epoch(version: int) -> None:
    before = decode_request(example(Kind.OFFSET_COMMIT, version))
    after = rewrite.without_leader_epochs(before)
    partitions = [(t.name, p) for t in after.topics for p in t.partitions]
    assert {p.committed_leader_epoch for _, p in partitions} == {-1}
    assert [(t, p.partition_index, p.committed_offset) for t, p in partitions] == [
        (t.name, p.partition_index, p.committed_offset) for t in before.topics for p in t.partitions
    ]
    assert (after.group_id, after.member_id) == (before.group_id, before.member_id)


def test_a_request_for_all_topics_stays_one() -> None:
    sent = request(
        Kind.METADATA,
        9,
        topics=None,
        allow_auto_topic_creation=True,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    changed = rewrite.without_topic_creation(decode_request(sent))
    assert (changed.topics, changed.allow_auto_topic_creation) == (None, False)
