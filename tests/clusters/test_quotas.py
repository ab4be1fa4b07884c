"""Client quotas on real brokers: read, compared, copied, and enforced for clients behind a Gateway."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from support.environment import Cluster
from support.gateway import GatewayProcess
from support.kafka import App, Clusters
from support.quotas import Quotas, access_of, quotas_of
from support.waiting import eventually

from hadash.bindings.model import Binding, BindingState
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import Pair
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import ClusterUnavailable, KafkaError
from hadash.kafka.values import DEFAULT, QuotaEntity
from hadash.radius.scope import Scope
from hadash.switching.execution import quotas as switching_quotas
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.machines.switches import Kind
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import QuotaCheck, QuotasFound
from hadash.switching.stages.command import Command
from hadash.switching.stages.context import StageContext

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

WRITE, READ = "producer_byte_rate", "consumer_byte_rate"

#: More than anybody on the stack writes: other tests' clients do not notice it.
PLENTY = 1e12


@pytest.fixture
def both(clusters: dict[str, Cluster]) -> Iterator[dict[str, Quotas]]:
    with ExitStack() as held:
        yield {name: held.enter_context(quotas_of(cluster)) for name, cluster in clusters.items()}


@pytest.mark.parametrize("cluster", ["east", "west"])
@pytest.mark.parametrize(
    "entity",
    [
        QuotaEntity(user="t-shop"),
        QuotaEntity(user="t-shop", client_id="web-1"),
        QuotaEntity(user="t-shop", client_id=DEFAULT),
        QuotaEntity(client_id="t-web"),
        QuotaEntity(user=DEFAULT),
        QuotaEntity(user=DEFAULT, client_id=DEFAULT),
        QuotaEntity(client_id=DEFAULT),
        QuotaEntity(user="CN=订单, OU=a/b c", client_id="HA#t-shop#a%2Fb"),
        QuotaEntity(user="<default>"),  # a user, although ZooKeeper has that name for the default
    ],
    ids=str,
)
def test_a_quota_of_every_kind_is_read_as_it_was_set(
    both: dict[str, Quotas], cluster: str, entity: QuotaEntity
) -> None:
    both[cluster].set(entity, producer_byte_rate=PLENTY, request_percentage=1234.5)
    eventually(lambda: both[cluster].of(entity), "the quota")
    assert both[cluster].of(entity) == {WRITE: PLENTY, "request_percentage": 1234.5}
    both[cluster].set(entity, consumer_byte_rate=PLENTY)
    eventually(lambda: READ in both[cluster].of(entity), "another of it")
    assert WRITE in both[cluster].of(entity)


def test_so_is_one_of_an_address(both: dict[str, Quotas]) -> None:
    for ip in ("10.99.99.99", DEFAULT):
        both["west"].set(QuotaEntity(ip=ip), connection_creation_rate=10_000)
        eventually(lambda ip=ip: both["west"].of(QuotaEntity(ip=ip)), "the quota")


def test_an_account_without_the_right_is_told_so(clusters: dict[str, Cluster], app: App) -> None:
    client = ClusterClient(access_of(clusters["west"], app.appid, app.password))
    for ask in (client.quotas, lambda: client.set_quotas({QuotaEntity(user="t-shop"): {WRITE: 1.0}})):
        with pytest.raises(
            KafkaError, match=r"Cluster west could not .* ClusterAuthorizationFailed"
        ) as refused:
            ask()
        assert not isinstance(refused.value, ClusterUnavailable)
    client.close()


class Switch:
    """A switch of one AppID or InstanceID from east to west."""

    def __init__(self, app: App, both: dict[str, Quotas], pair: Pair) -> None:
        self.app, self.both, self.pair = app, both, pair
        self.user = QuotaEntity(user=app.appid)

    def plan(self, *instances: str, kind: Kind = Kind.PLANNED) -> Plan:
        appid = self.app.appid
        identities = tuple(Identity(appid, name) for name in instances) or (Identity(appid),)
        return Plan("main", Scope.of(identities[0]), "east", "west", identities, (), (), (), kind=kind)

    def ask(self, command: Command[Any], *instances: str, kind: Kind = Kind.PLANNED) -> Any:
        return CommandHandler(
            self.plan(*instances, kind=kind), None, StageContext(), lambda sentence: None
        ).carry_out(command)

    def client(self, name: str) -> QuotaEntity:
        return QuotaEntity(user=self.app.appid, client_id=name)

    def set(self, cluster: str, entity: QuotaEntity, **rates: float) -> None:
        quotas = self.both[cluster]
        quotas.set(entity, **rates)
        eventually(lambda: rates.items() <= quotas.of(entity).items(), "the quota")


@pytest.fixture
def switch(app: App, both: dict[str, Quotas], stack_pair: Pair) -> Switch:
    return Switch(app, both, stack_pair)


class TestASwitch:
    def test_without_quotas_nothing_is_found(self, switch: Switch) -> None:
        assert switch.ask(do.CheckQuotas()) == QuotaCheck()
        assert switch.ask(do.CopyQuotas()) == []

    def test_what_the_target_lacks_is_copied_once(self, switch: Switch) -> None:
        appid = switch.app.appid
        switch.set("east", switch.user, producer_byte_rate=52428800, request_percentage=150.5)
        switch.set("east", switch.client("web-1"), consumer_byte_rate=1048576)
        copied = (
            f"user {appid}, client-id web-1: consumer_byte_rate 1048576",
            f"user {appid}: producer_byte_rate 52428800",
            f"user {appid}: request_percentage 150.5",
        )
        assert switch.ask(do.CheckQuotas()) == QuotaCheck(missing=copied)
        assert tuple(switch.ask(do.CopyQuotas())) == copied
        west = switch.both["west"]
        eventually(lambda: west.of(switch.client("web-1")), "the copy")
        assert west.of(switch.user) == {WRITE: 52428800.0, "request_percentage": 150.5}
        assert switch.ask(do.CheckQuotas()) == QuotaCheck()
        assert switch.ask(do.CopyQuotas()) == []

    def test_50_mb_here_and_1_mb_there_stands_against_it_and_is_not_overwritten(self, switch: Switch) -> None:
        switch.set("east", switch.user, producer_byte_rate=52428800)
        switch.set("west", switch.user, producer_byte_rate=1048576)
        assert switch.ask(do.CheckQuotas()) == QuotaCheck(
            less=(f"{switch.app.appid}: producer_byte_rate 52428800 (user) → 1048576 (user)",)
        )
        assert switch.ask(do.CopyQuotas()) == []
        assert switch.both["west"].of(switch.user) == {WRITE: 1048576.0}

    def test_readers_are_not_concerned_by_what_writers_may(self, switch: Switch) -> None:
        switch.set("west", switch.user, producer_byte_rate=1048576)
        assert switch.ask(do.CheckQuotas()).less
        assert switch.ask(do.CheckQuotas(), kind=Kind.READ_SPLIT) == QuotaCheck()
        switch.set("west", switch.user, consumer_byte_rate=1048576)
        assert switch.ask(do.CheckQuotas(), kind=Kind.READ_SPLIT).less

    def test_a_default_of_the_target_counts(self, switch: Switch) -> None:
        switch.set("west", QuotaEntity(user=DEFAULT), producer_byte_rate=PLENTY)
        (less,) = switch.ask(do.CheckQuotas()).less
        assert less == f"{switch.app.appid}: producer_byte_rate ∞ → 1000000000000 (user)"

    def test_an_instance_takes_its_own_along_and_not_the_others(self, switch: Switch) -> None:
        for name in ("web-1", "web-2"):
            switch.set("east", switch.client(name), producer_byte_rate=1048576)
        assert switch.ask(do.CopyQuotas(), "web-1") == [
            f"user {switch.app.appid}, client-id web-1: producer_byte_rate 1048576"
        ]

    def test_what_is_copied_must_not_take_anything_from_who_is_there_already(self, switch: Switch) -> None:
        """web-2 is on west, where nothing limits it; its AppID's quota would."""
        appid = switch.app.appid
        switch.set("east", switch.user, producer_byte_rate=1048576)
        assert not switch.ask(do.CheckQuotas(), "web-1").narrowed
        self.bind(switch, Identity(appid, "web-2"), "west")
        assert switch.ask(do.CheckQuotas(), "web-1").narrowed == (
            f"{appid} › web-2: producer_byte_rate ∞ → 1048576 (user)",
        )

    @staticmethod
    def bind(switch: Switch, identity: Identity, cluster: str) -> None:
        dialect_of(switch.pair).change([Edit(identity, Binding(cluster, BindingState.FORWARD))])

    def test_who_may_not_read_them_does_not_know(
        self, switch: Switch, clusters: dict[str, Cluster], app: App
    ) -> None:
        unable = ClusterClient(access_of(clusters["west"], app.appid, app.password))
        able = switch.both["east"].client
        found = switching_quotas.check(switch.pair, switch.plan(), able, unable)
        assert re.fullmatch(
            r"Cluster west could not read the quotas of its clients: ClusterAuthorizationFailed.*\.",
            str(found.unknown),
        )
        read = switching_quotas.read(switch.pair, switch.plan(), unable)
        assert (read.unknown, read.found) == (found.unknown, ())
        unable.close()

    def test_without_a_source_the_targets_are_told(self, switch: Switch) -> None:
        switch.set("west", switch.user, producer_byte_rate=1048576)
        assert switch.ask(do.ReadQuotas(), kind=Kind.FORCED) == QuotasFound(
            found=(f"{switch.app.appid}: producer_byte_rate 1048576 (user)",)
        )


@pytest.fixture
def gateway(
    switch: Switch, chroot: str, zookeeper_hosts: str, kafka: Clusters, tmp_path: Path
) -> Iterator[GatewayProcess]:
    with GatewayProcess(chroot, zookeeper_hosts, tmp_path) as running:
        yield running


@pytest.mark.parametrize(
    "entities",
    [
        ["user"],
        ["user, client-id"],
        ["user, default client-id"],
        ["client-id"],
        # The first is in effect, whatever the others allow.
        ["user, client-id", "user, default client-id", "user", "client-id"],
        ["user, default client-id", "user", "client-id"],
        ["user", "default user, client-id", "client-id"],
        ["default user, client-id", "client-id"],
    ],
    ids=" before ".join,
)
def test_brokers_behind_a_gateway_see_the_clients_own_user_and_client_id(
    switch: Switch, gateway: GatewayProcess, entities: list[str]
) -> None:
    """And enforce the most specific quota, as :func:`hadash.mirroring.quotas.in_effect` has it."""
    appid, name = switch.app.appid, f"{switch.app.appid}-web"
    known = {
        "user": switch.user,
        "user, client-id": switch.client(name),
        "user, default client-id": switch.client(DEFAULT),
        "default user, client-id": QuotaEntity(user=DEFAULT, client_id=name),
        "client-id": QuotaEntity(client_id=name),
    }
    for each in entities[1:]:
        switch.set("east", known[each], producer_byte_rate=PLENTY)
    switch.set("east", known[entities[0]], producer_byte_rate=1)
    throttled: list[str] = []
    producer = Producer(
        switch.app.config(
            gateway.bootstrap, client_id=name, throttle_cb=lambda event: throttled.append(event.broker_name)
        )
    )
    topic = switch.app.topic()

    def is_throttled() -> bool:
        producer.produce(topic, b"x" * 1000)
        producer.poll(0.2)
        return bool(throttled)

    assert eventually(is_throttled, f"{appid} throttled", patience=20)
    producer.purge()
