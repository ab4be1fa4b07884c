"""Virtual nodes: an id and a port mean one broker of one cluster, for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.model import Broker
from hadash.gateway.brokers.nodes import NODE_ID_RANGE, Node, NodeMap, NodeOutOfRange


def brokers(*ids: int) -> tuple[Broker, ...]:
    return tuple(Broker(id, f"b{id}", 9092) for id in ids)


@pytest.fixture
def nodes() -> NodeMap:
    return NodeMap({"east": 1, "west": 2}, "gw", 9092, 100)


@given(
    st.integers(1, 100), st.integers(1, 100), st.integers(1, 1000), st.integers(0, 999), st.integers(0, 999)
)
def test_ids_and_ports_of_two_nodes_are_never_the_same(
    east: int, west: int, ports: int, one: int, other: int
) -> None:
    made = NodeMap({"east": east, "west": west if west != east else east + 1}, "gw", 9092, ports)
    a, b = Node("east", one % ports), Node("west", other % ports)
    assert made.node_id("east", a.broker_id) != made.node_id("west", b.broker_id)
    assert len({9092, made.port(a), made.port(b)}) == 3
    if one % ports != other % ports:
        assert made.port(a) != made.port(Node("east", b.broker_id))


def test_ports_follow_the_bootstrap_port_cluster_by_cluster(nodes: NodeMap) -> None:
    assert [nodes.port(Node("east", id)) for id in (0, 1, 99)] == [9093, 9094, 9192]
    assert [nodes.port(Node("west", id)) for id in (0, 1, 99)] == [9193, 9194, 9292]


def test_ports_do_not_depend_on_what_was_learned(nodes: NodeMap) -> None:
    """An address that a client remembers is the same broker after a restart of the Gateway."""
    before = nodes.port(Node("west", 3))
    nodes.learn("west", brokers(0, 1, 2, 3))
    nodes.learn("east", brokers(7))
    assert nodes.port(Node("west", 3)) == before


def test_ids_are_small_and_no_node_stays_no_node(nodes: NodeMap) -> None:
    assert nodes.node_id("west", 3) == 2 * NODE_ID_RANGE + 3
    assert nodes.node_id("west", -1) == -1


def test_what_is_new_is_told_once(nodes: NodeMap) -> None:
    assert nodes.learn("east", brokers(1, 0)) == [Node("east", 1), Node("east", 0)]
    assert nodes.learn("east", brokers(0, 1, 2)) == [Node("east", 2)]
    assert nodes.nodes() == [Node("east", 0), Node("east", 1), Node("east", 2)]


def test_a_broker_that_moved_is_found_at_its_new_address(nodes: NodeMap) -> None:
    nodes.learn("east", brokers(0))
    nodes.learn("east", (Broker(0, "elsewhere", 9999),))
    assert nodes.broker(Node("east", 0)) == Broker(0, "elsewhere", 9999)
    assert nodes.brokers("east") == [Broker(0, "elsewhere", 9999)]
    assert nodes.broker(Node("west", 0)) is None


@pytest.mark.parametrize("broker_id", [100, 1001])
def test_a_broker_without_port_is_told_with_the_remedy(nodes: NodeMap, broker_id: int) -> None:
    with pytest.raises(NodeOutOfRange) as caught:
        nodes.learn("east", brokers(broker_id))
    assert str(caught.value) == (
        f"Broker {broker_id} of cluster east has no port on this Gateway: HADASH_GATEWAY_PORTS_PER_CLUSTER is 100. "
        f"Set it above {broker_id} on every Gateway of the pair and restart them."
    )
    assert nodes.nodes() == []


def test_whoever_is_listed_was_told_also_when_another_is_out_of_range(nodes: NodeMap) -> None:
    """Each broker in METADATA needs a listening port: ``learn`` opens it."""
    told: list[Node] = []
    for _ in range(2):
        try:
            told += nodes.learn("east", brokers(0, 1, 100))
        except NodeOutOfRange:
            pass
    assert told == nodes.nodes()
