"""A pool on a real ZooKeeper: members come, go, hang and lose their sessions; coordinators replace each other."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient
from support.waiting import SLOWER, eventually
from support.zookeeper import expire_session

from hadash.coordinator.pool import PoolSettings
from hadash.coordinator.pool_view import PoolError
from hadash.coordinator.states import State

from .pools import World

pytestmark = pytest.mark.stack


def settled(world: World, **shares: int) -> None:
    """Wait until the assignment is Stable with these shares, and read by these members."""
    eventually(lambda: world.shares() == shares, f"shares of {shares}")
    eventually(world.is_as_assigned, "reading as assigned")


def test_a_pool_starts(world: World) -> None:
    world.join("a", "b")
    world.coordinate()
    settled(world, a=4, b=4)


def test_who_comes_gets_a_share_when_the_others_have_stopped(world: World) -> None:
    world.join("a")
    world.coordinate()
    settled(world, a=8)
    world.join("b")
    settled(world, a=4, b=4)


def test_what_one_that_leaves_has_read_goes_to_the_others(world: World) -> None:
    world.join("a", "b", "c")
    world.coordinate()
    eventually(lambda: len(world.shares()) == 3)
    world.leave("b")
    settled(world, a=4, c=4)


def test_nothing_is_given_away_that_a_member_has_not_stopped(world: World) -> None:
    world.join("a")
    world.coordinate()
    settled(world, a=8)
    reader = world.members["a"].readers[World.TOPIC]
    reader.is_held = True
    world.join("b")
    standing = eventually(
        lambda: (found := world.view().topics[World.TOPIC].standing).state is State.CLOSING and found
    )
    assert standing.to_close == {"a": standing.to_start["b"]}
    assert world.board.of(World.TOPIC) == {partition: {"a"} for partition in range(8)}
    reader.release()
    settled(world, a=4, b=4)


def test_a_member_that_hangs_is_isolated_by_a_person_only(world: World) -> None:
    world.join("a", "b")
    world.coordinate()
    settled(world, a=4, b=4)
    world.members["a"].readers[World.TOPIC].is_held = True
    world.join("c")
    eventually(lambda: world.view().topics[World.TOPIC].standing.state is State.CLOSING)
    world.store.isolate("a", "olga", "its disk is full")
    eventually(lambda: world.shares() == {"b": 4, "c": 4})
    # It comes back when it reads nothing any more, not before.
    world.store.take_back("a")
    assert world.view().isolated["a"].is_ending
    world.members["a"].readers[World.TOPIC].release()
    eventually(lambda: not world.view().isolated, "the end of the isolation")
    eventually(lambda: len(world.shares()) == 3)
    eventually(world.is_as_assigned)


def test_a_session_that_ends_is_begun_again(world: World, zookeeper_hosts: str) -> None:
    world.join("a", "b")
    world.coordinate()
    settled(world, a=4, b=4)
    expire_session(world.members["a"].client, zookeeper_hosts)
    eventually(lambda: world.shares() == {"b": 8} or world.members["a"].member.status()["listed"])
    settled(world, a=4, b=4)


def test_all_are_stopped_and_go_on(world: World) -> None:
    world.join("a", "b")
    world.coordinate()
    settled(world, a=4, b=4)
    world.store.change_settings(lambda _: PoolSettings(is_stopped=True, by="olga", reason="a bad release"))
    eventually(lambda: not any(world.board.of(World.TOPIC).values()), "the stop of all")
    assert world.shares() == {"a": 4, "b": 4}
    world.store.change_settings(lambda _: PoolSettings())
    settled(world, a=4, b=4)


def test_new_partitions_are_assigned(world: World) -> None:
    world.join("a", "b")
    running = world.coordinate(partitions_seconds=0.1)
    settled(world, a=4, b=4)
    running.partitions[World.TOPIC] = 10
    settled(world, a=5, b=5)


def test_a_topic_that_is_removed_is_read_no_longer(world: World) -> None:
    world.join("a")
    world.coordinate()
    settled(world, a=8)
    world.store.remove(World.TOPIC)
    eventually(lambda: not any(world.board.of(World.TOPIC).values()))


def test_another_coordinator_takes_over(world: World) -> None:
    first = world.coordinate("first")
    eventually(lambda: first.coordinator.fence is not None)
    second = world.coordinate("second")
    world.join("a")
    settled(world, a=8)
    assert second.coordinator.fence is None
    first.stop()
    world.coordinators.remove(first)
    world.join("b")
    settled(world, a=4, b=4)
    assert second.coordinator.fence is not None


def test_a_coordinator_that_was_replaced_writes_nothing(world: World, zookeeper_hosts: str) -> None:
    """Whatever it has decided before it knows: its token is not the present one."""
    from hadash.coordinator.decisions import Step
    from hadash.coordinator.documents import StateDocument
    from hadash.coordinator.states import Event

    first = world.coordinate("first")
    old = eventually(lambda: first.coordinator.fence)
    expire_session(first.client, zookeeper_hosts)
    new = eventually(lambda: (now := first.coordinator.fence) not in (None, old) and now)
    seen = world.view()
    step = Step(Event.CONFIRM_START, StateDocument(State.STABLE))
    assert not world.store.write(World.TOPIC, seen.topics[World.TOPIC], seen.membership, step, old)
    assert world.store.write(World.TOPIC, seen.topics[World.TOPIC], seen.membership, step, new)


def test_a_decision_is_refused_when_somebody_has_come_back_meanwhile(
    world: World, connect_client: Callable[..., KazooClient]
) -> None:
    from hadash.coordinator.decisions import Step
    from hadash.coordinator.documents import StateDocument
    from hadash.coordinator.election import Candidate
    from hadash.coordinator.states import Event

    fence = Candidate(connect_client(bounded=True), "me").stand()
    assert fence is not None
    seen = world.view()
    world.join("a")
    eventually(lambda: world.members["a"].member.status()["listed"])
    step = Step(Event.CONFIRM_START, StateDocument(State.STABLE))
    assert not world.store.write(World.TOPIC, seen.topics[World.TOPIC], seen.membership, step, fence)


def test_of_two_processes_with_one_name_the_second_reads_nothing(
    world: World, connect_client: Callable[..., KazooClient]
) -> None:
    from .pools import RunningMember

    world.join("a")
    world.coordinate()
    settled(world, a=8)
    double = RunningMember(connect_client(bounded=True), world.board, "a")
    eventually(lambda: "Another process is the member a" in double.member.status()["error"])
    assert double.readers == {} and not double.member.is_well()
    double.leave()
    settled(world, a=8)


def test_what_cannot_be_read_is_said_and_the_rest_goes_on(world: World, zookeeper: KazooClient) -> None:
    from hadash.bindings import layout

    running = world.coordinate()
    world.store.register("people", {"bootstrap.servers": "kafka:9092", "group.id": "audit"}, range(2))
    zookeeper.set(layout.assignment("audit", "people"), b"{}")
    world.join("a")
    settled(world, a=8)
    pool = running.coordinator.pools["audit"]
    error = eventually(lambda: "people" in pool.topics and pool.topics["people"].error)
    assert "bootstrap.servers" in str(error)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "weighted"])
def test_every_strategy_fills_a_pool(world: World, strategy: str) -> None:
    world.store.change_settings(lambda _: PoolSettings(strategy=strategy, shadow="weighted"))
    world.join("a", "b")
    running = world.coordinate()
    settled(world, a=4, b=4)
    pool = running.coordinator.pools["audit"]
    shadow = eventually(lambda: pool.topics[World.TOPIC].shadow)
    assert shadow.spread_now == 1.0


def test_settings_that_kafkas_client_refuses_stop_no_other_topic(
    connect_client: Callable[..., KazooClient], world: World
) -> None:
    """One document with a misspelt setting must not end the process that reads all the others."""
    from hadash.coordinator.member.process import PoolMember
    from hadash.coordinator.member.topic_reader import TopicReader
    from hadash.coordinator.process_settings import MemberSettings

    from .pools import POOL, TOKEN

    settings = MemberSettings(pool=POOL, name="a", http_port=0)
    member = PoolMember(
        connect_client(bounded=True),
        settings,
        TOKEN,
        lambda topic, consumer: TopicReader(topic, {**consumer, "no.such": 1}, {}, print, settings),
    )
    thread = threading.Thread(target=member.run, daemon=True)
    thread.start()
    world.coordinate()
    eventually(lambda: "no.such" in member.status()["topics"].get(World.TOPIC, {}).get("error", ""))
    assert member.status()["listed"] and thread.is_alive()
    member.stop()
    thread.join(30 * SLOWER)
    assert not thread.is_alive()


class TestASwitchMovesTheTopic:
    """Every member stops, and only then the switch has the offsets; all go on elsewhere, with what they had."""

    WEST = {"bootstrap.servers": "west:9092", "security.protocol": "SASL_SSL"}

    @staticmethod
    def is_closed(world: World) -> bool:
        found = world.view().topics[World.TOPIC]
        return (
            found.standing.state is State.CLOSING
            and not found.standing.to_close
            and not any(found.document.members.values())
        )

    def test_it_is_closed_and_opened_elsewhere(self, world: World) -> None:
        world.join("a", "b")
        world.coordinate()
        settled(world, a=4, b=4)
        before = world.view().topics[World.TOPIC].document
        world.store.hold(World.TOPIC, "k7")
        world.store.hold(World.TOPIC, "k7")  # (who asked may have died right after it)
        eventually(lambda: self.is_closed(world), "that all have stopped")
        assert not any(world.board.of(World.TOPIC).values())
        with pytest.raises(PoolError, match="is held by switch k7"):
            world.store.hold(World.TOPIC, "k8")
        world.store.open(World.TOPIC, "k7", self.WEST)
        settled(world, a=4, b=4)
        after = world.view()
        assert after.topics[World.TOPIC].document.members == before.members
        assert after.topics[World.TOPIC].document.consumer == {**before.consumer, **self.WEST}
        assert after.holds == {}

    def test_it_is_opened_where_it_was_when_the_switch_returns(self, world: World) -> None:
        world.join("a", "b")
        world.coordinate()
        settled(world, a=4, b=4)
        before = world.view().topics[World.TOPIC].document
        back = {"bootstrap.servers": str(before.consumer["bootstrap.servers"])}
        world.store.hold(World.TOPIC, "k7")
        eventually(lambda: self.is_closed(world), "that all have stopped")
        world.store.open(World.TOPIC, "k7", back)
        settled(world, a=4, b=4)
        assert world.view().topics[World.TOPIC].document == before

    def test_a_member_that_hangs_keeps_it_from_being_closed(self, world: World) -> None:
        world.join("a", "b")
        world.coordinate()
        settled(world, a=4, b=4)
        world.members["a"].readers[World.TOPIC].is_held = True
        world.store.hold(World.TOPIC, "k7")
        eventually(
            lambda: not any("b" in who for who in world.board.of(World.TOPIC).values()), "that b has stopped"
        )
        assert not self.is_closed(world)
        world.store.open(World.TOPIC, "k7", {"bootstrap.servers": "kafka:9092"})
        world.members["a"].readers[World.TOPIC].release()
        settled(world, a=4, b=4)

    def test_another_coordinator_goes_on_with_it(self, world: World) -> None:
        world.join("a", "b")
        first = world.coordinate()
        settled(world, a=4, b=4)
        world.store.hold(World.TOPIC, "k7")
        eventually(lambda: self.is_closed(world), "that all have stopped")
        world.coordinators.remove(first)
        first.stop()
        world.coordinate("second")
        world.store.open(World.TOPIC, "k7", self.WEST)
        settled(world, a=4, b=4)
        assert world.view().topics[World.TOPIC].document.consumer["bootstrap.servers"] == "west:9092"
