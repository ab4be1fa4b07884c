"""A forced switch over the simulated pair: the source is lost, and what is lost with it is counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.dialect import Waiting
from hadash.bindings.membership import not_told
from hadash.bindings.model import BindingState
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence
from hadash.switching.machines.switches import Kind, Stage, Status
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import LastKnown, QuotasFound, UsersFound
from hadash.switching.stages.command import Command
from hadash.switching.stages.run import StageFailed

from .parts import Broken
from .walking import Ended, Fault, Walk, run_stage
from .world import ORDERS_0, ORDERS_1, PARTITIONS, WHOLE, World

FORCED = replace(WHOLE, kind=Kind.FORCED)

#: Seconds between two looks at the source.
LOOK_SECONDS = 0.5


class LostWorld(World):
    """A world that is looked at now and then, until its source is lost."""

    def __init__(self, **options: Any) -> None:
        super().__init__(FORCED, **options)
        self.group.reread = []
        self.ends: dict[Partition, int] = {}
        self.positions: dict[str, dict[Partition, int]] = {}
        self.looked_at: float | None = None
        self.loss: do.RecordLoss | None = None
        #: By how many records less than it has copied Connect knows: the connector's tasks had failed.
        self.uncommitted = 0
        #: Records that west holds twice before the offset syncs.
        self.held_twice = dict.fromkeys(PARTITIONS, 0)
        self.tail: dict[Partition, OffsetSync] | None = None
        #: East answers, but not for every partition.
        self.leaderless = False

    def lose(self, lag: int = 0) -> None:
        """East is gone, when its mirror had ``lag`` records of each partition still to copy."""
        self.look()
        if lag:
            self.mirror.rate = 0
            for partition in PARTITIONS:
                for _ in range(lag):
                    self.write("east", partition)
        self.down.add("east")
        self.traffic = False

    def copy_twice(self, partition: Partition, count: int) -> None:
        """A Connect worker has died: the last ``count`` records are in west a second time, at the end."""
        self.tampered = True
        log = self.logs["west"][partition]
        for record in log.records[len(log.records) - count :]:
            log.append(record)

    def count_anew(self, partition: Partition) -> None:
        """hadash has found out what was copied twice."""
        syncs, end = self.mirror.syncs, self.logs["west"][partition].end
        point, before = OffsetSync(self.mirror.position[partition], end), syncs[partition]
        self.held_twice[partition] += (point.target - point.source) - (before.target - before.source)
        self.mirror.syncs = {**syncs, partition: point}

    def look(self) -> None:
        self.ends = {p: log.end for p, log in self.logs["east"].items()}
        commits = {p: Committed(offset, "noted") for p, offset in self.group.committed["east"].items()}
        self.positions = {"billing": commits}
        self.looked_at = self.now

    def answer(self, command: Command[Any]) -> Any:
        match command:
            case do.CheckLost():
                return "east" in self.down or self.leaderless
            case do.ReadNotTold(epoch):
                members = [gateway.member for gateway in self.gateways.values()]
                return Waiting(tuple(m.id for m in not_told(members, epoch)), len(members))
            case do.HoldMirrors():
                self.mirror.turning, self.mirror.state = True, "stopped"
            case do.ReadLastKnown():
                age = None if self.looked_at is None else self.now - self.looked_at
                return LastKnown(self.ends, age, self.positions, age)
            case do.ReadCopied():
                position = self.mirror.position
                return {
                    p: at - 1 - self.uncommitted
                    for p, at in position.items()
                    if at - self.uncommitted > self.mirror.syncs[p].source
                }
            case do.ReadRepeated():
                return dict(self.held_twice)
            case do.RecordLoss():
                self.loss = command
            case do.ReadProved():
                return None if self.loss is None else dict(self.loss.proved)
            case do.AwaitUnreplicated(ends):
                self.tail = dict(ends)
            case do.ReadUsers():
                return UsersFound(sorted(self.clients), ["billing"])
            case _:
                return super().answer(command)
        return None

    def heal(self) -> None:
        """What a person can repair; east stays lost."""
        state, rate = self.mirror.state, self.mirror.rate
        super().heal()
        self.down.add("east")
        self.mirror.state, self.mirror.rate = state, rate

    def check_forward(self) -> None:
        if self.resolve(self.table, None)[0] == "west":
            return  # it has been sent over by an earlier attempt
        for gateway in self.gateways.values():
            if not gateway.excluded and self.resolve(gateway.table, None) != ("east", BindingState.BLOCK):
                raise Broken(f"{gateway.id} may still send something to east.")
        if self.mirror.state != "stopped":
            raise Broken("The mirror may still write to west.")
        if self.placement is None or not self.writable("west") or self.loss is None:
            raise Broken("West is not ready, or nobody knows what is lost.")


def forced(world: LostWorld, *faults: Fault) -> Ended:
    return Walk(world, faults).run()


def test_its_way_asks_the_source_for_nothing() -> None:
    world = LostWorld()
    world.lose()
    ended = forced(world)
    assert ended.status is Status.SUCCEEDED
    assert ended.stages == Kind.FORCED.spec.way
    assert world.bound(world.clients["web-1"]) == ("west", BindingState.FORWARD)


class TestQuotasOfALostSource:
    """Nobody can compare them, and nothing is refused for them: little is more than nothing."""

    @staticmethod
    def said(found: QuotasFound) -> list[str]:
        world = LostWorld()
        world.quotas_found = found
        world.lose()
        sentence = run_stage(world, Stage.PRECHECK)
        assert sentence.endswith("ACLs, quotas and users of east cannot be compared.")
        return world.said

    def test_what_clients_will_find_is_told(self) -> None:
        assert self.said(QuotasFound(found=("shop: producer_byte_rate 1048576 (user)",))) == [
            "These quotas hold on west, whatever those of east were: shop: producer_byte_rate 1048576 (user)."
        ]

    def test_what_nobody_knows_is_told(self) -> None:
        assert self.said(
            QuotasFound(unknown=Sentence.from_json("Cluster west could not read them: no right."))
        ) == [
            "It is not known which quotas clients have on west: Cluster west could not read them: no right."
        ]

    def test_no_quotas_no_words(self) -> None:
        assert self.said(QuotasFound()) == []


def test_rights_that_depend_on_an_address_are_told_and_refuse_nothing() -> None:
    world = LostWorld()
    world.rules_for_hosts = ["DENY User:shop READ topic carts host 10.0.0.1"]
    world.lose()
    run_stage(world, Stage.PRECHECK)
    assert world.said == [
        "What these clients may do on west depends on their address (DENY User:shop READ topic carts host 10.0.0.1), "
        "and brokers see the Gateway's."
    ]


def test_what_the_mirror_had_not_copied_is_counted_and_the_rest_is_there() -> None:
    world = LostWorld()
    world.mirror.rate = 0
    before = {p: log.end for p, log in world.logs["west"].items()}
    for _ in range(5):
        world.write("east", ORDERS_0)
    world.lose()
    for stage in (Stage.PRECHECK, Stage.BLOCK):
        run_stage(world, stage)
    sentence = run_stage(world, Stage.ASSESS)
    assert "of what it held then west lacks 5 records" in sentence
    assert world.loss is not None
    assert {p: count for p, count in world.loss.records.items() if count} == {ORDERS_0: 5}
    assert {p: log.end for p, log in world.logs["west"].items()} == before


def test_consumers_skip_nothing_that_west_has() -> None:
    """They read again at most what they have read since they were looked at."""
    world = LostWorld(traffic=False)
    world.look()
    committed = dict(world.positions["billing"])
    world.lose()
    forced(world)
    world.later(2.0)
    there = {r for p in world.group.partitions for r in world.logs["west"][p].records}
    assert there <= world.group.consumed
    assert world.group.reread is not None
    read_again = sum(world.ends[p] - committed[p].offset for p in world.group.partitions)
    assert len(world.group.reread) <= read_again


def test_what_west_has_deleted_already_is_told() -> None:
    """Without the source there is nothing to go back to, so it blocks nothing."""
    world = LostWorld(traffic=False)
    world.lose()
    world.positions["billing"][ORDERS_0] = Committed(world.logs["east"][ORDERS_0].start + 2)
    world.logs["west"][ORDERS_0].expire(5)
    assert forced(world).status is Status.SUCCEEDED
    assert (
        "Group billing had still to read up to 3 records of orders-0 that west has deleted already: it "
        "goes on with the "
        "first ones there."
    ) in world.said


def test_records_that_were_copied_twice_do_not_hide_what_is_lost() -> None:
    """By count the mirror would hold everything: eight records that it lacks, and eight that it has twice."""
    world = LostWorld(traffic=False)
    world.copy_twice(ORDERS_0, 8)
    world.lose(lag=8)
    world.look()
    assert forced(world).status is Status.SUCCEEDED
    assert world.loss is not None
    assert {p: count for p, count in world.loss.records.items() if count} == dict.fromkeys(PARTITIONS, 8)
    assert (
        "The mirror of orders-0 holds 8 records more than it is proved to have copied: a Connect worker "
        "copied them twice or had "
        "not committed them, or somebody else wrote them. What east holds is reported from where the proof "
        "ends, and groups "
        "read some records again."
    ) in world.said


def test_what_connect_has_not_committed_is_reported_although_it_may_be_there() -> None:
    """Never too little: its tasks had failed, so nobody knows what became of the last records that they read."""
    world = LostWorld(traffic=False)
    world.uncommitted = 3
    world.lose()
    forced(world)
    assert world.tail is not None
    assert {p: world.logs["east"][p].end - point.source for p, point in world.tail.items()} == (
        dict.fromkeys(PARTITIONS, 3)
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(PARTITIONS), st.integers(1, 12), st.booleans()),
        max_size=6,
    ),
    st.integers(0, 12),
    st.integers(0, 30),
)
def test_duplicates_anywhere_hide_no_loss_and_skip_nothing(
    twice: list[tuple[Partition, int, bool]], lag: int, read: int
) -> None:
    """What west lacks is in the tail; and of what west holds, each record that the group had still to read
    lies before it.

    :param twice: partitions of which so many records are copied twice, and whether hadash finds that out
        before the loss.
    :param read: records of each partition that the group had read when it was looked at last.
    """
    world = LostWorld(traffic=False)
    for partition, count, found_out in twice:
        world.copy_twice(partition, count)
        if found_out:
            world.count_anew(partition)
        for moved in PARTITIONS:
            world.write("east", moved)
        world.later(0.2)
    world.look()
    for partition in world.group.partitions:
        log = world.logs["east"][partition]
        world.positions["billing"][partition] = Committed(min(log.start + read, log.end), "noted")
    positions = dict(world.positions["billing"])
    world.mirror.rate = 0
    world.lose(lag)
    world.positions["billing"] = positions
    assert forced(world).status is Status.SUCCEEDED
    written = [command for command in world.done if isinstance(command, do.WriteGroupOffsets)]
    assert world.tail is not None
    for partition, point in world.tail.items():
        east, west = world.logs["east"][partition], world.logs["west"][partition]
        missing = set(east.records) - set(west.records)
        assert missing <= set(east.records[point.source - east.start :])
        if partition in positions:
            unread = set(east.records[positions[partition].offset - east.start :]) & set(west.records)
            offset = written[-1].offsets["billing"][partition].offset
            assert unread <= set(west.records[offset - west.start :])


def test_old_offsets_beside_those_of_other_topics_hold_nothing_up() -> None:
    world = LostWorld()
    world.lose()
    del world.positions["billing"][ORDERS_0]
    world.group.committed["west"] = {ORDERS_0: 4, Partition("yearly", 0): 7}
    assert forced(world).status is Status.SUCCEEDED
    assert Partition("yearly", 0) in world.group.committed["west"]


def test_a_group_that_was_never_seen_begins_where_it_says() -> None:
    world = LostWorld()
    world.lose()
    world.positions = {}
    forced(world)
    assert any("Where group billing stood is not known" in said for said in world.said)


def test_a_group_that_was_never_seen_goes_on_from_an_earlier_stay() -> None:
    """With auto.offset.reset=latest it would skip everything if that was taken away."""
    world = LostWorld()
    world.lose()
    world.positions = {}
    world.group.committed["west"] = {ORDERS_0: 4}
    assert forced(world).status is Status.SUCCEEDED
    assert any("it goes on from where it was on west before" in said for said in world.said)
    assert not any("auto.offset.reset" in said for said in world.said)
    written = [command for command in world.done if isinstance(command, do.WriteGroupOffsets)]
    assert written[0].offsets["billing"] == {ORDERS_0: Committed(4)}


def test_what_is_noted_of_some_partitions_takes_nothing_away_on_others() -> None:
    world = LostWorld()
    world.lose()
    del world.positions["billing"][ORDERS_0]
    world.group.committed["west"] = {ORDERS_0: 4}
    assert forced(world).status is Status.SUCCEEDED
    assert any("Where group billing stood is not known: it goes on from" in said for said in world.said)
    assert not any("auto.offset.reset" in said for said in world.said)
    (written,) = [command for command in world.done if isinstance(command, do.WriteGroupOffsets)]
    assert written.offsets["billing"][ORDERS_0] == Committed(4)
    assert ORDERS_1 in written.offsets["billing"], "where it was seen it goes on from there"


def test_a_group_of_which_an_empty_note_is_left_is_one_that_was_never_seen() -> None:
    world = LostWorld()
    world.lose()
    world.positions = {"billing": {}}
    assert forced(world).status is Status.SUCCEEDED
    assert any("it begins where its auto.offset.reset says" in said for said in world.said)


def test_partitions_that_were_never_seen_are_not_counted_as_without_loss() -> None:
    world = LostWorld()
    world.lose()
    del world.ends[ORDERS_0]
    forced(world)
    assert any(
        said == "What east held of 1 partitions is not known, so they are not counted: orders-0."
        for said in world.said
    )


def test_not_while_the_source_answers() -> None:
    world = LostWorld()
    ended = forced(world)
    assert ended.status is Status.ROLLED_BACK
    assert ended.stages == (Stage.PRECHECK,)
    assert str(ended.sentence) == (
        "east answers, and every partition that moves has a leader there. "
        "Ask for a planned switch: it loses nothing."
    )


def test_but_when_it_has_lost_some_of_its_brokers() -> None:
    world = LostWorld()
    world.leaderless = True
    assert forced(world).status is Status.SUCCEEDED


def test_a_gateway_that_does_not_obey_stands_against_it() -> None:
    """It might send something to a source that is not lost for it."""
    world = LostWorld()
    world.lose()
    world.gateways["gw-2"].stuck = True
    ended = forced(world)
    assert ended.status is Status.NEEDS_ATTENTION or ended.status is Status.ROLLED_BACK
    assert "gw-2 did not put epoch" in str(ended.sentence)
    assert world.tail is None


def test_the_tail_begins_where_the_mirror_had_come_to() -> None:
    world = LostWorld()
    world.lose()
    forced(world)
    assert world.tail == world.drained, "what is counted is proved, when nothing was copied twice"
    assert world.tail is not None
    assert {p: point.target for p, point in world.tail.items()} == {
        p: log.end for p, log in world.logs["west"].items()
    }


def test_a_client_that_does_not_come_needs_a_person() -> None:
    world = LostWorld()
    world.lose()
    world.clients["web-1"].follows = False
    ended = forced(world)
    assert ended.status is Status.NEEDS_ATTENTION
    assert str(ended.sentence) == "Waiting for web-1 to be seen on west."


@pytest.mark.parametrize("stage", Kind.FORCED.spec.way)
@pytest.mark.parametrize("when", ["killed before", "killed after"])
def test_a_worker_that_is_killed_anywhere_changes_nothing(stage: Stage, when: str) -> None:
    for at in range(14):
        world = LostWorld()
        world.lose()
        ended = forced(world, Fault(stage, at, when))
        assert ended.status is Status.SUCCEEDED, at


@given(
    st.integers(0, 30),
    st.lists(
        st.builds(
            Fault,
            st.sampled_from(Kind.FORCED.spec.way),
            st.integers(0, 10),
            st.sampled_from(
                ("killed before", "killed after", "refused", "answer lost", "west is down", "gw-1 sticks")
            ),
        ),
        max_size=4,
    ),
)
def test_whatever_happens_west_keeps_all_that_it_had(lag: int, faults: list[Fault]) -> None:
    """It ends; everything that was mirrored is there; and what is reported lost is what west lacks."""
    world = LostWorld()
    world.later(0.5)
    world.lose(lag)
    mirrored = {p: list(log.records) for p, log in world.logs["west"].items()}
    ended = forced(world, *faults)
    if ended.status is Status.NEEDS_ATTENTION:
        world.heal()
        walk = Walk(world)
        walk.status, walk.stage = Status.RUNNING, ended.stage
        ended = walk.run()
    assert ended.status in (Status.SUCCEEDED, Status.ROLLED_BACK, Status.NEEDS_ATTENTION)
    for partition, records in mirrored.items():
        assert world.logs["west"][partition].records[: len(records)] == records
    if ended.status is Status.SUCCEEDED:
        assert world.tail is not None
        for partition, point in world.tail.items():
            assert world.logs["east"][partition].end - point.source == lag


def test_it_is_refused_when_the_target_does_not_answer() -> None:
    world = LostWorld()
    world.lose()
    world.down.add("west")
    with pytest.raises(StageFailed) as failed:
        run_stage(world, Stage.PRECHECK)
    assert str(failed.value.sentence) == "Cluster west does not answer: no broker answers"
