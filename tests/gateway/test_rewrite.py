"""One virtual cluster: what the clusters say, as a client of the pair sees it, in every version."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.messages import example, request

from hadash.bindings.model import Broker
from hadash.gateway.brokers.nodes import NodeMap
from hadash.gateway.protocol.api_keys import OFFERED, ApiKey
from hadash.gateway.protocol.codec import (
    ErrorCode,
    build,
    decode_request,
    decode_response,
    encode_response,
    response_module,
)
from hadash.gateway.virtual import rewrite

METADATA_VERSIONS = range(OFFERED[ApiKey.METADATA][0], OFFERED[ApiKey.METADATA][1] + 1)
COORDINATOR_VERSIONS = range(OFFERED[ApiKey.FIND_COORDINATOR][0], OFFERED[ApiKey.FIND_COORDINATOR][1] + 1)

every_metadata = pytest.mark.parametrize("version", METADATA_VERSIONS)
every_coordinator = pytest.mark.parametrize("version", COORDINATOR_VERSIONS)


@pytest.fixture
def nodes() -> NodeMap:
    """Both clusters number their brokers from 0."""
    made = NodeMap({"east": 1, "west": 2}, "gw", 9100, 10)
    made.learn("east", (Broker(0, "e0", 9092), Broker(1, "e1", 9092)))
    made.learn("west", (Broker(0, "w0", 9092),))
    return made


def as_the_client_reads_it(kind: ApiKey, version: int, message: Any) -> Any:
    return decode_response(kind, version, encode_response(kind, version, 7, message)[4:])


@every_metadata
def test_no_request_creates_a_topic_as_a_side_effect(version: int) -> None:
    message = decode_request(example(ApiKey.METADATA, version))
    changed = rewrite.without_topic_creation(message)
    assert changed.topics == message.topics
    if version >= 4:
        assert message.allow_auto_topic_creation
        assert not changed.allow_auto_topic_creation


class TestCoordinators:
    @staticmethod
    def response(version: int, node_id: int, error: ErrorCode = ErrorCode.none) -> Any:
        module: Any = response_module(ApiKey.FIND_COORDINATOR, version)
        values = {"node_id": node_id, "host": "w", "port": 9092, "error_code": error, "error_message": None}
        if version >= 4:
            values = {"coordinators": (build(module.Coordinator, key="workers", **values),)}
        return build(module.FindCoordinatorResponse, **values)

    @staticmethod
    def told(version: int, message: Any) -> Any:
        response = as_the_client_reads_it(ApiKey.FIND_COORDINATOR, version, message)
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
    def test_one_that_was_found_elsewhere_is_a_virtual_node_of_that_cluster(
        self, version: int, nodes: NodeMap
    ) -> None:
        found = {"workers": (ErrorCode.none, "east", Broker(1, "", 0))}
        told = self.told(version, rewrite.coordinators(version, ("workers",), {}, found, nodes))
        assert (told.node_id, told.host, told.port) == (10_001, "gw", 9102)
        assert told.error_code is ErrorCode.none

    @every_coordinator
    def test_one_that_was_not_found_anywhere_is_asked_for_again(self, version: int, nodes: NodeMap) -> None:
        found = {"workers": (ErrorCode.coordinator_not_available, "east", Broker(-1, "", -1))}
        told = self.told(version, rewrite.coordinators(version, ("workers",), {}, found, nodes))
        assert (told.node_id, told.error_code) == (-1, ErrorCode.coordinator_not_available)

    def test_groups_of_both_clusters_are_answered_in_their_order(self, nodes: NodeMap) -> None:
        own = rewrite.find_coordinator(self.response(4, 0), 4, "west", nodes).coordinators[0]
        found = {"others": (ErrorCode.none, "east", Broker(0, "", 0))}
        merged = rewrite.coordinators(4, ("others", "workers"), {"workers": own}, found, nodes)
        response = as_the_client_reads_it(ApiKey.FIND_COORDINATOR, 4, merged)
        assert [(c.key, c.node_id) for c in response.coordinators] == [
            ("others", 10_000),
            ("workers", 20_000),
        ]


@pytest.mark.parametrize("version", [0, 1])
def test_a_described_cluster_is_the_virtual_one(version: int, nodes: NodeMap) -> None:
    module: Any = response_module(ApiKey.DESCRIBE_CLUSTER, version)
    message = build(
        module.DescribeClusterResponse,
        throttle_time=timedelta(0),
        error_code=ErrorCode.none,
        cluster_id="real-id-of-west",
        controller_id=0,
        brokers=(build(module.DescribeClusterBroker, broker_id=0, host="w0", port=9092),),
    )
    changed = rewrite.describe_cluster(message, version, "main", "west", nodes)
    response = as_the_client_reads_it(ApiKey.DESCRIBE_CLUSTER, version, changed)
    assert (response.cluster_id, response.controller_id) == ("hadash-main", 20_000)
    assert {b.broker_id: (b.host, b.port) for b in response.brokers} == {
        10_000: ("gw", 9101),
        10_001: ("gw", 9102),
        20_000: ("gw", 9111),
    }


@pytest.mark.parametrize("version", range(6, OFFERED[ApiKey.OFFSET_COMMIT][1] + 1))
def test_committed_offsets_carry_no_leader_epoch(version: int) -> None:
    before = decode_request(example(ApiKey.OFFSET_COMMIT, version))
    after = rewrite.without_leader_epochs(before)
    partitions = [(t.name, p) for t in after.topics for p in t.partitions]
    assert {p.committed_leader_epoch for _, p in partitions} == {-1}
    assert [(t, p.partition_index, p.committed_offset) for t, p in partitions] == [
        (t.name, p.partition_index, p.committed_offset) for t in before.topics for p in t.partitions
    ]
    assert (after.group_id, after.member_id) == (before.group_id, before.member_id)


def test_a_request_for_all_topics_stays_one() -> None:
    sent = request(
        ApiKey.METADATA,
        9,
        topics=None,
        allow_auto_topic_creation=True,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    changed = rewrite.without_topic_creation(decode_request(sent))
    assert (changed.topics, changed.allow_auto_topic_creation) == (None, False)
