"""The guards of a switch, asked about real clients behind a real Gateway: what they do not know they do not pass."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from kazoo.client import KazooClient
from support import answers
from support.gateway import GatewayProcess
from support.kafka import App, Clusters, produce
from support.running import Reader
from support.waiting import eventually

from hadash.identity.identity import Identity
from hadash.inventory import access
from hadash.inventory.models import Access, Cluster, Pair
from hadash.kafka.values import Acl, Committed, Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.services import cluster_client
from hadash.radius.scope import Scope
from hadash.sentences import Sentence
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.machines.switches import Kind, Stage
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Command
from hadash.switching.stages.context import StageContext
from hadash.switching.stages.run import Limits, StageFailed
from hadash.switching.stages.self_assigned import check_self_assigned
from hadash.switching.stages.ways import run_of

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def pair(stack_pair: Pair) -> Pair:
    return stack_pair


@pytest.fixture
def gateway(
    pair: Pair, chroot: str, zookeeper: KazooClient, zookeeper_hosts: str, kafka: Clusters, tmp_path: Path
) -> Iterator[GatewayProcess]:
    """A Gateway of the pair's own."""
    with GatewayProcess(chroot, zookeeper_hosts, tmp_path) as running:
        yield running


@dataclass
class Moving:
    """One AppID that is to go from east to west, with a Topic of two partitions and a group."""

    app: App
    topic: str
    group: str
    gateway: GatewayProcess
    plan: Plan
    said: list[str]

    def ask(self, command: Command[Any]) -> Any:
        return self._effects().carry_out(command)

    def run(self, stage: Stage, ends: dict[Partition, OffsetSync]) -> str:
        """Run a stage as the executor does, after the mirror has been proved to be drained at ``ends``."""
        effects = self._effects()
        effects.carry_out(do.RecordDrained(ends))
        return str(self._drive(run_of(self.plan.kind, stage)(self.plan, Limits()), effects))

    def check_self_assigned(self, points: Mapping[Partition, OffsetSync]) -> None:
        """As precheck does, and drain."""
        self._drive(check_self_assigned(self.plan, Limits(), points), self._effects())

    @staticmethod
    def _drive(run: Generator[Command[Any], Any, Any], effects: CommandHandler) -> Any:
        answer: Any = None
        while True:
            try:
                answer = effects.carry_out(run.send(answer))
            except StopIteration as end:
                return end.value

    def _effects(self) -> CommandHandler:
        def say(sentence: Sentence) -> None:
            self.said.append(str(sentence))

        return CommandHandler(self.plan, None, StageContext(), say)

    def config(self, **more: Any) -> dict[str, Any]:
        return self.app.config(self.gateway.bootstrap, **more)

    def partition(self, index: int) -> Partition:
        return Partition(self.topic, index)


@pytest.fixture
def moving(gateway: GatewayProcess, app: App) -> Moving:
    topic, group = app.topic(2), app.group()
    identity = Identity(app.appid)
    plan = Plan("main", Scope.of(identity), "east", "west", (identity,), (topic,), (group,), ())
    return Moving(app, topic, group, gateway, plan, [])


def test_what_is_asked_for_is_answered_as_it_says(moving: Moving) -> None:
    """By real servers; of the simulated world :mod:`tests.switching.test_conformance` holds it."""
    produce(moving.config(), moving.topic, b"1", b"2")
    for command in (
        do.ReadBindings(),
        do.ReadGateways(),
        do.ReadExpectedBack(),
        do.CheckCluster("east"),
        do.ComputePlan(),
        do.CheckAcks(),
        do.CheckAssignors(),
        do.CheckMirrors(thorough=True),
        do.CheckAudits(),
        do.ReadPools(),
        do.ReadWritten(),
        do.CheckSelfAssigned(),
        do.CheckReadingOn(),
        do.ReadTopics("west"),
        do.CheckRights(),
        do.CheckQuotas(),
        do.ReadQuotas(),
        do.CheckSignIn(),
        do.ReadLateBrokers("west"),
        do.ReadMembers("east"),
        do.ReadQuiesced(),
        do.ReadEnds("east"),
        do.ReadStarts("west"),
        do.ReadOffsetSyncs(),
        do.ReadDrained(),
        do.ReadGroupOffsets("east"),
        do.ReadCommits("east"),
        do.ReadAssigned("east"),
        do.ReadPositions(frozenset({"web-1"})),
        do.ReadReading(),
        do.ReadClients(),
        do.ReadActivity("east", 60.0),
        do.ReadSeen(),
        do.CheckLost(),
        do.ReadRepeated(),
        do.ReadLastKnown(),
        do.ReadProved(),
        do.ReadUsers(),
    ):
        answers.check(command, moving.ask(command))


class TestAssignors:
    """A group that rebalances cooperatively cannot be quiesced."""

    COOPERATIVE = {"partition_assignment_strategy": "cooperative-sticky"}

    def test_its_coordinator_says_so_when_no_gateway_knows(self, moving: Moving) -> None:
        """A Gateway that was restarted has not seen the JOIN_GROUP of a member that only commits since."""
        with Reader(moving.config(**self.COOPERATIVE), moving.topic, moving.group) as reader:
            eventually(lambda: reader.assigned == 2, "the assignment", patience=40)
            moving.gateway.stop()
            with moving.gateway:
                eventually(lambda: moving.gateway.members(moving.app.appid), "a heartbeat", patience=40)
                (member,) = moving.gateway.members(moving.app.appid)
                assert member["assignors"] is None
                used = moving.ask(do.CheckAssignors())
        assert used.unknown == ()
        (group,) = used.cooperative
        assert group.startswith(f"{moving.group} (cooperative-sticky: ")

    def test_an_eager_group_is_fine_without_anything_known(self, moving: Moving) -> None:
        direct = moving.app.config(moving.app.clusters.described["east"].bootstrap_servers)
        with Reader(direct, moving.topic, moving.group) as reader:
            eventually(lambda: reader.assigned == 2, "the assignment", patience=40)
            used = moving.ask(do.CheckAssignors())
        assert (used.cooperative, used.unknown) == ((), ())


class TestSelfAssigned:
    """Who assigns partitions itself and commits, as Flink does, or Spring with an application's own assignment."""

    @pytest.fixture
    def flink(self, moving: Moving) -> Iterator[Consumer]:
        """It has read and committed one record of partition 0; both clusters hold it."""
        for cluster in ("east", "west"):
            produce(
                moving.app.config(moving.app.clusters.described[cluster].bootstrap_servers),
                moving.topic,
                b"1",
                partition=0,
            )
        consumer = Consumer(moving.config(client_id="flink", group_id=moving.group, enable_auto_commit=False))
        consumer.assign([TopicPartition(moving.topic, 0, 0)])
        try:
            assert consumer.poll(40) is not None
            consumer.commit(asynchronous=False)
            yield consumer
        finally:
            consumer.close()

    def ends(self, moving: Moving, target: int) -> dict[Partition, OffsetSync]:
        return {moving.partition(0): OffsetSync(1, target), moving.partition(1): OffsetSync(0, 0)}

    def test_it_is_named_and_no_member(self, moving: Moving, flink: Consumer) -> None:
        assert moving.ask(do.CheckSelfAssigned()) == {"flink": frozenset({moving.topic})}
        access.collect(every=True)
        row = Access.objects.get(kind=Access.Kind.GROUP, client_id="flink")
        assert row.details == {"member": False}

    def test_where_offsets_differ_it_does_not_move(self, moving: Moving, flink: Consumer) -> None:
        """It would read west at east's offset: past what is there, or from another record on."""
        west = moving.app.config(moving.app.clusters.described["west"].bootstrap_servers)
        produce(west, moving.topic, b"1", partition=0)
        with pytest.raises(StageFailed) as failed:
            moving.check_self_assigned(self.ends(moving, 2))
        assert str(failed.value.sentence) == (
            "flink read without being members of a group: they keep their offsets over a move, and "
            f"{moving.topic} have other offsets on west. Let them subscribe in a group, stop them for the switch, or "
            "leave them out."
        )

    def test_where_they_are_the_same_it_moves(self, moving: Moving, flink: Consumer) -> None:
        moving.check_self_assigned(self.ends(moving, 1))
        moving.run(Stage.TRANSLATE, self.ends(moving, 1))
        assert moving.ask(do.ReadCommits("west"))[moving.group] == {moving.partition(0): Committed(1)}


class TestAddresses:
    """Brokers see the Gateway's: what depends on the client's own cannot be what was meant."""

    @staticmethod
    def give(moving: Moving, cluster: str, permission: str, host: str) -> None:
        """A rule for one host beside those of the AppID for every host. (It goes away with them.)"""
        client = cluster_client(Cluster.objects.get(name=cluster))
        rule = Acl(
            "TOPIC", moving.app.prefix, "PREFIXED", f"User:{moving.app.appid}", host, "READ", permission
        )
        client.create_acls([rule])
        eventually(lambda: rule in client.acls(), "the rule")

    def test_rules_for_every_host_are_fine(self, moving: Moving) -> None:
        assert moving.ask(do.CheckRights()).by_host == ()

    def test_what_every_host_may_is_fine_for_one_too(self, moving: Moving) -> None:
        self.give(moving, "east", "ALLOW", "192.0.2.7")
        assert moving.ask(do.CheckRights()).by_host == ()

    @pytest.mark.parametrize("cluster", ["east", "west"])
    def test_a_denial_for_a_host_is_named(self, moving: Moving, cluster: str) -> None:
        self.give(moving, cluster, "DENY", "192.0.2.7")
        rule = f"DENY User:{moving.app.appid} READ topic {moving.app.prefix} host 192.0.2.7"
        assert moving.ask(do.CheckRights()).by_host == (rule,)

    def test_not_for_an_address_that_is_said_to_be_one_that_brokers_see(
        self, moving: Moving, settings: Any
    ) -> None:
        self.give(moving, "east", "DENY", "192.0.2.7")
        settings.SWITCH_ACL_HOSTS = ("192.0.2.0/24",)
        assert moving.ask(do.CheckRights()).by_host == ()

    def test_without_a_source_the_targets_are_looked_at(self, moving: Moving) -> None:
        self.give(moving, "east", "DENY", "192.0.2.7")
        moving.plan = replace(moving.plan, kind=Kind.FORCED)
        assert moving.ask(do.CheckRights()).by_host == ()


class TestPositions:
    """Of a partition that a group has committed nothing of, its members say where they read."""

    LATEST = {"auto_offset_reset": "latest", "enable_auto_commit": True}

    def ends(self, moving: Moving, *targets: int) -> dict[Partition, OffsetSync]:
        """The drained point: where the source ends, and the target's offset of the same record."""
        east = moving.ask(do.ReadEnds("east"))
        return {p: OffsetSync(east[p], target) for p, target in zip(sorted(east), targets, strict=True)}

    def test_with_latest_a_partition_that_nothing_came_from(self, moving: Moving) -> None:
        """librdkafka commits nothing for it; on west its reader would begin behind what came first."""
        direct = moving.app.config(moving.app.clusters.described["east"].bootstrap_servers)
        for index, count in ((0, 3), (1, 5)):
            produce(direct, moving.topic, *[b"0"] * count, partition=index)
        # West has fewer: its offsets are others.
        produce(
            moving.app.config(moving.app.clusters.described["west"].bootstrap_servers),
            moving.topic,
            b"0",
            partition=1,
        )
        with Reader(moving.config(**self.LATEST, client_id="late"), moving.topic, moving.group) as reader:
            eventually(lambda: self._positions(moving).keys() == {0, 1}, "a FETCH of both", patience=40)
            produce(direct, moving.topic, b"7", partition=0)
            eventually(lambda: reader.values == [7], "the record", patience=40)
            eventually(
                lambda: moving.ask(do.ReadCommits("east"))[moving.group].keys() == {moving.partition(0)},
                "the commit of the partition that it came from, and of no other",
                patience=40,
            )
            sentence = moving.run(Stage.TRANSLATE, self.ends(moving, 0, 1))
        assert sentence == "Group offsets are set on west and read back (2 in all)."
        west = moving.ask(do.ReadCommits("west"))[moving.group]
        assert west == {moving.partition(0): Committed(0), moving.partition(1): Committed(1)}
        assert moving.said == [
            f"Group {moving.group} has committed nothing of {moving.topic}-1: its members go on where they read."
        ]

    def test_what_no_gateway_has_seen_is_refused(self, moving: Moving) -> None:
        """A member that does not come through a Gateway: nobody knows where it reads."""
        direct = moving.app.config(moving.app.clusters.described["east"].bootstrap_servers, **self.LATEST)
        for index in (0, 1):
            produce(direct, moving.topic, b"0", partition=index)
        with Reader(direct, moving.topic, moving.group) as reader:
            eventually(lambda: reader.assigned == 2, "the assignment", patience=40)
            with pytest.raises(StageFailed, match=r"It is not known where group .* reads .*-0, .*-1 on east"):
                moving.run(Stage.TRANSLATE, self.ends(moving, 1, 1))

    @staticmethod
    def _positions(moving: Moving) -> dict[int, int]:
        found = moving.gateway.ask("/positions", appid=moving.app.appid)["positions"]
        return {index: offset for entry in found for _, index, offset in entry["offsets"]}


def test_metadata_of_a_commit_is_carried_over(moving: Moving) -> None:
    """Kafka Streams and Connect keep their own there."""
    produce(moving.config(), moving.topic, *[b"0"] * 4)
    committer = Consumer(moving.config(group_id=moving.group))
    committer.commit(
        offsets=[TopicPartition(moving.topic, 0, 3, metadata="checkpoint 17, 完成")], asynchronous=False
    )
    committer.close()
    west = moving.app.config(moving.app.clusters.described["west"].bootstrap_servers)
    produce(west, moving.topic, *[b"0"] * 4)
    moving.run(
        Stage.TRANSLATE, {moving.partition(0): OffsetSync(4, 4), moving.partition(1): OffsetSync(0, 0)}
    )
    commits = [moving.ask(do.ReadCommits(cluster))[moving.group] for cluster in ("east", "west")]
    assert commits[0] == commits[1]
    assert commits[1][moving.partition(0)].metadata.startswith("checkpoint 17, 完成")
