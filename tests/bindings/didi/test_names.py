"""Names of users as the engine reads them, and config nodes as Kafka reads them. No servers."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.didi import names
from hadash.bindings.didi.nodes import (
    ACTIVE_CLUSTER,
    REMOTE_CLUSTER,
    SYNC_CONFIGS,
    ConfigNode,
    NotAConfigNode,
)
from hadash.bindings.errors import NotKnownToEngine
from hadash.identity.identity import Identity

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("identity", "node"),
    [
        (Identity("appA", "P#order1"), "appA%23P%23order1"),  # the text's own example
        (Identity("appA"), "appA"),
        (Identity("a b+c*d"), "a%20b%2Bc%2Ad"),
        (Identity("购物"), "%E8%B4%AD%E7%89%A9"),
        (Identity("购物", "网页 1"), "%E8%B4%AD%E7%89%A9%23%E7%BD%91%E9%A1%B5%201"),
        (Identity("a.b-c_d~e"), "a.b-c_d%7Ee"),
        (Identity("User/x:y@z"), "User%2Fx%3Ay%40z"),
    ],
)
def test_nodes_of_users(identity: Identity, node: str) -> None:
    assert names.node_of(identity) == node
    assert names.identity_of(node) == identity


@given(NAMES.filter(lambda name: "#" not in name and name not in (".", "..")), st.none() | NAMES)
def test_every_name_has_one_reading(appid: str, instance: str | None) -> None:
    node = names.node_of(Identity(appid, instance))
    assert names.identity_of(node) == Identity(appid, instance)
    assert node.isascii() and not set(node) & set("/+*# ")
    assert unquote(node).partition("#")[0] == appid  # the engine's own splitting


@pytest.mark.parametrize(
    ("identity", "why"),
    [
        (
            Identity("shop", topics=("orders",)),
            "DiDi's engine binds AppIDs and InstanceIDs only: it knows nothing of shop#orders.",
        ),
        (
            Identity("shop", topics=("a", "b")),
            "DiDi's engine binds AppIDs and InstanceIDs only: it knows nothing of shop#a, b.",
        ),
        (
            Identity("shop", group="readers"),
            "DiDi's engine binds AppIDs and InstanceIDs only: it knows nothing of shop##readers.",
        ),
        (
            Identity("shop#eu"),
            "AppID shop#eu contains #, at which DiDi's engine separates the InstanceID: it could not tell them apart.",
        ),
        (
            Identity("shop#eu", "web"),
            "AppID shop#eu contains #, at which DiDi's engine separates the InstanceID: it could not tell them apart.",
        ),
        (Identity(".."), "ZooKeeper has no place for a user named ..."),
    ],
)
def test_what_the_engine_does_not_know_is_refused(identity: Identity, why: str) -> None:
    with pytest.raises(NotKnownToEngine) as refused:
        names.node_of(identity)
    assert str(refused.value) == why


class TestNodes:
    def test_all_that_is_not_changed_stays(self) -> None:
        node = ConfigNode.from_bytes(
            '{"version":1,"config":{"SCRAM-SHA-512":"s","note":"购物"},"owner":{"team":["a"]}}'.encode()
        )
        changed = node.with_keys({ACTIVE_CLUSTER: "2"})
        assert ConfigNode.from_bytes(changed.to_bytes()) == changed
        assert changed.with_keys({ACTIVE_CLUSTER: None}) == node
        assert changed.config["note"] == "购物"
        assert changed.rest == {"owner": {"team": ["a"]}}

    @pytest.mark.parametrize("data", [b"", None, b'{"version":1}', b'{"version":1,"config":{}}'])
    def test_a_node_without_config(self, data: bytes | None) -> None:
        assert ConfigNode.from_bytes(data).config == {}

    @pytest.mark.parametrize(
        "data",
        [
            b"garbage",
            b"[]",
            b"7",
            b'{"config":{}}',
            b'{"version":2,"config":{}}',
            b'{"version":1,"config":[]}',
            b'{"version":1,"config":null}',
            b'{"version":1,"config":{"a":1}}',
            b"\xff\xfe",
            b"[" * 100_000,
        ],
    )
    def test_garbage_is_refused_without_being_shown(self, data: bytes) -> None:
        with pytest.raises(NotAConfigNode) as refused:
            ConfigNode.from_bytes(data)
        assert str(refused.value) == "it is no config node of version 1"
        assert refused.value.__cause__ is None

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            (ACTIVE_CLUSTER, "none"),
            (ACTIVE_CLUSTER, ""),
            (ACTIVE_CLUSTER, "east"),
            (ACTIVE_CLUSTER, "٢"),
            (REMOTE_CLUSTER, "None"),
            (REMOTE_CLUSTER, "-1"),
            (SYNC_CONFIGS, "yes"),
            ("didi.ha.active.clutser", "2"),
            ("sasl.jaas.config", ""),
        ],
    )
    def test_what_the_engine_does_not_take_is_not_written(self, key: str, value: str) -> None:
        with pytest.raises(ValueError, match="cannot be written") as refused:
            ConfigNode().with_keys({key: value})
        assert not value or repr(value) not in str(refused.value)

    def test_its_repr_shows_no_credentials(self) -> None:
        node = ConfigNode.from_bytes(b'{"version":1,"config":{"SCRAM-SHA-256":"stored_key=abc"}}')
        assert "abc" not in repr(node)
