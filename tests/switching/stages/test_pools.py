"""Consumer pools that move with their Topics: stopped before anybody waits for them, started when clients are there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.sentences import say
from hadash.switching.machines.switches import Stage, Status
from hadash.switching.plan import Plan, PoolTopic
from hadash.switching.stages import commands as do

from ..walking import HAPPENINGS, ON_THE_WAY, Fault, Walk, run_stage, world_before
from ..world import WHOLE, World
from .common import failure

POOLED = replace(WHOLE, pools=(PoolTopic("readers", "orders", "audit"),))


def order(world: World, *kinds: type[object]) -> list[str]:
    """The first of each kind of command, in the order in which they came."""
    names = [type(command).__name__ for command in world.done if isinstance(command, kinds)]
    return list(dict.fromkeys(names))


def test_a_plan_with_pools_is_kept_with_them_and_has_a_digest_of_its_own() -> None:
    assert Plan.from_json(POOLED.to_json()) == POOLED
    assert POOLED.digest != WHOLE.digest


@pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.QUIESCE, Stage.FORWARD, Stage.RETURN])
def test_without_pools_nobody_is_asked(stage: Stage) -> None:
    world = world_before(stage) if stage is not Stage.RETURN else World()
    run_stage(world, stage)
    assert not [c for c in world.done if isinstance(c, do.ReadPools | do.ClosePools | do.OpenPools)]


def test_a_switch_takes_them_along() -> None:
    world = World(POOLED)
    assert Walk(world).run().status is Status.SUCCEEDED
    assert (world.pools.state, world.pools.cluster) == ("stable", "west")
    assert "The members of consumer pools have committed and stopped: readers › orders." in world.said
    kinds = (do.ClosePools, do.RecordDrained, do.WriteGroupOffsets, do.OpenPools)
    assert order(world, *kinds) == [kind.__name__ for kind in kinds]


@pytest.mark.parametrize(
    ("cluster", "state", "fault", "said"),
    [
        (
            "west", "stable", "",
            "The pool readers does not read Topic orders on east any more: the plan is out of date. Request it again.",
        ),
        (
            "east", "moving", "",
            "The members of pool readers are changing who reads Topic orders. Ask again when it is Stable.",
        ),
        ("east", "stable", "No coordinator decides.", "No coordinator decides."),
    ],
)  # fmt: skip
def test_the_precheck_refuses(cluster: str, state: str, fault: str, said: str) -> None:
    world = World(POOLED)
    world.pools.cluster, world.pools.state = cluster, state
    world.pools.fault = say(fault)
    assert failure(world, Stage.PRECHECK) == said


def test_members_that_do_not_stop_let_the_switch_return_before_clients_wait() -> None:
    world = World(POOLED)
    world.pools.hang = True
    ended = Walk(world).run()
    assert ended.status is Status.ROLLED_BACK
    assert "The members of pool readers did not stop reading Topic orders within 2 s." in str(ended.sentence)
    assert "Waiting for the members of consumer pools to stop: readers › orders." in world.said
    world.pools.hang = False
    world.pools.read()
    assert (world.pools.state, world.pools.cluster) == ("stable", "east")
    assert Stage.BLOCK not in ended.stages


def test_a_pool_that_another_switch_holds_lets_it_return() -> None:
    world = world_before(Stage.QUIESCE, plan=POOLED)
    world.pools.refusal = say("Topic orders of pool readers is held by switch k1.")
    assert failure(world, Stage.QUIESCE) == "Topic orders of pool readers is held by switch k1."


def test_verify_waits_until_they_read_on_the_target() -> None:
    world = world_before(Stage.VERIFY, plan=POOLED)
    world.pools.state, world.pools.hang = "starting", True
    assert (
        failure(world, Stage.VERIFY)
        == "Waiting for the members of consumer pools to read on west: readers › orders."
    )


_FAULTS = st.lists(
    st.builds(
        Fault, st.sampled_from(list(Stage)), st.integers(0, 14), st.sampled_from([*HAPPENINGS, *ON_THE_WAY])
    ),
    max_size=5,
)


@given(_FAULTS)
def test_whatever_happens_they_end_where_the_clients_do(found: list[Fault]) -> None:
    world = World(POOLED)
    walk = Walk(world, found)
    ended = walk.run()
    if ended.status is Status.NEEDS_ATTENTION:
        ended = walk.repair()
    world.pools.read()
    expected = {Status.SUCCEEDED: "west", Status.ROLLED_BACK: "east"}
    if ended.status in expected:
        assert (world.pools.state, world.pools.cluster) == ("stable", expected[ended.status])
