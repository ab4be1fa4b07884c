"""The precheck: each fault that it finds before anything is changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from hadash.bindings.model import BindingState
from hadash.kafka.values import Partition
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Together
from hadash.switching.stages.precheck import preflight

from ..parts import Client, Member, WorldError
from ..walking import QUICK, Fault, Killed, run_stage
from ..world import ORDERS_1, WHOLE, World
from .common import (
    failure,
    lag,
    writes,
)


def test_precheck() -> None:
    world = World(traffic=False)
    assert run_stage(world, Stage.PRECHECK) == "All checks hold (Topics: 2, groups: 1, clients: 3)."
    assert world.said == []
    assert world.seen == do.RecordSeen(("bill-1", "bill-2", "web-1"), ("billing",), ())
    assert world.placement == {"carts": (3,), "orders": (3, 1)}  # where the target has them


def test_precheck_copies_missing_acls() -> None:
    world = World()
    world.may_write["west"], world.denied["west"] = False, False
    run_stage(world, Stage.PRECHECK)
    assert world.said == ["Copied 1 ACLs of shop to west."]
    assert world.may_write["west"]


def test_precheck_remembers_only_groups_that_had_members() -> None:
    world = World()
    world.without_members()
    run_stage(world, Stage.PRECHECK)
    assert world.seen.groups == ()


def test_precheck_remembers_what_was_going_on() -> None:
    world = World()
    world.later(1.0)
    run_stage(world, Stage.PRECHECK)
    assert world.seen.activity == (
        ("consume", "orders"),
        ("produce", "carts"),
        ("produce", "orders"),
    )


def _bind(world: World, instance: str, cluster: str, state: BindingState) -> None:
    world.table[f"shop › {instance}"] = (cluster, state)


def _change(*things: Any, **values: Any) -> None:
    for thing in things:
        for name, value in values.items():
            setattr(thing, name, value)


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        (lambda w: w.down.add("east"), "Cluster east does not answer: no broker answers"),
        (lambda w: w.down.add("west"), "Cluster west does not answer: no broker answers"),
        (
            lambda w: _bind(w, "web-1", "east", BindingState.BLOCK),
            "shop › web-1 is being moved by another switch.",
        ),
        (
            lambda w: _bind(w, "web-1", "west", BindingState.FORWARD),
            "shop › web-1 is on west now, not on east: the plan is out of date. Request it again.",
        ),
        (
            lambda w: w.acks_1.append("web-1"),
            "shop › web-1 (acks=1): what is acknowledged before it is replicated cannot be proved to be mirrored. "
            "Set acks=all, or take this risk out of those that stop a switch, in the rules of the pair.",
        ),
        (
            lambda w: w.cooperative.append("billing (cooperative-sticky: bill-1)"),
            "Cooperative rebalancing cannot be moved yet: billing (cooperative-sticky: bill-1). "
            "Let these consumers use an eager assignor (range, roundrobin, sticky).",
        ),
        (
            lambda w: w.mirror.syncs.pop(ORDERS_1),
            "Of orders-1 it is not known which records of both sides correspond: a partition that was added "
            "counts as soon as its mirror has been looked at.",
        ),
        (
            lambda w: w.group.committed["east"].update({Partition("yearly", 0): 7}),
            "Group billing has offsets on yearly too, which would not move: it would begin again there. "
            "Let its clients use them through a Gateway, or delete these offsets if nobody needs them.",
        ),
        (
            lambda w: w.denied_by_hand.append("User:shop WRITE topic carts"),
            "west denies what east allows (User:shop WRITE topic carts): clients could not work there. "
            "Remove the rule, or make it on both clusters.",
        ),
        (
            lambda w: w.rules_for_hosts.append("ALLOW User:shop WRITE topic carts host 10.0.0.1"),
            "What these clients may do depends on their address (ALLOW User:shop WRITE topic carts host 10.0.0.1), "
            "and brokers see the Gateway's. Make these rules for every host (*), or name the addresses "
            "that brokers see "
            "in HADASH_SWITCH_ACL_HOSTS.",
        ),
        (lambda w: w.gateways.clear(), "No Gateway is running: clients could not be moved. Start one."),
        (
            lambda w: _change(*w.gateways.values(), live=False),
            "No Gateway is running: clients could not be moved. Start one.",
        ),
        (
            lambda w: _change(*w.gateways.values(), excluded=True, live=False),
            "No Gateway is running: clients could not be moved. Start one.",
        ),
        (
            lambda w: _change(w.gateways["gw-2"], live=False),
            "Gateway gw-2 does not answer, so nobody knows what it lets through. Start it again.",
        ),
        (
            lambda w: _change(w.mirror, state="failed", fault=Sentence.from_json("Task 0 is out of memory.")),
            "Mirror shop is not running (failed). Task 0 is out of memory.",
        ),
        (
            lambda w: w.write_past("west"),
            "Mirror shop is not running (failed). It holds records that its source does not.",
        ),
        (
            lambda w: lag(w, 5001),
            "Mirror shop is 5001 records behind; at most 5000 are allowed to start a switch.",
        ),
        (
            lambda w: _change(w.mirror, silent=True),
            "Mirror shop is ? records behind; at most 5000 are allowed to start a switch.",
        ),
        (lambda w: w.topics["east"].pop("orders"), "Topic orders does not exist on east."),
        (lambda w: w.topics["west"].pop("carts"), "Topic carts does not exist on west."),
        (
            lambda w: w.topics["west"].update(orders=(3, -1)),
            "A partition of orders on west has no leader.",
        ),
        (
            lambda w: w.topics["east"].update(carts=(-1,)),
            "A partition of carts on east has no leader.",
        ),
        (
            lambda w: w.topics["west"].update(orders=(3, 1, 2)),
            "Topic orders has 2 partitions on east and 3 on west.",
        ),
        (
            lambda w: w.mechanisms["west"].clear(),
            "shop can sign in to east with SCRAM-SHA-256, but not to west. "
            "Create the user there with the same password: hadash-manage create_user does.",
        ),
    ],
)
def test_precheck_fails_before_anything_is_changed(prepare: Callable[[World], Any], sentence: str) -> None:
    world = World(traffic=False)
    prepare(world)
    assert failure(world, Stage.PRECHECK) == sentence
    assert not [command for command in world.done if writes(command)]


def test_precheck_accepts_as_much_lag_as_is_allowed() -> None:
    world = World(traffic=False)
    lag(world, 5000)
    run_stage(world, Stage.PRECHECK)


def test_precheck_does_not_wait_for_an_excluded_gateway() -> None:
    world = World()
    world.gateways["gw-2"].live, world.gateways["gw-2"].excluded = False, True
    run_stage(world, Stage.PRECHECK)


def test_precheck_accepts_a_user_who_has_more_mechanisms_on_the_target() -> None:
    world = World()
    world.mechanisms["west"].add("SCRAM-SHA-512")
    run_stage(world, Stage.PRECHECK)


def test_precheck_says_when_it_cannot_check_a_password() -> None:
    world = World()
    world.mechanisms = {"east": set(), "west": set()}
    run_stage(world, Stage.PRECHECK)
    assert world.said == [
        "shop has no SCRAM password; whether it can sign in to west with PLAIN cannot be checked."
    ]


def test_preflight_reads_only() -> None:
    """A person who requests a switch learns of a fault at once, and nothing has happened."""
    world = World()
    run = preflight(world.plan, QUICK)
    answer = None
    with pytest.raises(StopIteration) as end:
        while True:
            answer = world.carry_out(run.send(answer))
    assert str(end.value.value) == "All checks hold."
    assert not [command for command in world.done if writes(command)]


def test_precheck_has_records_compared_and_settings_read() -> None:
    """What a quick look does not show would show in drain, when clients are blocked."""
    world = World(traffic=False)
    run_stage(world, Stage.PRECHECK)
    asked = [part for each in world.done if isinstance(each, Together) for part in each.commands]
    assert do.CheckMirrors(thorough=True) in asked


def test_precheck_hears_of_a_mirror_that_is_gone() -> None:
    world = World()
    world.mirrors.clear()
    assert failure(world, Stage.PRECHECK) == (
        "Mirror shop does not exist any more. Request the switch again."
    )


def test_a_precheck_that_fails_after_copying_acls_leaves_the_standby_closed() -> None:
    world = World()
    world.may_write["west"], world.denied["west"] = False, False  # nothing to deny to one who may not write
    with pytest.raises(WorldError):
        run_stage(world, Stage.PRECHECK, faults=[Fault(Stage.PRECHECK, do.PublishPlacement, "refused")])
    assert world.may_write["west"]  # the ACLs were copied
    assert not world.writable("west")


def test_precheck_hears_of_a_group_that_is_in_use_on_the_target() -> None:
    """Its offsets cannot be written: that holds before anybody was quiesced and blocked."""
    world = World()
    world.group.members.append(Member("reader-m", Client("reader", world.gateways["gw-1"], "west"), "west"))
    assert failure(world, Stage.PRECHECK) == (
        "Group billing has members on west already: its offsets could not be written. "
        "Stop them, or wait until their sessions end."  # (what was killed is a member until then)
    )


@pytest.mark.parametrize("what", ["killed before", "refused"])
def test_a_precheck_that_is_cut_off_while_copying_acls_leaves_the_standby_closed(what: str) -> None:
    world = World()
    world.may_write["west"], world.denied["west"] = False, False
    with suppress(Killed, WorldError):
        run_stage(world, Stage.PRECHECK, faults=[Fault(Stage.PRECHECK, do.DenyWrites, what)])
    if what == "killed before":
        run_stage(world, Stage.PRECHECK)
    assert not world.writable("west")


def test_somebody_has_begun_to_use_what_moves_since_the_approval() -> None:
    world = World()
    world.plan_now = [say("%(who)s reads Topic %(topic)s too and would stay.", who="crm", topic="carts")]
    assert failure(world, Stage.PRECHECK) == "crm reads Topic carts too and would stay."


def test_more_would_move_than_was_approved() -> None:
    world = World()
    world.plan_now = replace(WHOLE, topics=("carts", "orders", "returns"))
    assert failure(world, Stage.PRECHECK) == (
        "What would move has changed since the approval (now: carts, orders, returns; groups: billing). "
        "Request the switch again."
    )


def test_a_group_that_rebalances_is_asked_again() -> None:
    """Its coordinator names no assignor meanwhile."""
    world = World()
    world.rebalancing = [["billing (PreparingRebalance: bill-1)"]] * 3
    run_stage(world, Stage.PRECHECK)


def test_a_group_of_which_nobody_knows_how_it_rebalances() -> None:
    world = World()
    world.rebalancing = [["billing (own-assignor: bill-1)"]] * 1000
    assert failure(world, Stage.PRECHECK) == (
        "It is not known how these groups rebalance: billing (own-assignor: bill-1). Their members may "
        "read on while they rejoin. "
        "Wait until the groups are stable; if their assignor is eager, name it in HADASH_SWITCH_EAGER_ASSIGNORS."
    )


def test_acks_1_can_be_accepted() -> None:
    world = World()
    world.acks_1.append("web-1")
    run_stage(world, Stage.PRECHECK, replace(QUICK, accept_acks_1=True))
