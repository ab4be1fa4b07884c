"""What the control plane tells the engines: clusters, pairs and placements, read back as published."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient

from hadash.bindings import catalogue, layout
from hadash.bindings.model import Broker, ClusterDescription, PairDescription, Placement

pytestmark = pytest.mark.stack

EAST = ClusterDescription("east", 1, "e:9092", brokers=(Broker(0, "e", 9092), Broker(1, "e2", 9092, "r1")))


def test_what_was_published_is_read(zookeeper: KazooClient) -> None:
    pair = PairDescription("main", ("east", "west"), "east")
    placement = Placement("west", {"orders": (1, 0)}, {"group": 0})
    catalogue.publish_cluster(zookeeper, EAST)
    catalogue.publish_pair(zookeeper, pair)
    catalogue.publish_placement(zookeeper, "s1", placement)
    assert catalogue.read_cluster(zookeeper, "east") == EAST
    assert catalogue.read_pair(zookeeper, "main") == pair
    assert catalogue.read_placement(zookeeper, "s1") == placement


def test_what_was_not_is_none(zookeeper: KazooClient) -> None:
    assert catalogue.read_cluster(zookeeper, "east") is None
    assert catalogue.read_pair(zookeeper, "main") is None
    assert catalogue.read_placement(zookeeper, "s1") is None


def test_publishing_the_same_again_wakes_nobody(zookeeper: KazooClient) -> None:
    catalogue.publish_cluster(zookeeper, EAST)
    before = zookeeper.exists(layout.cluster("east"))
    catalogue.publish_cluster(zookeeper, EAST)
    assert zookeeper.exists(layout.cluster("east")) == before


def test_a_placement_does_not_make_a_journal(zookeeper: KazooClient) -> None:
    """It may be published before the switch's first change; the journal's node is then empty."""
    catalogue.publish_placement(zookeeper, "s1", Placement("west"))
    assert zookeeper.get(layout.switch("s1"))[0] == b""
