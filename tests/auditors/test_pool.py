"""The pool of a pair's auditors has what the pair's mirrors copy."""

from __future__ import annotations

import uuid

import pytest
from kazoo.client import KazooClient
from support.kafka import Clusters

from hadash.auditors.models import AuditedPartition
from hadash.auditors.pool import keep, pool_of
from hadash.coordinator.store import PoolStore
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]


@pytest.fixture
def topics(kafka: Clusters) -> list[str]:
    names = [f"audited-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    return [kafka.create_topic(name, partitions) for name, partitions in zip(names, (3, 1), strict=True)]


def assigned(zookeeper: KazooClient) -> dict[str, int]:
    view = PoolStore(zookeeper, pool_of("main")).read()
    return {name: len(each.document.members) for name, each in view.topics.items()}


def test_it_follows_the_mirrors(zookeeper: KazooClient, stack_pair: Pair, topics: list[str]) -> None:
    mirror = Mirror.objects.create(pair=stack_pair, name="first", topics=topics, source=stack_pair.first)
    assert keep(zookeeper, stack_pair) == (2, 0)
    assert assigned(zookeeper) == {topics[0]: 3, topics[1]: 1}
    assert keep(zookeeper, stack_pair) == (0, 0), "once more changes nothing"
    AuditedPartition.objects.create(
        pair=stack_pair, topic=topics[1], partition=0, source=stack_pair.first,
        source_begin=0, target_begin=0, source_next=0, target_next=0,
    )  # fmt: skip
    mirror.topics = topics[:1]
    mirror.save()
    assert keep(zookeeper, stack_pair) == (0, 1)
    assert assigned(zookeeper) == {topics[0]: 3} and not AuditedPartition.objects.exists()


def test_a_pair_without_mirrors_has_a_pool_without_topics(zookeeper: KazooClient, stack_pair: Pair) -> None:
    assert keep(zookeeper, stack_pair) == (0, 0)
    assert assigned(zookeeper) == {}
