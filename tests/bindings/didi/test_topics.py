"""Mirrors of single Topics, and clusters that know each other, on real trees."""

from __future__ import annotations

import pytest

from hadash.bindings.didi.fleet import Fleet
from hadash.bindings.didi.pairing import Access, pair_up, unpair
from hadash.bindings.didi.topics import source_of, start, stop, turn
from hadash.bindings.didi.trees import Tree
from hadash.bindings.errors import BindingConflict, StaleWriter

from .conftest import Layout
from .engine import Killed, around_commits

pytestmark = pytest.mark.stack

REMOTE, CONFIGS = "didi.ha.remote.cluster", "didi.ha.sync.topic.configs.enabled"
EAST = Access("e1:9092,e2:9092", "SASL_PLAINTEXT", "PLAIN", "mirror", 'se"cr\\et')
WEST = Access("w1:9092", "SASL_SSL", "SCRAM-SHA-512", "mirror", "other", didi_kafka=False)


def nobody_else(names: object) -> None:
    """No fence."""


@pytest.fixture
def east(fleet: Fleet) -> Tree:
    return fleet.clusters["east"]


@pytest.fixture
def west(fleet: Fleet) -> Tree:
    return fleet.clusters["west"]


class TestMirrors:
    def test_start_and_stop(self, east: Tree, west: Tree, layout: Layout) -> None:
        start(east, west, ["orders"], nobody_else)
        assert layout.config("west", "/config/ha-topics/orders") == {REMOTE: "1", CONFIGS: "true"}
        assert layout.config("east", "/config/ha-topics/orders") is None
        assert layout.notices("west") == [{"version": 2, "entity_path": "ha-topics/orders"}]
        stop(west, ["orders"], nobody_else)
        assert layout.config("west", "/config/ha-topics/orders") == {}

    def test_turning_keeps_every_other_key(self, east: Tree, west: Tree, layout: Layout) -> None:
        others = {"didi.ha.sync.topic.partitions.enabled": "true"}
        for tree in ("east", "west"):
            layout.put(tree, "/config/ha-topics/orders", {"version": 1, "config": others, "note": "mine"})
        start(east, west, ["orders"], nobody_else)
        turn(west, east, ["orders"], nobody_else)
        assert layout.config("west", "/config/ha-topics/orders") == others
        assert layout.config("east", "/config/ha-topics/orders") == {**others, REMOTE: "2", CONFIGS: "true"}
        assert b'"note": "mine"' in layout.raw("east", "/config/ha-topics/orders").replace(b'":"', b'": "')

    def test_both_ways_at_once_is_refused(self, east: Tree, west: Tree, layout: Layout) -> None:
        start(east, west, ["carts", "orders"], nobody_else)
        with pytest.raises(BindingConflict) as refused:
            start(west, east, ["orders"], nobody_else)
        assert str(refused.value) == "west copies orders from east: both ways at once would be a loop."
        assert layout.config("east", "/config/ha-topics/orders") is None

    def test_another_source_is_removed_before_it_is_changed(
        self, east: Tree, west: Tree, layout: Layout
    ) -> None:
        """The engine does not take a change of the key."""
        layout.put("west", "/config/ha-topics/orders", {"version": 1, "config": {REMOTE: "7"}})
        start(east, west, ["orders"], nobody_else)
        assert source_of(west, ["orders"]) == {"orders": "1"}
        assert len(layout.notices("west")) == 2

    @pytest.mark.parametrize("at", [1, 2])
    def test_turning_is_completed_after_a_kill(self, east: Tree, west: Tree, at: int) -> None:
        start(east, west, ["carts", "orders"], nobody_else)

        def kill(count: int) -> None:
            if count == at:
                raise Killed

        with around_commits([east.client, west.client], after=kill), pytest.raises(Killed):
            turn(west, east, ["carts", "orders"], nobody_else)
        turn(west, east, ["carts", "orders"], nobody_else)
        assert source_of(west, ["carts", "orders"]) == {"carts": None, "orders": None}
        assert source_of(east, ["carts", "orders"]) == {"carts": "2", "orders": "2"}

    def test_whoever_was_replaced_turns_nothing(self, east: Tree, west: Tree) -> None:
        start(east, west, ["orders"], nobody_else)

        def replaced(names: object) -> None:
            raise StaleWriter("replaced")

        with pytest.raises(StaleWriter):
            turn(west, east, ["orders"], replaced)
        assert source_of(west, ["orders"]) == {"orders": "1"}


class TestPairing:
    def test_four_nodes_and_the_offsets_both_ways(self, fleet: Fleet, layout: Layout) -> None:
        pair_up(fleet, {"east": EAST, "west": WEST}, nobody_else)
        about_east = {
            "bootstrap.servers": "e1:9092,e2:9092",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="mirror" password="se\\"cr\\\\et";',
            "didi.kafka.enable": "true",
        }
        assert layout.config("west", "/config/ha-clusters/1") == about_east
        assert layout.config("gateway", "/config/ha-clusters/1") == about_east
        assert layout.config("east", "/config/ha-clusters/1") is None
        about_west = layout.config("east", "/config/ha-clusters/2")
        assert about_west == layout.config("gateway", "/config/ha-clusters/2")
        assert about_west is not None
        assert about_west["didi.kafka.enable"] == "false"
        assert about_west["sasl.jaas.config"].startswith(
            "org.apache.kafka.common.security.scram.ScramLoginModule"
        )
        assert layout.config("east", "/config/ha-topics/__consumer_offsets") == {REMOTE: "2", CONFIGS: "true"}
        assert layout.config("west", "/config/ha-topics/__consumer_offsets") == {REMOTE: "1", CONFIGS: "true"}
        assert layout.config("gateway", "/config/ha-topics/__consumer_offsets") is None

    def test_a_third_cluster_is_refused(self, fleet: Fleet, layout: Layout) -> None:
        layout.put("west", "/config/ha-clusters/3", {"version": 1, "config": {"bootstrap.servers": "x:1"}})
        layout.put("west", "/config/ha-clusters/GW", {"version": 1, "config": {"bootstrap.servers": "g:1"}})
        with pytest.raises(BindingConflict, match=r"^west is paired with cluster 3 already\.$"):
            pair_up(fleet, {"east": EAST, "west": WEST}, nobody_else)
        assert layout.config("east", "/config/ha-clusters/2") is None

    @pytest.mark.parametrize(
        ("tree", "node", "key"),
        [
            ("west", "ha-topics/orders", REMOTE),
            ("west", "users/shop", "didi.ha.active.cluster"),
            ("gateway", "users/shop", "didi.ha.active.cluster"),
        ],
    )
    def test_what_is_in_use_is_not_unpaired(
        self, fleet: Fleet, layout: Layout, tree: str, node: str, key: str
    ) -> None:
        pair_up(fleet, {"east": EAST, "west": WEST}, nobody_else)
        layout.put(tree, f"/config/{node}", {"version": 1, "config": {key: "1"}})
        with pytest.raises(BindingConflict) as refused:
            unpair(fleet, nobody_else)
        assert str(refused.value) == f"{node} in the ZooKeeper of {tree} still names the other cluster."
        assert layout.config("west", "/config/ha-clusters/1") != {}

    def test_nothing_shows_a_password(self, fleet: Fleet, layout: Layout) -> None:
        assert "secr" not in repr(EAST) + repr(EAST.keys)
        layout.put("west", "/config/ha-clusters/1", b'{"version":1,"config":{"sasl.jaas.config":"secr')
        with pytest.raises(BindingConflict) as refused:
            pair_up(fleet, {"east": EAST, "west": WEST}, nobody_else)
        shown: BaseException | None = refused.value
        while shown is not None:
            assert "secr" not in str(shown)
            shown = shown.__cause__

    def test_a_mechanism_that_is_not_known(self) -> None:
        gssapi = Access("e:1", "SASL_SSL", "GSSAPI", "m", "p")
        with pytest.raises(BindingConflict, match=r"^DiDi's engine cannot sign in with GSSAPI\.$"):
            gssapi.keys()
