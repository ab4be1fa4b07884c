"""The end of a migration on real servers: the old Topics go, with their mirror and groups, or all of it stays.

Two clusters, Connect and ZooKeeper are real; there is no Gateway (tests/e2e has one, with live clients).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from kazoo.client import KazooClient
from support.environment import required
from support.kafka import App, Clusters, consume, produce
from support.running import Reader
from support.waiting import eventually

from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.audit.models import Entry
from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash.inventory.models import AppID, Cluster, InstanceID, Pair
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.values import Partition
from hadash.mirroring import creating, ending, standby, turning
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import Mirror, WriteDenial
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.topic_settings import NO_TIME_LIMITS
from hadash.radius.scope import Scope
from hadash.switching.machines.retirements import Status
from hadash.switching.machines.switches import Kind
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.retirement import removing, services
from hadash_sandbox import seeding
from hadash_sandbox.world import World

pytestmark = [pytest.mark.stack, pytest.mark.django_db, pytest.mark.in_turn]

#: Records before the migration, and after it.
BEFORE, AFTER = 20, 5

#: Seconds for Connect to start a mirror and copy some records.
MIRROR_PATIENCE = 60


class Killed(BaseException):
    """The worker is gone."""


@dataclass
class Migrated:
    """An AppID that was moved from east to west a moment ago, with one Topic and one group."""

    switch: Switch
    operator: User
    app: App
    kafka: Clusters
    topic: str
    group: str
    mirror: str

    @property
    def east(self) -> ClusterClient:
        return mirroring.cluster_client(self.switch.source)

    def retire(self) -> Retirement:
        """Somebody lets it be removed now; the worker is the caller."""
        held = services.retire_now(self.operator, self.switch, "east", lambda retirement: None)
        return self.go_on(held)

    def go_on(self, held: Retirement) -> Retirement:
        removing.remove(held.pk, held.token)
        return Retirement.objects.get(pk=held.pk)

    def connectors(self) -> list[str]:
        return [name for name in mirroring.connect_client().names() if f".{self.mirror}." in name]

    def config(self, cluster: str) -> dict[str, Any]:
        return self.app.config(self.kafka.described[cluster].bootstrap_servers)

    def log(self) -> list[str]:
        return [str(event) for event in self.switch.events.all()]


@pytest.fixture(autouse=True)
def own_zookeeper(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("services", "dialects", "gateways"):
        monkeypatch.setattr(f"hadash.inventory.{module}.zookeeper", lambda: zookeeper)


@pytest.fixture
def pair(own_zookeeper: None) -> Pair:
    return seeding.register("main", json.loads(required("HADASH_SANDBOX_CLUSTERS")))


def records(cluster: Cluster, topic: str) -> int:
    client = mirroring.cluster_client(cluster)
    return sum(client.end_offsets(mirroring.partitions_of(client, [topic])).values())


@pytest.fixture
def migrated(pair: Pair, app: App, kafka: Clusters, zookeeper: KazooClient) -> Iterator[Migrated]:
    east, west = pair.clusters
    topic, group = app.topic(), app.group()
    name = topic.replace(".", "-")
    produce(app.config(east.bootstrap_servers), topic, *(b"%d" % n for n in range(BEFORE)))
    consume(app.config(east.bootstrap_servers), topic, group, BEFORE)
    AppID.objects.create(pair=pair, name=app.appid)
    mirror = creating.create_mirror(pair, name, [topic], east)
    eventually(lambda: records(west, topic) == BEFORE, "the mirror has copied", patience=MIRROR_PATIENCE)
    turning.reverse(mirror, {Partition(topic, 0): OffsetSync(BEFORE, BEFORE)})
    standby.allow_writes(west, [topic])
    standby.deny_writes(pair, east, [topic])
    identity = Identity(app.appid)
    BindingStore(zookeeper).change([Edit(identity, Binding("west"))])
    plan = Plan(
        "main",
        Scope.of(identity),
        "east",
        "west",
        (identity,),
        (topic,),
        (group,),
        (name,),
        kind=Kind.MIGRATION,
    )
    ensure_roles()
    operator = ensure_user("olga", "a-password", "operator")
    switch = Switch.objects.create(
        kind=Kind.MIGRATION.value,
        pair=pair,
        appid=app.appid,
        source=east,
        target=west,
        asked=plan.scope.to_json(),
        plan=plan.to_json(),
        plan_digest=plan.digest,
        reason="West is newer",
        retire_after_days=7,
        requested_by=operator,
        expires_at=timezone.now() + timedelta(hours=1),
        status="succeeded",
        ended_at=timezone.now(),
    )
    services.switch_ended(switch)
    produce(app.config(west.bootstrap_servers), topic, *(b"%d" % n for n in range(AFTER)))
    eventually(lambda: records(east, topic) == BEFORE + AFTER, "the reverse mirror", patience=MIRROR_PATIENCE)
    found = Migrated(switch, operator, app, kafka, topic, group, name)
    yield found
    for connector in found.connectors():
        mirroring.connect_client().delete(connector)
    for cluster in pair.clusters:
        mirroring.cluster_client(cluster).delete_topics([topic])
    app.topics.clear()  # the fixture of the AppID deletes only what is there


def exists_anew(migrated: Migrated) -> bool:
    """A cluster that still deletes a Topic in the background takes no new one of its name."""
    migrated.east.create_topics({migrated.topic: (1, 1, {})})
    return migrated.topic in migrated.east.topics()


def assert_removed(migrated: Migrated, held: Retirement) -> None:
    """Nothing of it is left on the old cluster, and all of it works on the new one."""
    assert (held.current, str(held.outcome_sentence)) == (
        Status.DONE,
        f"The mirror is retired, and the old Topics on east are removed: {migrated.topic}.",
    )
    assert migrated.connectors() == []
    assert not Mirror.objects.filter(name=migrated.mirror).exists()
    assert migrated.topic not in migrated.east.topics()
    assert migrated.east.group_offsets([migrated.group]) == {migrated.group: {}}
    assert not WriteDenial.objects.exists()
    assert [acl for acl in migrated.east.acls() if acl.resource == migrated.topic] == []
    assert records(migrated.switch.target, migrated.topic) == BEFORE + AFTER


def assert_stays(migrated: Migrated) -> None:
    """All of it is as it was: the clients can go back."""
    assert migrated.topic in migrated.east.topics()
    assert Mirror.objects.filter(name=migrated.mirror).exists()
    assert WriteDenial.objects.filter(topic=migrated.topic).exists()
    before = records(migrated.switch.target, migrated.topic)
    produce(migrated.config("west"), migrated.topic, b"one more")
    assert records(migrated.switch.target, migrated.topic) == before + 1
    eventually(
        lambda: (
            (status := mirroring.status_of(Mirror.objects.get(name=migrated.mirror))) is not None
            and status.running
        ),
        "the mirror runs",
        patience=MIRROR_PATIENCE,
    )


def test_all_of_it_goes_and_the_audit_log_could_build_it_up_again(migrated: Migrated) -> None:
    assert_removed(migrated, migrated.retire())
    entries = {e.details["what"]: e.details for e in Entry.objects.filter(verb="removed").order_by("number")}
    assert list(entries) == ["mirrors", "groups", "topics", "denials"]
    assert entries["mirrors"]["before"][migrated.mirror]["topics"] == [migrated.topic]
    assert entries["groups"]["before"] == {migrated.group: {f"{migrated.topic}-0": BEFORE}}
    assert entries["topics"]["before"][migrated.topic] == {
        "partitions": 1,
        "replication_factor": 1,
        # Those that it had for clients, not those of the standby that it was.
        "configs": {
            "message.timestamp.type": "CreateTime",
            "max.message.bytes": "1048588",
            **NO_TIME_LIMITS,  # what Kafka 3 has by default
        },
    }
    assert entries["denials"]["before"] == [f"User:{migrated.app.appid} WRITE {migrated.topic}"]


def test_a_mirror_of_the_same_name_begins_anew(migrated: Migrated) -> None:
    """The offsets of its connectors are gone with it: else it would leave out what the old one had copied."""
    migrated.retire()
    eventually(lambda: exists_anew(migrated), "the cluster has deleted the Topic, and takes a new one")
    west = migrated.switch.target
    creating.create_mirror(migrated.switch.pair, migrated.mirror, [migrated.topic], west)
    eventually(
        lambda: records(migrated.switch.source, migrated.topic) == BEFORE + AFTER,
        "all of it is copied once more",
        patience=MIRROR_PATIENCE,
    )


def test_what_has_ended_is_not_seeded_again(migrated: Migrated) -> None:
    """A demo that is started again has the same world, whose Topics were on east; only the others are put there."""
    pair, app = migrated.switch.pair, migrated.app
    other = f"{app.prefix}other"
    world = World(
        topics={migrated.topic: 1, other: 1},
        mirrors={migrated.mirror: (migrated.topic,)},
        prefixes={},
        reads={},
        owners={app.appid: "Archive team"},
        instances={app.appid: ("archive-1",)},
        clients=(),
    )
    seeding.put(world, pair)
    assert migrated.connectors() != [], (
        "while the migration has not come to its end, its mirror stays as it is"
    )

    migrated.retire()
    for _ in range(2):
        seeding.put(world, pair)
        assert migrated.topic not in migrated.east.topics()
        assert other in migrated.east.topics()
        assert not Mirror.objects.filter(name=migrated.mirror).exists()
        assert migrated.connectors() == []
    assert [instance.name for instance in InstanceID.objects.filter(appid__name=app.appid)] == ["archive-1"]
    migrated.east.delete_topics([other])


def test_a_worker_that_dies_anywhere_leaves_nothing_half_done(
    migrated: Migrated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies before and after everything that it changes; each time another one goes on from what it finds."""
    died: list[str] = []

    def dying(what: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def act_or_die(*arguments: Any, **options: Any) -> Any:
            for when in ("before", "after"):
                if when == "after":
                    answer = action(*arguments, **options)
                if f"{when} {what}" not in died:
                    died.append(f"{when} {what}")
                    raise Killed(f"{when} {what}")
            return answer

        return act_or_die

    monkeypatch.setattr(ending, "stop", dying("stopping the mirror", ending.stop))
    monkeypatch.setattr(ending, "remove", dying("deleting the mirror", ending.remove))
    monkeypatch.setattr(standby, "allow_writes", dying("lifting the denials", standby.allow_writes))
    for what in ("delete_groups", "delete_topics"):
        monkeypatch.setattr(ClusterClient, what, dying(what, getattr(ClusterClient, what)))
    monkeypatch.setattr(services, "finish", dying("the end", services.finish))

    held = services.retire_now(migrated.operator, migrated.switch, "east", lambda retirement: None)
    deaths = 0
    while held.current is Status.RUNNING:
        try:
            held = migrated.go_on(held)
        except Killed:
            deaths += 1
            held.refresh_from_db()
    assert deaths == len(died) == 12
    assert_removed(migrated, held)
    assert [e.details["what"] for e in Entry.objects.filter(verb="removed").order_by("number")] == [
        "mirrors",
        "groups",
        "topics",
        "denials",
    ]


def test_what_somebody_else_has_written_to_is_not_removed(migrated: Migrated, kafka: Clusters) -> None:
    """Past the Gateway, as an administrator can. The mirror is stopped to know it for certain, and runs again."""
    produce(kafka.described["east"].client_config(), migrated.topic, b"not from the mirror")
    held = migrated.retire()
    assert held.current is Status.FAILED
    assert held.removed == []
    assert_stays(migrated)


def test_what_somebody_reads_there_is_not_removed(migrated: Migrated, kafka: Clusters) -> None:
    east = kafka.described["east"].client_config()
    with Reader(east, migrated.topic, migrated.group) as reader:
        eventually(lambda: reader.assigned == 1, "the member's partition")
        held = migrated.retire()
    assert str(held.outcome_sentence).startswith(f"Group {migrated.group} has members on east: ")
    assert_stays(migrated)
    assert migrated.retire().current is Status.DONE, "when it has gone, somebody can have it removed"
