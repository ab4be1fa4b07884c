"""Each stage over a simulated pair of clusters: its sentence when it goes well, its sentence for each failure, and
that it comes to the same end when it is run twice or cut off anywhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from hadash.bindings.model import BindingState
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import say
from hadash.switching.machines.switches import WAY, Stage
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import QuotaCheck
from hadash.switching.stages.asking import Command
from hadash.switching.stages.precheck import precheck_only, preflight
from hadash.switching.stages.reading_on import check_reading_on
from hadash.switching.stages.run import Limits, StageFailed

from .parts import MARKER, Client, Member
from .walking import QUICK, Fault, Killed, Walk, run_stage, steps, world_before
from .world import CARTS, ORDERS_0, ORDERS_1, PARTITIONS, WHOLE, World, WorldError

WITHOUT_GROUPS = replace(WHOLE, groups=())
#: Commands that change the world.
WRITING = (
    do.WriteBindings,
    do.CopyAcls,
    do.CopyQuotas,
    do.PublishPlacement,
    do.AllowWrites,
    do.DenyWrites,
    do.RecordDrained,
    do.WriteGroupOffsets,
    do.RemoveGroupOffsets,
    do.PauseMirrors,
    do.ResumeMirrors,
    do.ReverseMirrors,
    do.RecordSeen,
)


def writes(command: object) -> bool:
    parts = command.commands if isinstance(command, do.Together) else (command,)
    return any(isinstance(part, WRITING) for part in parts)


def failure(world: World, stage: Stage, *faults: Fault, limits: Limits = QUICK) -> str:
    """The sentence with which ``stage`` fails."""
    with pytest.raises(StageFailed) as failed:
        run_stage(world, stage, limits, faults)
    return str(failed.value.sentence)


def written(world: World) -> list[tuple[str, BindingState]]:
    return [(c.cluster, c.state) for c in world.done if isinstance(c, do.WriteBindings)]


# -- precheck ------------------------------------------------------------------------------------------------------


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


def _lag(world: World, records: int) -> None:
    world.mirror.rate = 0
    for _ in range(records):
        world._write("east", CARTS)


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
            lambda w: w.mirror.anchors.pop(ORDERS_1),
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
            lambda w: _change(w.mirror, state="failed", fault="Task 0 is out of memory."),
            "Mirror shop is not running (failed). Task 0 is out of memory.",
        ),
        (
            lambda w: w.write_past("west"),
            "Mirror shop is not running (failed). It holds records that its source does not.",
        ),
        (
            lambda w: _lag(w, 5001),
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
    _lag(world, 5000)
    run_stage(world, Stage.PRECHECK)


EXCLUDED_AND_RUNNING = (
    "Gateway gw-2 is excluded, but it runs and may serve clients. Let switches wait for it again (on the overview), "
    "or stop it."
)


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
    """Whoever asks for a switch hears of a fault at once, and nothing has happened."""
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
    assert do.CheckMirrors(thorough=True) in world.done


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
    """A client that had 50 MB/s and finds 1 MB/s stands still."""

    LESS = QuotaCheck(less=("shop: producer_byte_rate 52428800 (user) → 1048576 (user)",))
    UNKNOWN = QuotaCheck(unknown="Cluster west could not read the quotas of its clients: no right.")
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


# -- quiesce --------------------------------------------------------------------------------------------------------


def test_quiesce() -> None:
    world = world_before(Stage.QUIESCE)
    assert (
        run_stage(world, Stage.QUIESCE) == "Every group member has committed and waits to rejoin (2 in all)."
    )
    assert written(world) == [("east", BindingState.HOLD_HEARTBEATS), ("east", BindingState.QUIESCE)]
    assert {member.state for member in world.group.members} == {"parked"}
    assert world.writable("west")


@pytest.mark.parametrize("cluster", ["east", "west"])
def test_quiesce_opens_connections_before_anybody_waits_for_them(cluster: str) -> None:
    """A cluster that cannot be read is found out before the first member stops."""
    world = world_before(Stage.QUIESCE)
    world.down.add(cluster)
    with pytest.raises(WorldError):
        run_stage(world, Stage.QUIESCE)
    assert written(world) == []
    assert not world.writable("west")


def test_reads_and_writes_go_on_while_heartbeats_are_held() -> None:
    world = world_before(Stage.QUIESCE)
    before = len(world.acknowledged), len(world.group.consumed)
    run_stage(world, Stage.QUIESCE)
    assert (len(world.acknowledged), len(world.group.consumed)) > before


def test_a_broker_that_has_not_heard_who_may_write_is_waited_for_before_anybody_notices() -> None:
    """One that had lost ZooKeeper for a moment refused a producer after forward; librdkafka does not try that again."""
    world = world_before(Stage.QUIESCE)
    world.late_brokers = [[2], [2], []]
    run_stage(world, Stage.QUIESCE)
    assert world.late_brokers == []
    assert written(world)[-1] == ("east", BindingState.QUIESCE)


def test_one_that_never_hears_it_ends_the_switch_with_nothing_written() -> None:
    world = world_before(Stage.QUIESCE)
    world.late_brokers = [[2]] * 10_000
    assert failure(world, Stage.QUIESCE, limits=Limits()) == (
        "Broker 2 of west has not heard within 45.0 s who may write there. "
        "Is its connection to ZooKeeper, or to its controller, whole?"
    )
    assert written(world) == []


def test_nobody_is_held_before_clients_of_a_gateway_that_has_gone_could_come_back() -> None:
    """They send again what was not answered: to the source, which may have it already, and not to the target."""
    world = world_before(Stage.QUIESCE)
    until = world.expected_back["gw-3"] = world.now + 12
    for command in steps(world, Stage.QUIESCE, Limits()):
        assert world.now >= until or not writes(command)
    assert "Waiting 12 s for clients of Gateway gw-3, which has gone, to come back." in world.said
    assert written(world)[-1] == ("east", BindingState.QUIESCE)


def test_who_waits_for_them_for_too_long_asks_again() -> None:
    world = world_before(Stage.QUIESCE)
    world.expected_back = {"gw-3": world.now + 300}
    assert failure(world, Stage.QUIESCE, limits=Limits(quiesce=45)) == (
        "For 45 s Gateways have gone (gw-3) whose clients may send again what was not answered. "
        "Ask for the switch again in 255 s."
    )
    assert written(world) == []


def test_a_gateway_that_goes_before_the_block_is_in_effect_ends_the_switch() -> None:
    world = world_before(Stage.BLOCK)
    world.expected_back["gw-3"] = world.now + 30
    assert failure(world, Stage.BLOCK) == (
        "Gateway gw-3 has gone since the switch began, and its clients may send again what it had not answered. "
        "Ask for the switch again in 30 s."
    )


def test_quiesce_without_members() -> None:
    world = world_before(Stage.QUIESCE, World.without_members)
    assert run_stage(world, Stage.QUIESCE) == "No consumer is in a group: nothing to quiesce."


def test_quiesce_without_groups() -> None:
    world = world_before(Stage.QUIESCE, World.without_members, plan=WITHOUT_GROUPS)
    assert run_stage(world, Stage.QUIESCE) == "No consumer is in a group: nothing to quiesce."


def test_a_member_that_does_not_quiesce() -> None:
    world = world_before(Stage.QUIESCE)
    world.group.members[1].deaf = True
    assert failure(world, Stage.QUIESCE, limits=Limits()) == (
        "Member bill-2-m of group billing did not commit and rejoin within 45.0 s. Does it use the Gateway?"
    )


def test_a_member_that_hears_late_is_waited_for() -> None:
    world = world_before(Stage.QUIESCE)
    world.clients["bill-2"].reacts_after = 1.5  # longer than heartbeats are held
    assert (
        run_stage(world, Stage.QUIESCE) == "Every group member has committed and waits to rejoin (2 in all)."
    )


def test_a_member_that_is_rejoining_already_has_quiesced() -> None:
    world = world_before(Stage.QUIESCE)
    for member in world.group.members:
        world.group.commit(member)
    world.reading = {}  # as noted before it began to rejoin
    world.group.members[0].state = "joining"
    world.group.members[1].deaf, world.group.members[1].state = True, "active"
    assert failure(world, Stage.QUIESCE).startswith("Member bill-2-m of group billing did not")


def test_a_member_that_leaves_is_not_waited_for() -> None:
    world = world_before(Stage.QUIESCE)
    world.group.members[1].deaf = True
    sentence = run_stage(world, Stage.QUIESCE, faults=[Fault(Stage.QUIESCE, 14, "a client ends")])
    assert sentence == "Every group member has committed and waits to rejoin (1 in all)."


@pytest.mark.parametrize(
    ("state", "epoch", "at"),
    [(BindingState.HOLD_HEARTBEATS, 8, do.WriteBindings), (BindingState.QUIESCE, 9, do.ReadQuiesced)],
)
def test_a_gateway_that_does_not_quiesce(state: BindingState, epoch: int, at: type[Command[Any]]) -> None:
    world = world_before(Stage.QUIESCE)
    found = failure(world, Stage.QUIESCE, Fault(Stage.QUIESCE, at, "gw-2 sticks"))
    assert found == f"gw-2 did not put epoch {epoch} into effect within 1 s."
    assert written(world)[-1] == ("east", state)


def test_members_are_told_to_rejoin_together() -> None:
    """One that hears earlier would wait for the others, and its partitions with it."""
    world = world_before(Stage.QUIESCE)
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.QUIESCE):
            assert [member.state for member in world.group.members] == ["held", "held"]


def test_a_member_whose_heartbeat_cannot_be_held_is_told_all_the_same() -> None:
    world = world_before(Stage.QUIESCE)
    world.clients["bill-2"].reacts_after = 1.0
    began = world.now
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.QUIESCE):
            assert [member.state for member in world.group.members] == ["held", "active"]
            assert world.now - began < QUICK.hold_heartbeats + 0.3


def test_a_member_that_joins_during_quiesce_commits_too() -> None:
    """Otherwise it goes on from an old commit on the target: its records are consumed twice."""
    world = world_before(Stage.QUIESCE)
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.HOLD_HEARTBEATS):  # the members have been read
            world.join("bill-3", reacts_after=0.8)
            world.later(0.1)
    assert [member.state for member in world.group.members] == ["parked"] * 3


def test_a_member_that_joins_during_quiesce_repeats_nothing() -> None:
    world = world_before(Stage.QUIESCE)
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.HOLD_HEARTBEATS):
            world.join("bill-3", reacts_after=0.8)
            world.later(0.1)
    for stage in (Stage.BLOCK, Stage.DRAIN, Stage.TRANSLATE, Stage.FORWARD, Stage.REVERSE, Stage.VERIFY):
        run_stage(world, stage)
    world.later(2.0)


def test_a_late_joiner_is_waited_for_though_the_others_have_quiesced_already() -> None:
    world = world_before(Stage.QUIESCE)
    world.gateways["gw-1"].applies_after = 0.5  # all consumers are at the other one
    world.clients["bill-1"].gateway = world.gateways["gw-2"]
    for command in steps(world, Stage.QUIESCE):
        if command == do.WriteBindings("east", BindingState.HOLD_HEARTBEATS):
            world.join("bill-3", reacts_after=0.8)
            world.later(0.1)
    assert [member.state for member in world.group.members] == ["parked"] * 3


def test_a_consumer_that_comes_when_nobody_had_to_quiesce_repeats_nothing() -> None:
    world = world_before(Stage.QUIESCE, World.without_members)
    assert run_stage(world, Stage.QUIESCE) == "No consumer is in a group: nothing to quiesce."
    world.join("bill-3")
    world.later(0.1)
    for stage in WAY[WAY.index(Stage.BLOCK) :]:
        run_stage(world, stage)
    world.later(1.0)


# -- block ---------------------------------------------------------------------------------------------------------


def test_block() -> None:
    world = world_before(Stage.BLOCK)
    assert run_stage(world, Stage.BLOCK) == "Writes to east are blocked, nothing is in flight (epoch 10)."
    count = len(world.acknowledged)
    world.later(1.0)
    assert len(world.acknowledged) == count


def test_a_gateway_that_does_not_block() -> None:
    world = world_before(Stage.BLOCK)
    world.gateways["gw-2"].stuck = True
    assert (
        failure(world, Stage.BLOCK, limits=Limits()) == "gw-2 did not put epoch 10 into effect within 10.0 s."
    )
    assert world.said == ["Waiting for gw-2 to apply epoch 10 (1 of 2 have)."]


def test_several_gateways_that_do_not_block() -> None:
    world = world_before(Stage.BLOCK)
    for gateway in world.gateways.values():
        gateway.stuck = True
    assert failure(world, Stage.BLOCK) == "gw-1, gw-2 did not put epoch 10 into effect within 1 s."


def test_a_slow_gateway_is_waited_for_and_named_once() -> None:
    world = world_before(Stage.BLOCK)
    world.gateways["gw-1"].applies_after = 3.0
    run_stage(world, Stage.BLOCK, Limits())
    assert world.said == ["Waiting for gw-1 to apply epoch 10 (1 of 2 have)."]


def test_an_excluded_gateway_is_not_waited_for() -> None:
    world = world_before(Stage.BLOCK)
    world.gateways["gw-2"].stuck = world.gateways["gw-2"].excluded = True
    world.gateways["gw-2"].live = False
    run_stage(world, Stage.BLOCK)


def test_an_excluded_gateway_that_runs_is_waited_for_and_it_is_said_what_to_do() -> None:
    """It was excluded because somebody said that its process was gone."""
    world = world_before(Stage.BLOCK)
    world.gateways["gw-2"].stuck = world.gateways["gw-2"].excluded = True
    assert failure(world, Stage.BLOCK) == EXCLUDED_AND_RUNNING


def test_precheck_refuses_while_an_excluded_gateway_runs() -> None:
    world = World(traffic=False)
    world.gateways["gw-2"].excluded = True
    assert failure(world, Stage.PRECHECK) == EXCLUDED_AND_RUNNING


def test_a_gateway_that_is_not_live_is_waited_for() -> None:
    """Nobody knows what it lets through."""
    world = world_before(Stage.BLOCK)
    world.gateways["gw-2"].stuck, world.gateways["gw-2"].live = True, False
    assert failure(world, Stage.BLOCK) == "gw-2 did not put epoch 10 into effect within 1 s."


# -- drain ---------------------------------------------------------------------------------------------------------

DRAINED = "The mirror is drained: every partition ends with the same records on both sides (3 in all)."


def test_drain() -> None:
    world = world_before(Stage.DRAIN)
    assert run_stage(world, Stage.DRAIN) == DRAINED
    assert world.drained is not None
    for partition, point in world.drained.items():
        assert point.source == world.logs["east"][partition].end
        assert point.target == world.logs["west"][partition].end


def test_drain_waits_for_a_mirror_that_is_behind() -> None:
    world = world_before(Stage.DRAIN, traffic=False)
    _lag(world, 30)
    world.mirror.rate = 20
    assert run_stage(world, Stage.DRAIN, Limits()) == DRAINED
    assert world.said == ["Waiting for the mirror: 21 records to go."]


def test_a_mirror_that_does_not_drain() -> None:
    world = world_before(Stage.DRAIN, traffic=False)
    _lag(world, 7)
    assert failure(world, Stage.DRAIN, limits=Limits()) == "The mirror still lacks 7 records after 10.0 s."
    assert world.drained is None


def test_a_mirror_that_somebody_else_has_written_to() -> None:
    world = world_before(Stage.DRAIN)
    world.write_past("west", ORDERS_1, count=2)
    found = failure(world, Stage.DRAIN)
    assert found == "The mirror of orders-1 holds 2 records that its source does not."


def test_a_write_to_the_mirror_that_hides_a_missing_record() -> None:
    """By count both sides are equal: only the tails show it."""
    world = world_before(Stage.DRAIN, traffic=False)
    world.mirror.rate = 0
    world._write("east", ORDERS_1)
    world.write_past("west", ORDERS_1)
    found = failure(world, Stage.DRAIN)
    assert found == "The last 16 records of orders-1 differ between the clusters (1 of them)."


def test_a_partition_without_an_anchor() -> None:
    world = world_before(Stage.DRAIN)
    del world.mirror.anchors[ORDERS_1]
    found = failure(world, Stage.DRAIN)
    assert found == "Partition orders-1 has no known point at which both sides correspond."


def test_tails_that_differ() -> None:
    world = world_before(Stage.DRAIN)
    world.damage("west", ORDERS_0)
    found = failure(world, Stage.DRAIN)
    assert found == "The last 16 records of orders-0 differ between the clusters (1 of them)."
    assert world.drained is None


def test_retention_on_one_side_does_not_matter() -> None:
    world = world_before(Stage.DRAIN)
    log = world.logs["west"][ORDERS_0]
    log.expire(len(log.records) - 3)
    world.logs["east"][ORDERS_1].expire(5)
    assert run_stage(world, Stage.DRAIN) == DRAINED


def test_a_source_that_still_grows() -> None:
    world = world_before(Stage.DRAIN)
    fault = Fault(Stage.DRAIN, do.Together, "the source is written past the Gateways")
    assert failure(world, Stage.DRAIN, fault) == (
        "east still grows although its writes are blocked: somebody writes past the Gateway."
    )
    assert world.drained is None


def test_a_source_that_grows_between_the_reads_is_not_blamed_on_the_mirror() -> None:
    """What it wrote before the proof is copied like everything else."""
    world = world_before(Stage.DRAIN)
    fault = Fault(Stage.DRAIN, 3, "the source is written past the Gateways")  # the first ends have been read
    assert run_stage(world, Stage.DRAIN, faults=[fault]) == DRAINED


# -- translate -----------------------------------------------------------------------------------------------------


def test_translate() -> None:
    world = world_before(Stage.TRANSLATE)
    assert run_stage(world, Stage.TRANSLATE) == "Group offsets are set on west and read back (2 in all)."
    for partition in world.group.partitions:
        here, there = (world.group.committed[cluster][partition] for cluster in ("east", "west"))
        east, west = (world.logs[cluster][partition] for cluster in ("east", "west"))
        assert here != there  # the clusters count differently
        assert east.end - here == west.end - there


def test_a_consumer_that_is_behind_goes_on_with_the_same_record() -> None:
    world = world_before(Stage.TRANSLATE)
    world.group.committed["east"][ORDERS_0] -= 5
    run_stage(world, Stage.TRANSLATE)
    next_here = world.logs["east"][ORDERS_0].at(world.group.committed["east"][ORDERS_0])
    next_there = world.logs["west"][ORDERS_0].at(world.group.committed["west"][ORDERS_0])
    assert next_here == next_there is not None


def copied_twice(world: World, partition: Partition, side: str, count: int) -> None:
    """The mirror has written records before the last 20 once more, and has been counted again from there on."""
    records = world.logs[side][partition].records
    records[-20:-20] = records[-20 - count : -20]


def test_a_group_before_what_the_mirror_has_copied_twice_would_read_other_records() -> None:
    """What comes after is translated exactly; it is not."""
    world = world_before(Stage.DRAIN)
    for _ in range(40):
        world._write("east", ORDERS_0)
    run_stage(world, Stage.DRAIN)
    world.tampered = True  # the group stands where it did not put itself
    copied_twice(world, ORDERS_0, "west", 4)
    ends = {p: OffsetSync(world.logs["east"][p].end, world.logs["west"][p].end) for p in PARTITIONS}
    world.drained = ends
    committed = world.group.committed["east"]
    committed[ORDERS_0] = ends[ORDERS_0].source - 30
    assert "records of orders-0 differ between the clusters" in failure(world, Stage.TRANSLATE)
    committed[ORDERS_0] = ends[ORDERS_0].source - 18
    run_stage(world, Stage.TRANSLATE)
    assert world.group.committed["west"][ORDERS_0] == ends[ORDERS_0].target - 18


def test_translate_without_groups() -> None:
    world = world_before(Stage.TRANSLATE, World.without_members, plan=WITHOUT_GROUPS)
    assert run_stage(world, Stage.TRANSLATE) == "No consumer group moves: no offsets to translate."


def test_a_group_without_members_that_has_never_committed() -> None:
    """Its next member begins where its auto.offset.reset says, as it would on the source."""
    world = world_before(Stage.TRANSLATE, World.without_members)
    world.group.committed["east"].clear()
    assert run_stage(world, Stage.TRANSLATE) == "Group offsets are set on west and read back (0 in all)."


def _began(world: World, partition: Partition) -> int:
    return min(o for (_, at, p), o in world.group.fetched.items() if (at, p) == ("east", partition))


def test_quiesce_notes_where_members_read_what_they_have_not_committed() -> None:
    """When they rejoin their coordinator tells no more who reads what."""
    world = world_before(Stage.QUIESCE, traffic=False)
    del world.group.committed["east"][ORDERS_1]
    run_stage(world, Stage.QUIESCE)
    assert world.reading == {"billing": {ORDERS_1: _began(world, ORDERS_1)}}


def test_a_group_that_rebalances_is_waited_for_before_its_members_are_asked_to_rejoin() -> None:
    world = world_before(Stage.QUIESCE)
    world.group.members[0].state = "joining"
    assert (
        run_stage(world, Stage.QUIESCE) == "Every group member has committed and waits to rejoin (2 in all)."
    )


def test_one_that_goes_on_rebalancing_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows which of its members reads what: where they have committed nothing they would skip records."""
    world = world_before(Stage.QUIESCE)
    monkeypatch.setattr(World, "_answer", _rebalancing(World._answer))
    assert failure(world, Stage.QUIESCE) == (
        "Group billing rebalances, so it is not known which of its members read which partitions. Ask "
        "again when it is stable."
    )
    assert not written(world), "nobody was asked to rejoin"


def _rebalancing(answer: Callable[[World, Command[Any]], Any]) -> Callable[[World, Command[Any]], Any]:
    def answered(world: World, command: Command[Any]) -> Any:
        return {"billing": None} if isinstance(command, do.ReadAssigned) else answer(world, command)

    return answered


def test_members_that_have_never_committed_go_on_where_they_began() -> None:
    """What they have read since then nobody knows but they."""
    world = world_before(Stage.TRANSLATE)
    world.reading = {"billing": {p: _began(world, p) for p in world.group.partitions}}
    world.group.committed["east"].clear()
    assert run_stage(world, Stage.TRANSLATE) == "Group offsets are set on west and read back (2 in all)."
    for partition in world.group.partitions:
        began = _began(world, partition)
        here, there = world.logs["east"][partition], world.logs["west"][partition]
        assert there.at(world.group.committed["west"][partition]) == here.at(began)
    assert world.said[-1] == (
        "Group billing has committed nothing of orders-0, orders-1: its members go on where they read."
    )


UNKNOWN = (
    "It is not known where group billing reads orders-1 on east: the group has committed nothing there, "
    "and no Gateway has seen its "
    "members fetch from it. Let them commit once, or restart them, then ask again."
)


def _unseen(world: World) -> None:
    """A Gateway that has just started has not seen its clients fetch yet."""
    world.sees_fetches = False
    del world.group.committed["east"][ORDERS_1]


@pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.QUIESCE])
def test_where_nobody_knows_the_position_of_a_member_nobody_is_moved(stage: Stage) -> None:
    world = world_before(stage, traffic=False)
    _unseen(world)
    assert failure(world, stage) == UNKNOWN


def test_of_an_empty_partition_every_position_is_its_end() -> None:
    world = world_before(Stage.QUIESCE, traffic=False)
    _unseen(world)
    log = world.logs["east"][ORDERS_1]
    log.expire(len(log.records))
    run_stage(world, Stage.QUIESCE)
    assert world.reading == {"billing": {ORDERS_1: log.end}}


def test_metadata_of_commits_is_carried_over() -> None:
    world = world_before(Stage.TRANSLATE)
    run_stage(world, Stage.TRANSLATE)
    assert world.group.metadata["west"] == world.group.metadata["east"]
    assert set(world.group.metadata["west"].values()) == {"by bill-1", "by bill-2"}


@pytest.mark.parametrize(
    ("stood", "sentence"),
    [
        (None, "Group billing on west stands at ? on orders-1 instead of {wanted}."),
        (3, "Group billing on west stands at 3 on orders-1 instead of {wanted}."),
    ],
)
def test_an_offset_that_is_not_read_back(stood: int | None, sentence: str) -> None:
    world = world_before(Stage.TRANSLATE, traffic=False)
    world.forgets = ORDERS_1
    if stood is not None:
        world.group.committed["west"][ORDERS_1] = stood
    wanted = world.logs["west"][ORDERS_1].end
    assert failure(world, Stage.TRANSLATE) == sentence.format(wanted=wanted)


def test_a_group_that_is_in_use_on_the_target() -> None:
    world = world_before(Stage.TRANSLATE)
    world.group.members[0].cluster = world.clients["bill-1"].cluster = "west"
    with pytest.raises(WorldError, match="its offsets cannot be written"):
        run_stage(world, Stage.TRANSLATE)


@pytest.mark.parametrize("stage", [Stage.TRANSLATE, Stage.REVERSE, Stage.VERIFY])
def test_without_the_drained_point_nothing_goes_on(stage: Stage) -> None:
    world = world_before(stage)
    world.drained = None
    assert failure(world, stage) == "The drained point of this switch is not known."


def _behind_what_west_has(world: World) -> None:
    """The group has still to read three records that retention has taken on the target only."""
    log = world.logs["east"][ORDERS_0]
    world.group.stuck = True
    world.group.committed["east"][ORDERS_0] = log.start + 2
    world.logs["west"][ORDERS_0].expire(5)


SKIPPED = "Group billing has still to read 3 records of orders-0 that west has deleted already. Let it catch up first."


@pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.TRANSLATE])
def test_what_a_group_has_still_to_read_is_not_skipped(stage: Stage) -> None:
    """It is said before a client notices anything, and looked at again while nobody reads or writes."""
    world = world_before(stage, traffic=False)
    _behind_what_west_has(world)
    before = dict(world.group.committed["west"])
    assert failure(world, stage) == SKIPPED
    assert world.group.committed["west"] == before


@pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.TRANSLATE])
def test_what_the_source_has_deleted_too_cannot_be_skipped(stage: Stage) -> None:
    world = world_before(stage, traffic=False)
    _behind_what_west_has(world)
    world.logs["east"][ORDERS_0].expire(5)
    run_stage(world, stage)


def test_an_offset_that_only_the_target_has() -> None:
    """The group has it from an earlier stay; on the source it has none, so it would go on at an old record."""
    world = world_before(Stage.TRANSLATE, World.without_members)
    del world.group.committed["east"][ORDERS_1]
    world.group.committed["west"][ORDERS_1] = 4
    run_stage(world, Stage.TRANSLATE)
    assert ORDERS_1 not in world.group.committed["west"]


def test_offsets_of_topics_that_do_not_move_stay() -> None:
    world = world_before(Stage.TRANSLATE, World.without_members)
    yearly = Partition("yearly", 0)
    del world.group.committed["east"][ORDERS_1]
    world.group.committed["west"] = {ORDERS_1: 4, yearly: 7}
    run_stage(world, Stage.TRANSLATE)
    assert ORDERS_1 not in world.group.committed["west"]
    assert world.group.committed["west"][yearly] == 7


# -- forward -------------------------------------------------------------------------------------------------------


def test_forward() -> None:
    world = world_before(Stage.FORWARD)
    assert run_stage(world, Stage.FORWARD) == "shop is on west (epoch 11)."
    world.later(1.0)
    assert {client.cluster for client in world.clients.values()} == {"west"}


def test_the_old_mirror_is_paused_before_the_clients_go_over() -> None:
    """A Connect worker that starts again would copy from its last committed offset: old records, behind new ones."""
    world = world_before(Stage.FORWARD)
    assert (world.mirror.turning, world.mirror.state) == (True, "paused")
    run_stage(world, Stage.FORWARD)
    run_stage(world, Stage.REVERSE)
    assert not world.mirror.turning


def test_a_return_lets_the_mirror_go_on() -> None:
    world = world_before(Stage.TRANSLATE)
    assert world.mirror.state == "paused"
    run_stage(world, Stage.RETURN)
    assert (world.mirror.turning, world.mirror.state) == (False, "running")


def test_a_gateway_that_does_not_forward() -> None:
    """It still blocks, so nothing reaches the source."""
    world = world_before(Stage.FORWARD)
    world.gateways["gw-2"].stuck = True
    assert failure(world, Stage.FORWARD) == "gw-2 did not put epoch 11 into effect within 2 s."


# -- reverse -------------------------------------------------------------------------------------------------------


def test_reverse() -> None:
    world = world_before(Stage.REVERSE)
    assert run_stage(world, Stage.REVERSE) == "The mirror copies from west to east."
    assert not world.writable("east")
    assert (world.mirror.source, world.mirror.target) == ("west", "east")


def test_what_is_written_on_the_target_comes_back_once() -> None:
    world = world_before(Stage.REVERSE)
    run_stage(world, Stage.REVERSE)
    world.later(1.0)
    world.traffic = False
    world.later(0.5)
    for partition, log in world.logs["west"].items():
        assert set(log.records) == set(world.logs["east"][partition].records)
    assert world.repeated() == []


def test_a_mirror_that_does_not_turn() -> None:
    world = world_before(Stage.REVERSE)
    world.mirror.never_turns = True
    found = failure(world, Stage.REVERSE)
    assert found == "Mirror shop does not run in the new direction: restart its connector."


def test_a_record_written_past_the_gateways_after_the_proof_is_not_copied_back() -> None:
    world = World()
    Walk(world, [Fault(Stage.TRANSLATE, 0, "the source is written past the Gateways")]).run()
    assert world.repeated() == []


# -- verify --------------------------------------------------------------------------------------------------------


def test_verify() -> None:
    world = world_before(Stage.VERIFY)
    assert run_stage(world, Stage.VERIFY) == "Every client works on west (3 in all)."


def test_verify_without_clients() -> None:
    """A switch of an AppID whose clients were all stopped."""
    world = World()
    world.clients.clear()
    world.without_members()
    for stage in WAY:
        sentence = run_stage(world, stage)
    assert sentence == "Every client works on west (0 in all)."


def test_verify_holds_for_a_while() -> None:
    world = world_before(Stage.VERIFY)
    began = world.now
    run_stage(world, Stage.VERIFY, replace(QUICK, verify_hold=1.0))
    assert world.now - began >= 1.0


def test_a_client_that_goes_away_again() -> None:
    world = world_before(Stage.VERIFY)
    found = failure(world, Stage.VERIFY, Fault(Stage.VERIFY, 9, "a client ends"))
    assert found == "Waiting for bill-2 to be seen on west."


def test_a_client_that_is_missing_for_a_moment_starts_the_wait_anew() -> None:
    world = world_before(Stage.VERIFY)
    world.later(1.0)
    began = world.now
    for _ in steps(world, Stage.VERIFY, replace(QUICK, verify_hold=0.5)):
        world.clients["web-1"].gone = 0.3 <= world.now - began < 0.4
    assert world.now - began >= 0.4 + 0.5


def test_clients_that_stay_on_the_source() -> None:
    world = world_before(Stage.FORWARD)
    world.clients["bill-2"].follows = world.clients["web-1"].follows = False
    run_stage(world, Stage.FORWARD)
    run_stage(world, Stage.REVERSE)
    found = failure(world, Stage.VERIFY)
    assert found == "Waiting for bill-2, web-1 to be seen on west."


def test_a_group_that_has_nobody_on_the_target() -> None:
    world = world_before(Stage.VERIFY)
    world.without_members()
    assert failure(world, Stage.VERIFY) == "Waiting for group billing to have members on west."


def test_writes_that_do_not_come_back() -> None:
    world = world_before(Stage.FORWARD)
    world.clients["web-1"].produces = False
    run_stage(world, Stage.FORWARD)
    run_stage(world, Stage.REVERSE)
    assert failure(world, Stage.VERIFY) == "Waiting for writes to carts, orders to arrive on west."


def test_a_group_that_has_members_and_does_not_read() -> None:
    world = world_before(Stage.VERIFY)
    world.group.stuck = True
    assert failure(world, Stage.VERIFY) == "Waiting for orders to be read on west."


def test_a_group_that_has_nothing_to_read_is_not_waited_for() -> None:
    world = world_before(Stage.FORWARD)
    world.seen = do.RecordSeen(world.seen.clients, world.seen.groups, (("consume", "orders"),))
    world.traffic = False
    for stage in (Stage.FORWARD, Stage.REVERSE, Stage.VERIFY):
        sentence = run_stage(world, stage)
    assert sentence == "Every client works on west (3 in all)."


def test_a_turned_mirror_that_has_copied_twice_is_no_writer_as_soon_as_it_is_counted_anew() -> None:
    world = world_before(Stage.VERIFY)
    world.tampered = True
    copies = world.logs["east"][ORDERS_1]
    copies.records += copies.records[-3:]
    assert "somebody still writes there" in failure(world, Stage.VERIFY)
    anchor = world.mirror.anchors[ORDERS_1]
    world.mirror.anchors[ORDERS_1] = OffsetSync(anchor.source, anchor.target + 3)
    assert run_stage(world, Stage.VERIFY) == "Every client works on west (3 in all)."


def test_a_client_that_still_writes_to_the_source() -> None:
    world = world_before(Stage.VERIFY)
    world.write_past("east", ORDERS_1, count=3)
    assert failure(world, Stage.VERIFY) == (
        "orders-1 on east has 3 records that west has not: somebody still writes there."
    )


def test_what_the_mirror_brings_back_is_not_taken_for_a_write() -> None:
    world = world_before(Stage.VERIFY)
    world.later(5.0)
    assert run_stage(world, Stage.VERIFY) == "Every client works on west (3 in all)."


def test_a_stray_write_is_seen_although_the_turned_mirror_is_behind() -> None:
    world = world_before(Stage.VERIFY)
    world.mirror.rate = 20
    world.later(1.0)
    world.write_past("east", ORDERS_1, count=3)
    assert failure(world, Stage.VERIFY) == (
        "east has other records than west since the switch: somebody still writes there."
    )
    assert world.said[-1].startswith("The last 16 records of orders-1 differ between the clusters")


# -- return --------------------------------------------------------------------------------------------------------

BEFORE_FORWARD = [Stage.QUIESCE, Stage.BLOCK, Stage.DRAIN, Stage.TRANSLATE]


@pytest.mark.parametrize("stage", [*BEFORE_FORWARD, Stage.FORWARD])
def test_return_from_where_a_stage_would_begin(stage: Stage) -> None:
    before = World().situation()
    world = world_before(stage)
    assert run_stage(world, Stage.RETURN) == "shop works on east as before."
    assert world.situation() == before


def test_after_a_return_everybody_works_on() -> None:
    world = world_before(Stage.FORWARD)
    run_stage(world, Stage.RETURN)
    count = len(world.acknowledged)
    world.later(2.0)
    assert len(world.acknowledged) > count
    world.traffic = False
    world.later(0.5)
    assert world.unconsumed() == set()


def test_a_gateway_that_does_not_return() -> None:
    world = world_before(Stage.DRAIN)
    world.gateways["gw-1"].stuck = True
    assert failure(world, Stage.RETURN) == "gw-1 did not put epoch 11 into effect within 2 s."


def test_the_clients_are_released_before_the_target_is_closed() -> None:
    """A target that is down must not keep the clients waiting."""
    world = world_before(Stage.DRAIN)
    world.down.add("west")
    with pytest.raises(WorldError):
        run_stage(world, Stage.RETURN)
    count = len(world.acknowledged)
    world.later(0.5)
    assert len(world.acknowledged) > count


# -- killed and begun again ----------------------------------------------------------------------------------------


#: Stages that a switch comes to which has a source; the others are in test_forcing.
WITH_A_SOURCE = (*WAY, Stage.RETURN, Stage.REHEARSE)


def quiet_world_before(stage: Stage) -> World:
    """Without traffic, so that two runs can be compared."""
    return world_before(Stage.FORWARD if stage is Stage.RETURN else stage, traffic=False)


def commands_of(stage: Stage) -> range:
    """The numbers of the commands that a stage takes when it goes well."""
    world = quiet_world_before(stage)
    return range(sum(1 for _ in steps(world, stage)))


@pytest.mark.parametrize("stage", WITH_A_SOURCE)
def test_a_stage_that_is_run_twice_comes_to_the_same_end(stage: Stage) -> None:
    world = quiet_world_before(stage)
    run_stage(world, stage)
    once = world.kept()
    run_stage(world, stage)
    assert world.kept() == once


@pytest.mark.parametrize("when", ["killed before", "killed after"])
@pytest.mark.parametrize("stage", WITH_A_SOURCE)
def test_a_stage_that_is_cut_off_anywhere_comes_to_the_same_end(stage: Stage, when: str) -> None:
    uninterrupted = quiet_world_before(stage)
    run_stage(uninterrupted, stage)
    for at in commands_of(stage):
        world = quiet_world_before(stage)
        with pytest.raises(Killed):
            run_stage(world, stage, faults=[Fault(stage, at, when)])
        run_stage(world, stage)
        assert world.kept() == uninterrupted.kept(), f"cut off at command {at}"


@pytest.mark.parametrize("stage", BEFORE_FORWARD)
def test_a_return_from_wherever_a_stage_was_cut_off(stage: Stage) -> None:
    before = World().situation()
    for at in commands_of(stage):
        world = world_before(stage)
        with pytest.raises(Killed):
            run_stage(world, stage, faults=[Fault(stage, at, "killed after")])
        run_stage(world, Stage.RETURN)
        assert world.situation() == before, f"cut off at command {at}"


# -- groups before offsets without a record ------------------------------------------------------------------------


class TestOffsetsWithoutARecord:
    """Transaction markers have an offset on the source and no copy: counted from the end, a group behind them
    is moved to another record than the next one.
    """

    MARKERS = 5
    SENTENCE = (
        "Group billing stands on orders-0 before offsets that hold a record on one cluster only (markers "
        "of transactions, or "
        "compacted), so it is not known where it goes on on west. Let it catch up first."
    )

    def world(self, stage: Stage, *, reads: int) -> World:
        """A group that has still to read ``reads`` records before the markers that the mirror has been counted over."""
        world = world_before(stage, lambda w: setattr(w, "traffic", False))
        here, there = world.logs["east"][ORDERS_0], world.logs["west"][ORDERS_0]
        end = OffsetSync(here.end, there.end)
        here.records += [MARKER] * self.MARKERS
        world.mirror.anchors = {**world.mirror.anchors, ORDERS_0: OffsetSync(here.end, there.end)}
        world.mirror.position[ORDERS_0] = here.end
        if world.drained is not None:
            world.drained = {**world.drained, ORDERS_0: OffsetSync(here.end, there.end)}
        world.group.stuck = True
        world.group.committed["east"][ORDERS_0] = end.source - reads
        return world

    @pytest.mark.parametrize("stage", [Stage.PRECHECK, Stage.TRANSLATE])
    @pytest.mark.parametrize("reads", [1, 3])
    def test_a_group_before_them_does_not_move(self, stage: Stage, reads: int) -> None:
        assert failure(self.world(stage, reads=reads), stage) == self.SENTENCE

    def test_one_behind_them_does(self) -> None:
        world = self.world(Stage.TRANSLATE, reads=-self.MARKERS)
        run_stage(world, Stage.TRANSLATE)
        assert world.group.committed["west"][ORDERS_0] == world.logs["west"][ORDERS_0].end
