"""Which engine governs a pair: registered, chosen, refused when it is half configured."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE
from support.zookeeper import SESSION_SECONDS

from hadash.bindings import client as client_module
from hadash.bindings.didi.dialect import DidiDialect
from hadash.bindings.errors import NotConfigured
from hadash.bindings.model import Binding
from hadash.bindings.native import NativeDialect
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash.inventory.checks import didi_engines_have_their_time_within_a_block
from hadash.inventory.dialects import dialect_of, fault_of
from hadash.inventory.models import AppID, Cluster, Pair
from hadash.inventory.services import NotRegistered, register_pair

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

HOSTS = {"east": "z:2181/east", "west": "z:2181/west", "gateway": "z:2181/sd"}


@pytest.fixture(autouse=True)
def own_zookeeper(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dialects", "services"):
        monkeypatch.setattr(f"hadash.inventory.{module}.zookeeper", lambda: zookeeper)


@pytest.fixture
def clusters() -> list[Cluster]:
    return [
        Cluster.objects.create(
            name=name,
            number=number,
            bootstrap_servers=f"{name}:9092",
            admin_username="admin",
            admin_password="a",
            mirror_username="mirror",
            mirror_password=f"{name}-secret",
        )
        for number, name in ((1, "east"), (2, "west"))
    ]


def register(clusters: list[Cluster], **engine: Any) -> Pair:
    return register_pair("main", clusters[0], clusters[1], clusters[0], **engine)


def test_hadashs_own_is_the_default(clusters: list[Cluster]) -> None:
    pair = register(clusters)
    assert (pair.dialect, pair.didi_zookeeper) == ("native", {})
    assert isinstance(dialect_of(pair), NativeDialect)


def test_didis_is_one_for_the_process_and_connects_when_it_is_used(clusters: list[Cluster]) -> None:
    pair = register(clusters, dialect="didi", didi_zookeeper=HOSTS)
    dialect = dialect_of(pair)
    assert isinstance(dialect, DidiDialect)
    assert dialect_of(Pair.objects.get()) is dialect
    assert [(tree.name, tree.cluster_id) for tree in dialect.fleet.trees] == [
        ("east", "1"),
        ("west", "2"),
        ("gateway", ""),
    ]
    assert dialect.default == "east"
    assert dialect.document("shop").default is None


def test_registering_again_without_saying_keeps_it(clusters: list[Cluster]) -> None:
    register(clusters, dialect="didi", didi_zookeeper=HOSTS)
    assert register(clusters).didi_zookeeper == HOSTS


@pytest.mark.parametrize(
    ("dialect", "servers", "why"),
    [
        ("kafka", {}, "Dialect kafka is none of native, didi."),
        ("native", HOSTS, "didi_zookeeper is for the dialect didi only."),
        ("didi", {}, "has to say where the ZooKeepers of east, west, gateway are, and no others"),
        ("didi", {**HOSTS, "north": "z:1"}, "has to say where"),
        ("didi", ["z:1"], "has to say where"),
        ("didi", {**HOSTS, "east": "z"}, "of east is host:port,host:port/chroot, not z."),
        ("didi", {**HOSTS, "east": None}, "of east is host:port"),
        ("didi", {**HOSTS, "east": "z:2181/west"}, "names one ZooKeeper twice"),
    ],
)
def test_what_does_not_fit_is_said(clusters: list[Cluster], dialect: str, servers: Any, why: str) -> None:
    with pytest.raises(NotRegistered, match=why):
        register(clusters, dialect=dialect, didi_zookeeper=servers)
    assert not Pair.objects.exists()


def test_a_cluster_called_gateway_cannot_be_told_from_the_gateway() -> None:
    assert fault_of("didi", ["east", "gateway"], {"east": "z:1", "gateway": "z:2"}) is not None


def test_a_pair_that_was_half_configured_past_the_door(clusters: list[Cluster]) -> None:
    register(clusters)
    Pair.objects.update(dialect="didi")
    with pytest.raises(NotConfigured, match="has to say where the ZooKeepers of east, west, gateway are"):
        dialect_of(Pair.objects.get())


def test_another_engine_would_not_know_where_clients_are(
    clusters: list[Cluster], zookeeper: KazooClient
) -> None:
    pair = register(clusters)
    register(clusters, dialect="didi", didi_zookeeper=HOSTS)  # nobody is bound yet
    AppID.objects.create(name="shop", pair=pair)
    BindingStore(zookeeper).change([Edit(Identity("shop"), Binding("west"))])
    with pytest.raises(NotRegistered, match=r"AppIDs of pair main are bound already \(shop\)"):
        register(clusters, dialect="native", didi_zookeeper={})


def test_pairing_uses_the_mirrors_account_and_shows_it_nobody(
    clusters: list[Cluster],
    zookeeper: KazooClient,
    zookeeper_hosts: str,
    chroot: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from hadash.audit.models import Entry

    monkeypatch.setattr(client_module, "SESSION_TIMEOUT_SECONDS", SESSION_SECONDS)
    for name, number in (("east", b"1"), ("west", b"2"), ("sd", b"")):
        data = b'{"version":"1","id":"%s"}' % number
        zookeeper.create(f"/{name}/cluster/id", data, acl=OPEN_ACL_UNSAFE, makepath=True)
    hosts = {
        n: f"{zookeeper_hosts}{chroot}/{p}"
        for n, p in (("east", "east"), ("west", "west"), ("gateway", "sd"))
    }
    register(clusters, dialect="didi", didi_zookeeper=hosts)
    out = io.StringIO()
    Cluster.objects.filter(name="west").update(tls_ca="a private authority")
    with pytest.raises(CommandError, match="--stores-in-place"):
        call_command("didi_pairing", "main")
    assert zookeeper.exists("/east/config/ha-clusters/2") is None
    call_command("didi_pairing", "main", stores_in_place=True, stdout=out)
    assert out.getvalue() == "east and west are paired for DiDi's engines.\n"
    assert b"west-secret" in zookeeper.get("/east/config/ha-clusters/2")[0]
    shown = out.getvalue() + caplog.text + str(list(Entry.objects.values()))
    assert "secret" not in shown
    call_command("didi_pairing", "main", remove=True, stdout=out)
    assert zookeeper.get("/east/config/ha-clusters/2")[0] == b'{"version":1,"config":{}}'
    assert [entry.verb for entry in Entry.objects.order_by("pk")] == ["pair", "unpair"]
    for tree in dialect_of(Pair.objects.get()).fleet.trees:  # type: ignore[attr-defined]
        tree.client.stop()


def test_pairing_of_a_pair_that_is_not_didis(clusters: list[Cluster]) -> None:
    register(clusters)
    with pytest.raises(CommandError, match=r"^Pair main is not governed by DiDi's engine\.$"):
        call_command("didi_pairing", "main")
    with pytest.raises(CommandError, match="There is no pair 'nobody'"):
        call_command("didi_pairing", "nobody")


@pytest.mark.parametrize(("seconds", "ids"), [(3, []), (10, ["hadash.E010"]), (-1, ["hadash.E010"])])
def test_the_engines_time_has_to_fit_into_a_block(settings: Any, seconds: float, ids: list[str]) -> None:
    settings.DIDI_APPLY_SECONDS = seconds
    assert [error.id for error in didi_engines_have_their_time_within_a_block(None)] == ids
