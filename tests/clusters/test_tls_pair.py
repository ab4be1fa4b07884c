"""docs/own-clusters.md with TLS, from ``pair.json`` to records that a mirror has copied and a Gateway has written."""

from __future__ import annotations

import io
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings
from kazoo.client import KazooClient
from support.gateway import GatewayProcess
from support.kafka import produce
from support.running import Writer
from support.tls_pair import PASSWORDS, SESSION_MS, TlsPair, running_tls_pair
from support.waiting import eventually

from hadash.bindings.membership import members
from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash.inventory.models import Cluster
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import ClusterUnavailable, SignInRefused
from hadash.kafka.values import Acl, Committed, Partition
from hadash.mirroring.creating import await_topics
from hadash.mirroring.models import Mirror
from hadash.mirroring.services import cluster_client, connect_client, connector_of

pytestmark = [pytest.mark.stack, pytest.mark.django_db, pytest.mark.in_turn]


@pytest.fixture(scope="module")
def fleet(
    tmp_path_factory: pytest.TempPathFactory, zookeeper_root: KazooClient, zookeeper_hosts: str
) -> Iterator[TlsPair]:
    with running_tls_pair(tmp_path_factory.mktemp("tls"), zookeeper_root, zookeeper_hosts) as running:
        yield running


@pytest.fixture(autouse=True)
def own_zookeeper(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hadash.inventory.services.zookeeper", lambda: zookeeper)


@pytest.fixture
def register(fleet: TlsPair, tmp_path: Path) -> Callable[..., str]:
    """``hadash-manage register_pair pair.json``, with changes of south; what it says."""

    def run(**south: Any) -> str:
        path = tmp_path / "pair.json"
        clusters = [fleet.described("north"), fleet.described("south") | south]
        path.write_text(json.dumps({"name": "main", "default": "north", "clusters": clusters}))
        out = io.StringIO()
        call_command("register_pair", str(path), stdout=out)
        return out.getvalue()

    return run


def client_of(name: str) -> ClusterClient:
    return cluster_client(Cluster.objects.get(name=name))


def gateway_settings(fleet: TlsPair, folder: Path) -> dict[str, object]:
    """A Gateway whose clients come with certificates, and that knows brokers of both kinds."""
    authority = fleet.authority
    own, shop = authority.issue("lookup"), authority.issue("shop")
    listening = authority.issue("gateway")
    for name in ("certificate", "key"):
        (folder / name).write_bytes(getattr(listening, name).read_bytes())
    accounts = folder / "accounts.toml"
    accounts.touch(0o600)
    accounts.write_text(
        "".join(
            f'[{where}]\nmechanism = "SCRAM-SHA-512"\nusername = "{user}"\npassword = {json.dumps(PASSWORDS[user])}\n'
            for where, user in (("lookup.north", "lookup"), ("appids.shop.north", "shop"))
        )
        + f'[appids.shop.south]\ncertificate = "{shop.certificate}"\nkey = "{shop.key}"\n'
    )
    return {
        "HADASH_GATEWAY_SECURITY_PROTOCOL": "SSL",
        "HADASH_GATEWAY_TLS_CERTIFICATE": folder / "certificate",
        "HADASH_GATEWAY_TLS_KEY": folder / "key",
        "HADASH_GATEWAY_TLS_CLIENT_CA": authority.certificate,
        "HADASH_GATEWAY_PRINCIPAL_MAPPING_RULES": "RULE:^CN=(.*?),OU=Apps,O=Acme$/$1/",
        "HADASH_GATEWAY_UPSTREAM_CA": authority.certificate,
        "HADASH_GATEWAY_UPSTREAM_CERTIFICATE": f"south={own.certificate}",
        "HADASH_GATEWAY_UPSTREAM_KEY": f"south={own.key}",
        "HADASH_GATEWAY_ACCOUNTS": accounts,
    }


def shown(address: tuple[str, int], fleet: TlsPair) -> int:
    """The serial number of the certificate that listens there."""
    issued = fleet.authority.issue("somebody")
    context = ssl.create_default_context(cafile=fleet.authority.certificate)
    context.load_cert_chain(issued.certificate, issued.key)

    with (
        socket.create_connection(address) as plain,
        context.wrap_socket(plain, server_hostname=address[0]) as connected,
    ):
        found = connected.getpeercert()
        assert found is not None
        return int(str(found["serialNumber"]), 16)


def test_from_pair_json_to_a_mirror_and_a_gateway(
    fleet: TlsPair,
    register: Callable[..., str],
    zookeeper: KazooClient,
    chroot: str,
    zookeeper_hosts: str,
    tmp_path: Path,
) -> None:
    said = register()
    assert "north: 1 brokers, id " in said
    assert "south: 1 brokers, id " in said

    # hadash itself: Topics, groups and rules, on both.
    everything = [
        Acl("TOPIC", "shop.", "PREFIXED", "User:shop", "*", operation, "ALLOW")
        for operation in ("READ", "WRITE", "DESCRIBE")
    ]
    # The Gateway's own account, for look-ups.
    everything += [Acl("TOPIC", "*", "LITERAL", "User:lookup", "*", "DESCRIBE", "ALLOW")]
    for name in ("north", "south"):
        client = client_of(name)
        client.create_topics({"shop.free": (2, 1, {})})
        await_topics(client, ["shop.free"])
        client.create_acls(everything)
        client.set_group_offsets({"shop.group": {Partition("shop.free", 0): Committed(0)}})
        assert client.group_offsets(["shop.group"]) == {"shop.group": {Partition("shop.free", 0): 0}}
        assert set(everything) <= client.acls()
        assert client.groups(["shop.group"])["shop.group"].state == "Empty"
    client_of("north").create_topics({"shop.orders": (1, 1, {})})
    await_topics(client_of("north"), ["shop.orders"])

    # A mirror by the real Connect, from SASL_SSL to SSL.
    with override_settings(CONNECT_URL=fleet.connect.url):
        call_command("register_mirror", "main", "orders", "shop.orders", source="north", stdout=io.StringIO())
        mirror = Mirror.objects.get()
        try:
            produce(fleet.clusters.described["north"].client_config(), "shop.orders", b"one")
            eventually(
                lambda: fleet.clusters.end_offsets("south", "shop.orders") == {0: 1}, "the copy", patience=60
            )
        finally:
            connect_client().delete(connector_of(mirror, mirror.source))
    assert fleet.clusters.values("south", "shop.orders") == [b"one"]

    # A Gateway in front, TLS on both sides.
    shop = fleet.authority.issue("shop")
    settings = gateway_settings(fleet, tmp_path)
    with GatewayProcess(chroot, zookeeper_hosts, tmp_path, **settings) as gateway:
        config = {
            "bootstrap.servers": gateway.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(fleet.authority.certificate),
            "ssl.certificate.location": str(shop.certificate),
            "ssl.key.location": str(shop.key),
            "log_level": 0,
        }
        with Writer(config, "shop.free") as writer:
            # North ends sessions after some seconds. Nobody notices: neither clients of the Gateway's
            # accounts, nor hadash itself.
            north, free = client_of("north"), Partition("shop.free", 0)
            signed_in = gateway.metric("hadash_gateway_sign_ins_total")
            assert signed_in > 0

            def renewed() -> bool:
                assert [id for id, _, _ in north.brokers()] == [0]
                assert north.group_offsets(["shop.group"])["shop.group"] == {free: 0}
                assert len(north.tail(north.end_offsets([free]), {free: 0}, 3)[free]) == 3
                return gateway.metric("hadash_gateway_renewed_sessions_total") >= 2 * signed_in

            eventually(renewed, "sessions that were renewed twice", patience=10 * SESSION_MS / 1000)
            assert gateway.metric("hadash_gateway_sign_ins_total") == signed_in
            epoch = BindingStore(zookeeper).change([Edit(Identity("shop"), Binding("south"))])
            eventually(lambda: all(m.report.has(epoch) for m in members(zookeeper)), "the binding in effect")
            eventually(
                lambda: sum(fleet.clusters.end_offsets("south", "shop.free").values()) > 50,
                "writes on south",
            )
            writer.stop()
            assert writer.errors == []
            assert writer.reported == []

        # Its certificate is renewed while it runs.
        before = shown(gateway.address, fleet)
        renewed = fleet.authority.issue("gateway")
        for name in ("certificate", "key"):
            (tmp_path / name).write_bytes(getattr(renewed, name).read_bytes())
        gateway.hang_up()
        eventually(lambda: shown(gateway.address, fleet) != before, "the new certificate")
        (tmp_path / "key").write_text("broken")
        gateway.hang_up()
        file = f'file="{tmp_path / "certificate"}"'
        unusable = f"hadash_gateway_certificate_unusable{{{file}}}"
        eventually(lambda: gateway.metric(unusable) == 1, "the broken file noticed")
        assert gateway.logged("What was in effect before stays")
        assert shown(gateway.address, fleet) != before
        assert gateway.metric(f"hadash_gateway_certificate_expires_seconds{{{file}}}") > 3600


def test_what_is_wrong_with_tls_is_said_with_what_to_do(
    fleet: TlsPair, register: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from support.certificates import Authority

    monkeypatch.setattr("hadash.kafka.cluster.REQUEST_SECONDS", 2.0)
    other = Authority(tmp_path, "Other CA")
    stranger = other.issue("admin")
    _, port = fleet.listener["south"].split(":")
    assert "south: 1 brokers" in register()
    assert "is not issued by the cluster's tls_ca" in register(tls_ca=other.certificate.read_text())
    assert "does not accept hadash's certificate" in register(
        tls_certificate=stranger.certificate.read_text(), tls_key=stranger.key.read_text()
    )
    assert "is for other names" in register(bootstrap_servers=f"127.1:{port}")
    assert "wants a certificate of hadash's own" in register(tls_certificate="", tls_key="")


def test_an_account_that_is_refused_is_named_with_what_was_said(
    fleet: TlsPair, register: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # librdkafka tries again until the time is over; the groups' client hears it at the first try.
    monkeypatch.setattr("hadash.kafka.cluster.REQUEST_SECONDS", 5.0)
    register()
    client = ClusterClient(replace(Cluster.objects.get(name="north").access, password="wrong"))
    try:
        # (Which of both it is decides whether a cluster counts as lost, and librdkafka is asked for that.)
        for ask, kind in ((client.brokers, SignInRefused), (client.group_names, ClusterUnavailable)):
            with pytest.raises(kind) as refused:
                ask()
            assert "refuses account admin (SCRAM-SHA-512): " in str(refused.value)
            assert "invalid credentials" in str(refused.value)
    finally:
        client.close()
