"""hadash's nodes are its user's alone, and what is said to ZooKeeper can be encrypted; on real servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import READ_ACL_UNSAFE
from support.certificates import Authority
from support.gateway import free_ports

from hadash.bindings import layout
from hadash.bindings.access import Access
from hadash.bindings.client import connect
from hadash.bindings.epochs import Report
from hadash.bindings.errors import NotAllowed, StoreUnavailable
from hadash.bindings.member import Member
from hadash.bindings.membership import set_excluded
from hadash.bindings.model import Binding
from hadash.bindings.securing import secure
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash_sandbox.java import find_java
from hadash_sandbox.zookeeper import ZooKeeper


class TestSettings:
    def test_nothing_is_needed(self) -> None:
        assert Access.from_environment({}).options() == {}

    def test_a_password_from_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "password"
        file.write_text("word\n")
        found = Access.from_environment(
            {"HADASH_ZOOKEEPER_USER": "hadash", "HADASH_ZOOKEEPER_PASSWORD_FILE": str(file)}
        )
        assert found.options()["auth_data"] == [("digest", "hadash:word")]
        assert "word" not in repr(found)

    def test_an_old_password_beside_the_new_one(self, tmp_path: Path) -> None:
        file = tmp_path / "password"
        file.write_text("old\n")
        found = Access.from_environment(
            {
                "HADASH_ZOOKEEPER_USER": "hadash",
                "HADASH_ZOOKEEPER_PASSWORD": "word",
                "HADASH_ZOOKEEPER_OLD_PASSWORD_FILE": str(file),
            }
        )
        options = found.options()
        assert options["auth_data"] == [("digest", "hadash:word"), ("digest", "hadash:old")]
        assert options["default_acl"] == [*(OURS.acl or []), *(OUR_OLD.acl or [])], (
            "for those that have one only"
        )
        assert found.acl == OURS.acl, "what secure_zookeeper leaves"
        assert "old" not in repr(found).replace("old_password", "")

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"USER": "hadash"}, "HADASH_ZOOKEEPER_USER and a password .* belong together"),
            ({"PASSWORD": "word"}, "HADASH_ZOOKEEPER_USER and a password .* belong together"),
            ({"USER": "a:b", "PASSWORD": "word"}, "must not contain a colon"),
            ({"PASSWORD": "a", "PASSWORD_FILE": "/b"}, "not both"),
            ({"USER": "a", "PASSWORD_FILE": "/no/such"}, "PASSWORD_FILE='/no/such' cannot be read"),
            ({"OLD_PASSWORD": "old"}, "OLD_PASSWORD needs HADASH_ZOOKEEPER_USER"),
            ({"USER": "a", "PASSWORD": "b", "OLD_PASSWORD": "c", "OLD_PASSWORD_FILE": "/d"}, "not both"),
            ({"TLS_CA": "/no/such.pem"}, "TLS_CA='/no/such.pem' cannot be read"),
            ({"TLS_KEY": "/k.pem"}, "TLS_CERTIFICATE and HADASH_ZOOKEEPER_TLS_KEY belong together"),
            ({"TLS_KEY": "/k.pem", "TLS_CERTIFICATE": "/c.pem"}, "needs HADASH_ZOOKEEPER_TLS_CA"),
        ],
    )
    def test_what_cannot_be_used_is_named(self, settings: dict[str, str], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Access.from_environment({f"HADASH_ZOOKEEPER_{name}": value for name, value in settings.items()})


def paths(client: KazooClient, path: str = "/") -> Iterator[str]:
    yield path
    for child in client.get_children(path):
        yield from paths(client, f"{path.rstrip('/')}/{child}")


OURS = Access("hadash", "word")
OUR_OLD = Access("hadash", "old")
SOMEBODY_ELSE = Access("else", "x")


@pytest.mark.stack
class TestWhoseNodesTheyAre:
    @pytest.fixture
    def sign_in(self, zookeeper_hosts: str, chroot: str) -> Iterator[Callable[[Access], KazooClient]]:
        opened: list[KazooClient] = []

        def action(access: Access) -> KazooClient:
            opened.append(connect(zookeeper_hosts, chroot, access=access))
            return opened[-1]

        yield action
        for client in opened:
            client.stop()
            client.close()

    @pytest.fixture(autouse=True)
    def clean(self, zookeeper_root: KazooClient, chroot: str) -> Iterator[None]:
        """The janitor is another user."""
        yield
        client = KazooClient(hosts=",".join(f"{h}:{p}" for h, p in zookeeper_root.hosts), **OURS.options())
        client.start()
        for other in (SOMEBODY_ELSE, OUR_OLD):
            client.add_auth(*other.options()["auth_data"][0])
        if client.exists(chroot):
            client.delete(chroot, recursive=True)
        client.stop()
        client.close()

    def test_every_node_is_the_users_alone(
        self, sign_in: Callable[[Access], KazooClient], zookeeper_hosts: str, chroot: str
    ) -> None:
        """Also ephemeral ones, changes, and what transactions make."""
        client = sign_in(OURS)
        store = BindingStore(client)
        store.take_over("s1", "block", 1)
        store.change([Edit(Identity("shop"), Binding("west"))])
        Member(client, "gateway-1", "h:9092", "http://h:9093", "1", 1).join(Report(1))
        set_excluded(client, "gateway-1", True)
        made = list(paths(client))
        assert {layout.binding("shop"), layout.gateway_live("gateway-1"), layout.switch("s1")} <= set(made)
        assert any(path.startswith(layout.CHANGE_PREFIX) for path in made)
        assert any(path.startswith(f"{layout.RETURNING}/") for path in made)
        assert {path for path in made if client.get_acls(path)[0] != OURS.acl} == set()
        for stranger in (Access(), Access("hadash", "guessed")):
            with pytest.raises(NotAllowed, match="HADASH_ZOOKEEPER_USER"):
                connect(zookeeper_hosts, chroot, access=stranger)

    def test_what_was_everybodys_is_taken_over(self, sign_in: Callable[[Access], KazooClient]) -> None:
        anybody = sign_in(Access())
        BindingStore(anybody).change([Edit(Identity("shop"), Binding("west"))])
        client = sign_in(OURS)
        anybody.create("/bindings/somebody-elses", acl=SOMEBODY_ELSE.acl)
        found = secure(client, OURS.acl or [])
        assert found.refused == ["/bindings/somebody-elses"]
        assert found.changed > 0
        with pytest.raises(NoAuthError):
            anybody.set(layout.binding("shop"), b"{}")
        again = secure(client, OURS.acl or [])
        assert (again.changed, again.already) == (0, found.changed)
        assert BindingStore(client).document("shop").default is not None

    def test_what_lies_below_a_node_of_somebody_else_is_secured_too(
        self, sign_in: Callable[[Access], KazooClient]
    ) -> None:
        """It may be our own: a node that anybody may write to would stay open, and nobody would hear of it."""
        anybody, client = sign_in(Access()), sign_in(OURS)
        anybody.create("/theirs")
        anybody.create("/theirs/open-to-all")
        protected = [*(SOMEBODY_ELSE.acl or []), *READ_ACL_UNSAFE]
        sign_in(SOMEBODY_ELSE).set_acls("/theirs", protected)
        assert secure(client, OURS.acl or []).refused == ["/theirs"]
        with pytest.raises(NoAuthError):
            anybody.set("/theirs/open-to-all", b"x")

    def test_a_password_is_replaced_and_nobody_is_locked_out_on_the_way(
        self, sign_in: Callable[[Access], KazooClient], zookeeper_hosts: str, chroot: str
    ) -> None:
        """The steps of docs/own-clusters.md: processes with both passwords, then secure_zookeeper, then the
        new one alone.
        """
        shop, billing = Identity("shop"), Identity("billing")
        before = BindingStore(sign_in(OUR_OLD))
        before.change([Edit(shop, Binding("west"))])
        with pytest.raises(NotAllowed):
            connect(zookeeper_hosts, chroot, access=OURS)
        between = BindingStore(sign_in(replace(OURS, old_password=OUR_OLD.password)))
        between.change([Edit(billing, Binding("west"))])
        assert before.document("billing").default is not None, "one that was not restarted yet reads it"
        before.change([Edit(shop, Binding("east"))])
        assert secure(between.client, OURS.acl or []).refused == []
        after = BindingStore(sign_in(OURS))
        assert set(after.documents()) == {"shop", "billing"}
        between.change([Edit(shop, Binding("west"))])
        assert after.document("shop").default is not None
        assert secure(after.client, OURS.acl or []).refused == []
        assert {path for path in paths(after.client) if after.client.get_acls(path)[0] != OURS.acl} == set()
        with pytest.raises(NotAllowed):
            connect(zookeeper_hosts, chroot, access=OUR_OLD)


@pytest.mark.stack
def test_a_server_with_tls_is_reached_and_no_other(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path), Authority(tmp_path, "Another CA")
    server, own = authority.issue("zookeeper"), authority.issue("hadash")
    port = free_ports(2)
    zookeeper = ZooKeeper(
        tmp_path,
        port,
        find_java(),
        "word",
        {
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "secureClientPort": port + 1,
            "secureClientPortAddress": "127.0.0.1",
            "ssl.keyStore.location": server.both(),
            "ssl.trustStore.location": authority.certificate,
        },
    )
    zookeeper.start(lambda _: None)
    try:
        hosts = f"127.0.0.1:{port + 1}"
        access = Access("hadash", "word", str(authority.certificate), str(own.certificate), str(own.key))
        client = connect(hosts, access=access)
        store = BindingStore(client)
        store.change([Edit(Identity("shop"), Binding("west"))])
        assert client.get_acls(layout.binding("shop"))[0] == access.acl
        client.stop()
        client.close()
        stranger = Access("hadash", "word", str(other.certificate), str(own.certificate), str(own.key))
        with pytest.MonkeyPatch.context() as patched, pytest.raises(StoreUnavailable, match="TLS_CA"):
            patched.setattr("hadash.bindings.client.CONNECT_TIMEOUT_SECONDS", 2.0)
            connect(hosts, access=stranger)
    finally:
        zookeeper.stop()
