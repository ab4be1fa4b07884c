"""What a switch does with consumer pools: found for the plan, closed and opened by a real coordinator on ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from coordinator.pools import CONSUMER, POOL
from coordinator.pools import World as PoolWorld
from kazoo.client import KazooClient
from support.waiting import eventually

from hadash.bindings import layout
from hadash.bindings.model import Journal
from hadash.coordinator.pool import PoolSettings
from hadash.coordinator.store import PoolStore
from hadash.identity.identity import Identity
from hadash.inventory.models import Cluster, Pair
from hadash.radius.scope import Scope
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.execution.handlers import pools as handlers
from hadash.switching.execution.handlers.pools import connection
from hadash.switching.machines.switches import Kind
from hadash.switching.plan import Plan, PoolTopic
from hadash.switching.planning import pools as planning
from hadash.switching.planning.pools import PoolsFound, pools_of, with_pools
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.stages import commands as do
from hadash.switching.stages.context import StageContext

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

READS = PoolTopic(POOL, PoolWorld.TOPIC, "audit")
PLAN = Plan(
    "main",
    Scope.of(Identity("shop")),
    "east",
    "west",
    (Identity("shop"),),
    (PoolWorld.TOPIC,),
    ("billing",),
    ("shop",),
)
POOLED = replace(PLAN, pools=(READS,), groups=("audit", "billing"))


@pytest.fixture
def pair(db: None) -> Pair:
    east, west = (
        Cluster.objects.create(
            name=name, number=number, bootstrap_servers=servers, security_protocol="PLAINTEXT"
        )
        for number, (name, servers) in enumerate(
            {"east": "kafka:9092,kafka:9093", "west": "west:9092"}.items(), 1
        )
    )
    return Pair.objects.create(name="main", first=east, second=west, default=east)


@pytest.fixture
def pool(connect_client: Callable[..., KazooClient], monkeypatch: pytest.MonkeyPatch) -> Iterator[PoolWorld]:
    """A pool that reads "orders" on east, with two members and a coordinator."""
    made = PoolWorld(connect_client, partitions=4)
    client = connect_client(bounded=True)
    for module in (handlers, planning):
        monkeypatch.setattr(module, "zookeeper", lambda: client)
    made.join("a", "b")
    made.coordinate()
    eventually(lambda: made.shares() == {"a": 2, "b": 2})
    yield made
    made.end()
    assert made.board.twice == []


def hand(plan: Plan = POOLED, switch: str = "k7") -> CommandHandler:
    return CommandHandler(plan, Journal(switch, "quiesce", 1), StageContext(), lambda sentence: None)


def found(plan: Plan = POOLED, switch: str = "k7") -> Any:
    (one,) = hand(plan, switch).carry_out(do.ReadPools())
    return one


def draft(**values: Any) -> PlanProposal:
    return PlanProposal(replace(PLAN, **values))


# -- the plan ------------------------------------------------------------------------------------------------------


def test_a_plan_has_the_pools_that_read_its_topics_on_the_source(pool: PoolWorld, pair: Pair) -> None:
    moved = with_pools(draft(), pools_of(pair))
    assert moved.plan == POOLED and moved.blockers == ()
    assert with_pools(draft(topics=("carts",)), pools_of(pair)).plan.pools == ()
    back = with_pools(draft(source="west", target="east"), pools_of(pair))
    assert back.plan.pools == () and back.plan.groups == ("billing",)


def test_readers_of_a_split_stay_and_pools_with_them(pool: PoolWorld, pair: Pair) -> None:
    assert with_pools(draft(kind=Kind.READ_SPLIT), pools_of(pair)).plan.pools == ()


def test_when_the_source_is_lost_pools_cannot_commit_and_are_in_the_way(pool: PoolWorld, pair: Pair) -> None:
    forced = with_pools(draft(kind=Kind.FORCED), pools_of(pair))
    assert forced.plan.pools == ()
    assert [str(reason) for reason in forced.blockers] == [
        "The pool audit reads Topic orders on east, and cannot commit there any more. Let it read the Topic no longer; "
        "add it again on west after the switch."
    ]


def test_auditors_follow_the_mirrors_by_themselves(
    connect_client: Callable[..., KazooClient], pool: PoolWorld, pair: Pair
) -> None:
    store = PoolStore(connect_client(), "auditors.main")
    store.create()
    store.register(PoolWorld.TOPIC, CONSUMER, range(4))
    assert {each.pool for each in with_pools(draft(), pools_of(pair)).plan.pools} == {POOL}


def test_a_pool_that_cannot_be_read_stops_every_switch(
    connect_client: Callable[..., KazooClient], pool: PoolWorld, pair: Pair
) -> None:
    """Nobody knows whether it reads what moves."""
    connect_client().set(layout.assignment(POOL, PoolWorld.TOPIC), b"nonsense")

    def blockers() -> list[str]:
        return [str(reason) for reason in with_pools(draft(), pools_of(pair)).blockers]

    eventually(blockers, "that it is noticed")
    assert blockers()[0].startswith("It is not known what the pool audit › orders reads: ")


def test_without_pools_nothing_changes() -> None:
    assert with_pools(draft(), PoolsFound({}, {})) == draft()


# -- the commands --------------------------------------------------------------------------------------------------


def test_a_pool_is_closed_and_opened_on_the_target(pool: PoolWorld, pair: Pair) -> None:
    before = found()
    assert (before.cluster, before.is_stable, before.is_closed, bool(before.fault)) == (
        "east",
        True,
        False,
        False,
    )
    for _ in range(2):  # (a worker may have died right after it)
        assert hand().carry_out(do.ClosePools()) is None
    eventually(lambda: found().is_closed, "that all have stopped")
    assert not any(pool.board.of(PoolWorld.TOPIC).values())
    assert not found(switch="k8").is_closed  # (another switch must not take it for its own)
    for _ in range(2):
        hand().carry_out(do.OpenPools("west"))
    eventually(lambda: found().is_stable, "that all read again")
    assert found().cluster == "west" and pool.is_as_assigned()
    consumer = pool.view().topics[PoolWorld.TOPIC].document.consumer
    assert consumer == {"bootstrap.servers": "west:9092", "group.id": "audit"}
    hand().carry_out(do.OpenPools("east"))  # (it is not held any more)
    assert found().cluster == "west"


def test_a_switch_that_returns_lets_them_read_where_they_were(pool: PoolWorld, pair: Pair) -> None:
    hand().carry_out(do.ClosePools())
    hand().carry_out(do.OpenPools("east"))
    eventually(lambda: found().is_stable, "that all read again")
    assert found().cluster == "east" and pool.view().holds == {}


def test_what_another_switch_holds_is_refused(pool: PoolWorld, pair: Pair) -> None:
    hand(switch="k1").carry_out(do.ClosePools())
    refusal = hand().carry_out(do.ClosePools())
    assert str(refusal) == "Topic orders of pool audit is held by switch k1."
    assert str(found().fault) == "Topic orders of pool audit is held by switch k1."
    hand(switch="k1").carry_out(do.OpenPools("east"))
    eventually(lambda: found().is_stable)


def test_a_pool_that_nobody_decides_for_cannot_be_moved(pool: PoolWorld, pair: Pair) -> None:
    pool.coordinators.pop().stop()
    assert str(found().fault) == "No coordinator decides for the pool audit: start one."


def test_one_whose_members_are_stopped_cannot_be_moved(pool: PoolWorld, pair: Pair) -> None:
    pool.store.change_settings(lambda now: PoolSettings(is_stopped=True))
    assert "All members of pool audit are stopped." in str(found().fault)
    pool.store.change_settings(lambda now: PoolSettings())


def test_a_pool_that_does_not_read_the_topic_any_more_is_told(pool: PoolWorld, pair: Pair) -> None:
    pool.store.remove(PoolWorld.TOPIC)
    assert str(found().fault) == "The pool audit does not read Topic orders."
    hand().carry_out(do.OpenPools("east"))  # (a switch that returns does not stumble over it)


@pytest.mark.parametrize(
    ("consumer", "expected"),
    [
        ({"group.id": "g"}, {"bootstrap.servers": "west:9092", "security.protocol": "SASL_SSL"}),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
            {"bootstrap.servers": "west:9092", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
        ),
    ],
)
def test_the_sign_in_changes_with_the_cluster(consumer: dict[str, str], expected: dict[str, str]) -> None:
    east = Cluster(name="east", bootstrap_servers="east:9092", security_protocol="SASL_PLAINTEXT")
    west = Cluster(name="west", bootstrap_servers="west:9092", security_protocol="SASL_SSL")
    assert connection(west, east, consumer) == expected
