"""The simulated world and real servers, each through the same switches of the same fleet: the stages ask both for the
same things in the same order, are answered the same, and end with the same sentences. What tests of stages prove in
the world then holds for Kafka, Connect, ZooKeeper and a Gateway.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from kazoo.client import KazooClient
from support.gateway import GatewayProcess
from support.kafka import SECONDS, App, Clusters, produce
from support.running import Reader
from support.waiting import eventually

from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash.inventory import access
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import Pair
from hadash.kafka.values import Committed, Partition
from hadash.mirroring import creating
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import Mirror
from hadash.radius.scope import Scope
from hadash.sentences import say
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.execution.handlers import bindings
from hadash.switching.machines.switches import WAY, Kind, Stage
from hadash.switching.plan import Plan
from hadash.switching.planning.proposals import plan_for
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import AuditFound
from hadash.switching.stages.command import Command, Together
from hadash.switching.stages.context import StageContext
from hadash.switching.stages.run import Limits
from hadash.switching.stages.ways import run_of
from tests.switching.world import CARTS, ORDERS_0, ORDERS_1, PARTITIONS, WHOLE, World

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

#: Seconds for Connect to start a mirror and copy some records.
PATIENCE = 60

#: Records of each partition that the mirror copies; and those of them that the group had read when its members came.
COPIED, READ = 20, 12

#: The default limits, with a shorter last look at clients that stay; and what clients have done since they began counts
#: as of late, however long a mirror takes to start.
LIMITS = dataclasses.replace(Limits(), verify_hold=0.5, active=600)


# -- what is compared --------------------------------------------------------------------------------------------------

#: Answers that may differ, and how they are looked at. All others have to be equal.
LOOKED_AT: dict[type[Command[Any]], Callable[[Any], Any]] = {
    # Epochs and seconds are each one's own.
    do.WriteBindings: lambda epoch: "an epoch",
    do.ReadGateways: lambda found: {(member.live, member.excluded) for member in found},
    do.ReadWaiting: lambda found: found.late,
    # The coordinator gives members their ids.
    do.ReadMembers: lambda found: {group: len(ids) for group, ids in found.items()},
    do.ReadQuiesced: lambda found: len(found),
    # Which of two members gets which partition is the assignor's, and only a Gateway knows hosts.
    do.ReadAssigned: lambda found: {group: set(given or ()) for group, given in found.items()},
    # The world has no rules, only what follows from them, which CheckRights tells.
    do.ReadRights: lambda found: None,
    # Who leads on which broker is the fleet's.
    do.ReadTopics: lambda found: {topic: len(leaders) for topic, leaders in found.items()},
    # A commit's metadata is its client's.
    do.ReadCommits: lambda found: {
        group: {p: c.offset for p, c in of.items()} for group, of in found.items()
    },
    # How many rules it takes to close a Topic is Kafka's.
    do.AllowWrites: bool,
    do.DenyWrites: bool,
    # The plan's explanations are compared nowhere (:class:`Plan`).
    do.ComputePlan: lambda found: [
        getattr(found, name) for name in ("identities", "topics", "groups", "mirrors")
    ],
}

#: What a stage asks for as often as it has to wait, and what it says meanwhile.
UNCOUNTED = (do.Pause, do.Say)


def plain(value: Any, names: Mapping[str, str]) -> Any:
    """A value as texts, numbers and tuples, with the world's names in place of the fleet's own."""
    match value:
        case Enum():
            return value.value
        case str():
            for own, its in names.items():
                value = value.replace(own, its)
            return value
        case Mapping():
            return {plain(key, names): plain(each, names) for key, each in sorted(value.items(), key=repr)}
        case Set():
            return sorted((plain(each, names) for each in value), key=repr)
        case list() | tuple():
            return tuple(plain(each, names) for each in value)
        case Identity():
            return plain(str(value), names)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return tuple(
                (each.name, plain(getattr(value, each.name), names)) for each in dataclasses.fields(value)
            )
    return value


@dataclass
class Talk:
    """What one stage asked for, in the order in which it asked first, each with its last answer; and its outcome."""

    names: Mapping[str, str]
    answers: dict[str, Any] = field(default_factory=dict)
    outcome: str = ""

    def note(self, command: Command[Any], answer: Any) -> None:
        if isinstance(command, Together):
            for part, its in zip(command.commands, answer, strict=True):
                self.note(part, its)
        elif not isinstance(command, UNCOUNTED):
            looked_at = LOOKED_AT.get(type(command), lambda found: found)(answer)
            self.answers[self._asked(command)] = plain(looked_at, self.names)

    def _asked(self, command: Command[Any]) -> str:
        """The command with the cluster and the state that it is about."""
        which = [getattr(command, name, None) for name in ("cluster", "state", "copying_from")]
        return " ".join([type(command).__name__, *(str(plain(each, {})) for each in which if each)])


def talk(run: Any, carry_out: Callable[[Command[Any]], Any], names: Mapping[str, str]) -> Talk:
    """Let a stage ask until it ends. :raises StageFailed: it fails."""
    held = Talk(names)
    answer: Any = None
    while True:
        try:
            command = run.send(answer)
        except StopIteration as end:
            # (Epochs and seconds are each one's own.)
            said = dataclasses.replace(end.value, values={**end.value.values, "epoch": 0, "seconds": 0})
            held.outcome = plain(str(said), names)
            return held
        answer = carry_out(command)
        held.note(command, answer)


# -- the fleet --------------------------------------------------------------------------------------------------------


class Fleet:
    """What :class:`World` begins with, on real servers: shop with two Topics that a mirror carries from where east has
    deleted what came before, web-1 that writes and has a binding of its own, and two members of billing.
    """

    def __init__(self, pair: Pair, app: App, kafka: Clusters, gateway: GatewayProcess) -> None:
        self.pair, self.app, self.kafka, self.gateway = pair, app, kafka, gateway
        self.own = {p: Partition(app.prefix + p.topic, p.partition) for p in PARTITIONS}
        self.group = f"{app.prefix}billing"
        #: (The connector's name has dashes in place of the Topic's dots.)
        self.names = {app.prefix: "", app.appid: "shop"}
        self._readers: list[Reader] = []
        self._switches = 0
        self._clients = ExitStack()

    def make(self) -> None:
        east = self.pair.first
        client = mirroring.cluster_client(east)
        topics: dict[str, tuple[int, int, dict[str, str]]] = {
            self.own[CARTS].topic: (1, 1, {}),
            self.own[ORDERS_0].topic: (2, 1, {}),
        }
        self.app.topics += topics
        client.create_topics(topics)
        creating.await_topics(client, list(topics))
        world = World()
        self.write_and_forget({p: world.logs["east"][p].start for p in PARTITIONS})
        creating.create_mirror(self.pair, self.app.appid, list(topics), east)
        dialect_of(self.pair).change(
            [Edit(Identity(self.app.appid, "web-1"), Binding("east", BindingState.FORWARD))], None
        )
        web = Producer(self.config("web-1", acks="all"))
        self.web = web
        self.write(COPIED)
        began = {p: Committed(world.logs["east"][p].start + READ) for p in (ORDERS_0, ORDERS_1)}
        client.set_group_offsets({self.group: {self.own[p]: committed for p, committed in began.items()}})
        for name in ("bill-1", "bill-2"):
            config = self.config(
                name, partition_assignment_strategy="range", auto_commit_interval_ms=3_600_000
            )
            reader = Reader(config, self.own[ORDERS_0].topic, self.group)
            self._readers.append(self._clients.enter_context(reader))
        eventually(lambda: self.kafka.members("east", self.group) == 2, "both members")
        eventually(self.copied, "the mirror has copied all", patience=PATIENCE)

    def config(self, instance: str, **more: Any) -> dict[str, Any]:
        return self.app.config(self.gateway.bootstrap, client_id=instance, **more)

    def write_and_forget(self, counts: Mapping[Partition, int]) -> None:
        """Records that retention has deleted before the mirror began."""
        admin = self.kafka.admin("east")
        for partition, count in counts.items():
            own = self.own[partition]
            produce(
                self.kafka.described["east"].client_config(),
                own.topic,
                *[b"-1"] * count,
                partition=own.partition,
            )
            deleted = admin.delete_records([TopicPartition(own.topic, own.partition, count)])
            for done in deleted.values():
                done.result(SECONDS)

    def write(self, count: int) -> None:
        """web-1 writes to every partition."""
        for number in range(count):
            for own in self.own.values():
                self.web.produce(own.topic, b"%d" % number, partition=own.partition)
        assert self.web.flush(SECONDS) == 0

    @contextmanager
    def goes_on_writing(self) -> Iterator[None]:
        """web-1 writes until the end."""
        stop = threading.Event()

        def write() -> None:
            while not stop.wait(0.1):
                self.write(1)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def copied(self) -> bool:
        ends = [self.kafka.end_offsets("west", topic) for topic in {own.topic for own in self.own.values()}]
        return all(end == COPIED for of in ends for end in of.values())

    def plan(self) -> Plan:
        """Everything of shop to west, by what its Gateway has seen."""
        access.collect(every=True)
        return plan_for(self.pair, Scope.of(Identity(self.app.appid)), self.pair.second)

    def begin(self, plan: Plan) -> None:
        """Another switch with this plan."""
        self._switches += 1
        journal = Journal(f"sw-{self._switches}", Stage.PRECHECK.value, 1)
        self.handler = CommandHandler(plan, journal, StageContext(), lambda said: None)
        dialect_of(self.pair).take_over(journal.switch, journal.stage, journal.token)

    def settle(self, world: World) -> None:
        """Until the members are in their group again, wherever that is; in the world, too."""
        eventually(
            lambda: sum(reader.assigned for reader in self._readers) == 2,
            "the group's partitions",
            patience=PATIENCE,
        )
        world.later(10)

    def end(self) -> None:
        self._clients.close()
        self.web.flush(SECONDS)
        connect = mirroring.connect_client()
        for mirror in Mirror.objects.filter(pair=self.pair):
            for cluster in self.pair.clusters:
                connect.delete(mirroring.connector_of(mirror, cluster))


@pytest.fixture
def fleet(
    stack_pair: Pair,
    app: App,
    kafka: Clusters,
    chroot: str,
    zookeeper: KazooClient,
    zookeeper_hosts: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Fleet]:
    monkeypatch.setattr(bindings, "zookeeper", lambda: zookeeper)
    with GatewayProcess(chroot, zookeeper_hosts, tmp_path) as gateway:
        made = Fleet(stack_pair, app, kafka, gateway)
        try:
            made.make()
            yield made
        finally:
            made.end()


def same_world() -> World:
    """The world with one Gateway, and with what its clients have done of late."""
    world = World(traffic=False)
    unproved = say("No auditor has compared this mirror.")
    world.audits = [AuditFound("shop", is_equal=False, differs=False, says=unproved)]
    gone, kept = world.gateways.pop("gw-2"), world.gateways["gw-1"]
    for client in world.clients.values():
        client.gateway = kept if client.gateway is gone else client.gateway
    world.mechanisms = {name: {"SCRAM-SHA-256", "SCRAM-SHA-512"} for name in world.mechanisms}
    for kind, topic in (("produce", "carts"), ("produce", "orders"), ("consume", "orders")):
        world.activity["east", kind, topic] = world.now
    return world


# -- the tests ---------------------------------------------------------------------------------------------------------


def test_they_are_asked_and_answer_the_same(fleet: Fleet) -> None:
    """A rehearsal, a switch that returns while clients wait, and one that succeeds, on one fleet."""
    world = same_world()
    plan = fleet.plan()
    assert plain([plan.topics, plan.groups, plan.identities], fleet.names) == plain(
        [WHOLE.topics, WHOLE.groups, WHOLE.identities], {}
    )
    for kind, way in (
        (Kind.REHEARSAL, (Stage.PRECHECK, Stage.REHEARSE)),
        (Kind.PLANNED, (Stage.PRECHECK, Stage.QUIESCE, Stage.BLOCK, Stage.DRAIN, Stage.RETURN)),
        (Kind.PLANNED, WAY[:-1]),
    ):
        fleet.begin(plan)
        world.begin_switch()
        for stage in way:
            real, simulated = through(kind, stage, plan, fleet, world)
            assert list(real.answers) == list(simulated.answers), (kind, stage)
            assert real.answers == simulated.answers, (kind, stage)
            assert real.outcome == simulated.outcome
        fleet.settle(world)
    # In the end clients go on, each on its own side: what they write differs, and what is asked about it does not.
    assert WAY[-1] is Stage.VERIFY
    world.traffic = True
    with fleet.goes_on_writing():
        real, simulated = through(Kind.PLANNED, Stage.VERIFY, plan, fleet, world)
    assert list(real.answers) == list(simulated.answers)
    assert real.outcome == simulated.outcome


def through(kind: Kind, stage: Stage, plan: Plan, fleet: Fleet, world: World) -> tuple[Talk, Talk]:
    """One stage on the servers, and in the world."""
    fleet.handler.begin(stage)
    world.begin_stage(stage)
    run = run_of(kind, stage)
    real = talk(run(plan, LIMITS), fleet.handler.carry_out, fleet.names)
    return real, talk(run(world.plan, LIMITS), world.carry_out, {})
