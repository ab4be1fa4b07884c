"""The precheck: each fault that it finds before anything is changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from hadash.bindings.model import BindingState
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import Kind, Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import AuditFound, QuotaCheck
from hadash.switching.stages.command import Together
from hadash.switching.stages.precheck import precheck_only, preflight
from hadash.switching.stages.reading_on import check_reading_on
from hadash.switching.stages.run import AuditRule

from ..parts import Client, Member, WorldError
from ..walking import QUICK, Fault, Killed, run_stage, world_before
from ..world import ORDERS_1, PARTITIONS, WHOLE, World
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


class TestAudits:
    EQUAL = AuditFound("orders", is_equal=True, differs=False, says=say("Proved equal."))
    UNPROVED = AuditFound(
        "orders", is_equal=False, differs=False, says=say("No auditor has compared this mirror.")
    )
    UNLIKE = AuditFound("orders", is_equal=False, differs=True, says=say("Both sides differ."))

    def world(self, found: AuditFound) -> World:
        world = World(traffic=False)
        world.audits = [found]
        return world

    def run(self, found: AuditFound, rule: AuditRule) -> list[str]:
        """What the precheck says besides its outcome."""
        world = self.world(found)
        run_stage(world, Stage.PRECHECK, replace(QUICK, audit=rule))
        return world.said

    def fault(self, found: AuditFound, rule: AuditRule) -> str:
        return failure(self.world(found), Stage.PRECHECK, limits=replace(QUICK, audit=rule))

    @pytest.mark.parametrize("rule", AuditRule)
    def test_a_mirror_that_is_proved_equal_is_switched(self, rule: AuditRule) -> None:
        assert self.run(self.EQUAL, rule) == []

    def test_one_that_nobody_has_proved_is_told_or_stops_by_the_rule(self) -> None:
        said = "Auditors, mirror orders: No auditor has compared this mirror."
        assert self.run(self.UNPROVED, AuditRule.IGNORED) == []
        assert self.run(self.UNPROVED, AuditRule.DIFFERENCES_STOP) == [said]
        assert self.fault(self.UNPROVED, AuditRule.PROOF_NEEDED) == said

    @pytest.mark.parametrize("rule", [AuditRule.DIFFERENCES_STOP, AuditRule.PROOF_NEEDED])
    def test_one_that_differs_stops(self, rule: AuditRule) -> None:
        assert self.fault(self.UNLIKE, rule) == "Auditors, mirror orders: Both sides differ."

    @pytest.mark.parametrize("kind", [Kind.REHEARSAL, Kind.EMERGENCY])
    def test_but_no_kind_that_findings_do_not_stop(self, kind: Kind) -> None:
        world = self.world(self.UNLIKE)
        world.plan = replace(world.plan, kind=kind)
        run_stage(world, Stage.PRECHECK)
        assert "Auditors, mirror orders: Both sides differ." in world.said

    def test_unless_nobody_asks(self) -> None:
        assert self.run(self.UNLIKE, AuditRule.IGNORED) == []


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


class TestSelfAssigned:
    """In the world's beginning every partition has other offsets on the other side."""

    READS = {"flink": frozenset({"orders"})}
    SENTENCE = (
        "flink read without being members of a group: they keep their offsets over a move, and orders have "
        "other offsets on west. "
        "Let them subscribe in a group, stop them for the switch, or leave them out."
    )

    @pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.DRAIN])
    def test_it_does_not_move_where_offsets_differ(self, stage: Stage) -> None:
        world = world_before(stage)
        world.self_assigned = dict(self.READS)
        assert failure(world, stage) == self.SENTENCE

    @pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.DRAIN])
    def test_it_moves_where_offsets_are_equal(self, stage: Stage) -> None:
        world = world_before(stage)
        world.self_assigned = {"flink": frozenset({"equal"})}
        run_stage(world, stage)

    def test_the_rules_of_a_pair_may_accept_it(self) -> None:
        world = World()
        world.self_assigned = dict(self.READS)
        run_stage(world, Stage.PRECHECK, replace(QUICK, accept_self_assigned=True))
        assert "flink keep their offsets, which are others on west." in world.said


class TestReadingOn:
    """A member that goes on from its own position asks the new cluster for the offsets of the old one."""

    def test_it_does_not_move_where_offsets_differ(self) -> None:
        world = World()
        world.reading_on = ["bill-1"]
        assert failure(world, Stage.PRECHECK) == (
            "bill-1 go on from their own positions when they rejoin their group: they would ask west for "
            "the offsets of east, which are "
            "others there (carts, orders). Use a library that begins at what the group has committed, stop "
            "them for the switch, or leave "
            "them out."
        )

    def test_where_offsets_are_equal_it_is_not_asked_for(self) -> None:
        world = World()
        world.reading_on = ["bill-1"]
        equal = {p: OffsetSync(9, 9) for p in PARTITIONS}
        steps = check_reading_on(world.plan, QUICK, equal)
        assert list(steps) == []

    def test_the_rules_of_a_pair_may_accept_it(self) -> None:
        world = World()
        world.reading_on = ["bill-1"]
        run_stage(world, Stage.PRECHECK, replace(QUICK, accept_self_assigned=True))
        assert (
            "bill-1 go on from their own positions when they rejoin their group, and offsets are others on west."
            in world.said
        )


def test_acks_1_can_be_accepted() -> None:
    world = World()
    world.acks_1.append("web-1")
    run_stage(world, Stage.PRECHECK, replace(QUICK, accept_acks_1=True))


class TestQuotas:
    """A client that had 50 MB/s and finds 1 MB/s cannot work."""

    LESS = QuotaCheck(less=("shop: producer_byte_rate 52428800 (user) → 1048576 (user)",))
    UNKNOWN = QuotaCheck(
        unknown=Sentence.from_json("Cluster west could not read the quotas of its clients: no right.")
    )
    NARROWED = QuotaCheck(
        missing=("user shop: producer_byte_rate 5",),
        narrowed=("shop › web-2: producer_byte_rate ∞ → 5 (user)",),
    )
    EVERYWHERE = QuotaCheck(everywhere="*: connection_creation_rate ∞ → 20")

    @pytest.mark.parametrize(
        ("found", "sentence"),
        [
            (
                LESS,
                "Quotas of west let clients do less than those of east: "
                "shop: producer_byte_rate 52428800 (user) → 1048576 (user). Set them there as they are on east "
                "(kafka-configs.sh --alter). HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
            ),
            (
                UNKNOWN,
                "It is not known which quotas clients have: Cluster west could not read the quotas of its clients: "
                "no right. Let hadash's account describe the configs of both clusters (DESCRIBE_CONFIGS on "
                "the cluster; "
                "Kafka 2.6 or newer). HADASH_SWITCH_ACCEPT_QUOTAS accepts not to know.",
            ),
            (
                NARROWED,
                "Clients of the same AppIDs are on west already, and could do less when the quotas of east are copied "
                "(user shop: producer_byte_rate 5): shop › web-2: producer_byte_rate ∞ → 5 (user). Set on west what "
                "shall hold for them (kafka-configs.sh --alter). HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
            ),
            (
                EVERYWHERE,
                "west takes fewer connections from each address than east (*: connection_creation_rate ∞ → "
                "20), and all "
                "clients of a Gateway come from its address. Set it there as it is on east (kafka-configs.sh --alter). "
                "HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
            ),
        ],
    )
    def test_what_stands_against_a_switch(self, found: QuotaCheck, sentence: str) -> None:
        world = World()
        world.quotas = found
        assert failure(world, Stage.PRECHECK) == sentence
        assert not [command for command in world.done if writes(command)]

    @pytest.mark.parametrize("found", [LESS, UNKNOWN, NARROWED, EVERYWHERE])
    def test_it_can_be_accepted_and_is_told(self, found: QuotaCheck) -> None:
        world = World()
        world.quotas = found
        run_stage(world, Stage.PRECHECK, replace(QUICK, accept_quotas=True))
        assert "HADASH_SWITCH_ACCEPT_QUOTAS" in world.said[0]

    def test_what_is_missing_is_copied_before_anybody_moves(self) -> None:
        world = World()
        world.quotas = QuotaCheck(missing=("user shop: producer_byte_rate 5",))
        run_stage(world, Stage.PRECHECK)
        assert world.said == ["Copied quotas to west: user shop: producer_byte_rate 5."]
        assert world.quotas == QuotaCheck()

    def test_what_is_not_known_is_not_copied(self) -> None:
        world = World()
        world.quotas = self.UNKNOWN
        run_stage(world, Stage.PRECHECK, replace(QUICK, accept_quotas=True))
        assert do.CopyQuotas() not in world.done

    def test_what_is_only_told(self) -> None:
        world = World()
        world.quotas = QuotaCheck(
            more=("shop: consumer_byte_rate 1 (user) → 2 (user)",),
            addresses=("10.0.0.7: connection_creation_rate 9 → 3",),
            brokers=(6, 2),
        )
        run_stage(world, Stage.PRECHECK)
        assert world.said == [
            "Quotas of west let clients do more than those of east: shop: consumer_byte_rate 1 (user) → 2 (user).",
            "west takes fewer connections from some addresses than east: 10.0.0.7: connection_creation_rate 9 → 3. "
            "All clients of a Gateway come from its address: if one of these is a Gateway's, they connect one after "
            "the other.",
            "Quotas are those of each broker: east has 6 brokers and west has 2, so all together clients may do less "
            "there.",
        ]

    def test_where_nobody_has_quotas_nothing_is_said(self) -> None:
        world = World()
        run_stage(world, Stage.PRECHECK)
        assert (world.said, do.CopyQuotas() in world.done) == ([], False)

    def test_a_rehearsal_says_what_would_be_copied(self) -> None:
        world = World()
        world.quotas = QuotaCheck(missing=("user shop: producer_byte_rate 5",))
        checks, answer = precheck_only(world.plan, QUICK), None
        with suppress(StopIteration):
            while True:
                answer = world.carry_out(checks.send(answer))
        assert world.said == ["A switch would copy quotas to west: user shop: producer_byte_rate 5."]
        assert not [command for command in world.done if writes(command)]
