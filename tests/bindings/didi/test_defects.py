"""One test for each defect that the published switch code of DiDi's platform shows (docs/didi-engine.md 3 and
4), of hadash's own equivalent: none of them is here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from kazoo.exceptions import NoAuthError

from hadash.bindings.dialect import Waiting
from hadash.bindings.didi.dialect import DidiDialect
from hadash.bindings.didi.fleet import Fleet
from hadash.bindings.didi.pairing import Access, pair_up, unpair
from hadash.bindings.didi.topics import start, turn
from hadash.bindings.didi.trees import Tree
from hadash.bindings.errors import BindingConflict
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.proof import Behind, CaughtUp, Contradiction, compare_ends
from hadash.radius.fleet import Fleet as Known
from hadash.radius.fleet import MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.radius.scope import Scope
from hadash.switching.planning.radius import build_plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.run import Limits, StageFailed
from hadash.switching.stages.ways import block, drain

from .conftest import ACTIVE, SCRAM, Layout
from .engine import accepting

SHOP = Identity("shop")
ORDERS_0 = Partition("orders", 0)
stack = pytest.mark.stack


def nobody_else(names: object) -> None:
    """No fence."""


def test_1_no_data_is_never_in_sync() -> None:
    """Theirs sums the lags of whatever MBeans match, on the wrong brokers: none at all is 0, "in sync"."""
    ends = {ORDERS_0: 7}
    assert isinstance(compare_ends({}, ends, ends), Contradiction)
    assert isinstance(compare_ends({ORDERS_0: OffsetSync(0, 0)}, ends, {ORDERS_0: 0}), Behind)
    with pytest.raises(KeyError):  # a side that does not answer is no answer
        compare_ends({ORDERS_0: OffsetSync(0, 0)}, ends, {})
    assert isinstance(compare_ends({ORDERS_0: OffsetSync(0, 0)}, ends, ends), CaughtUp)


@pytest.mark.parametrize("stage", [block, drain])
def test_2_a_timeout_is_when_the_time_has_passed(stage: Any, limits: Limits) -> None:
    """Theirs counts a job as timed out as long as it is *not*."""
    assert limits.block == limits.drain == 10

    def outcome(elapsed: float) -> str:
        run = stage(build_plan(Scope.of(SHOP), "east", "west", KNOWN).plan, limits)
        answer: Any = None
        waited = False
        for _ in range(50):
            try:
                command = run.send(answer)
            except StageFailed as failed:
                return str(failed.sentence)
            if isinstance(command, do.Pause):
                if waited:
                    return "still waiting"
                waited, answer = command.seconds > 0, elapsed if command.seconds else 0.0
            else:
                answer = {
                    do.WriteBindings: 7,
                    do.ReadWaiting: Waiting(("east",), 3),
                    do.ReadOffsetSyncs: {ORDERS_0: OffsetSync(0, 0)},
                    do.ReadEnds: {ORDERS_0: 0 if getattr(command, "cluster", "") == "west" else 5},
                }.get(type(command))
        raise AssertionError("neither waits nor fails")

    assert outcome(elapsed=9.9) == "still waiting"
    assert "10" in outcome(elapsed=10.1)


@pytest.fixture
def limits() -> Limits:
    names = Limits.__dataclass_fields__
    return Limits(**dict.fromkeys(names, 10))


@stack
def test_3_a_failure_is_neither_swallowed_nor_told_of_a_success(
    fleet: Fleet, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    east, west = fleet.clusters.values()
    start(east, west, ["orders"], nobody_else)  # success: no error

    def refuse(tree: Tree) -> None:
        client = tree.client
        make = client.transaction

        def transaction() -> Any:
            made = make()
            monkeypatch.setattr(made, "commit", lambda: [NoAuthError()])
            return made

        monkeypatch.setattr(client, "transaction", transaction)

    refuse(east)
    with pytest.raises(BindingConflict, match=r"^The ZooKeeper of east does not let hadash write\.$"):
        turn(west, east, ["orders"], nobody_else)
    assert layout.config("east", "/config/ha-topics/orders") is None


@stack
def test_4_the_node_that_is_read_is_the_node_that_is_written(dialect: DidiDialect, layout: Layout) -> None:
    """Theirs reads ``购物 #1`` as it is and writes it encoded: SCRAM keys and quotas are lost."""
    who, node = Identity("购物 +*", "P#1"), "%E8%B4%AD%E7%89%A9%20%2B%2A%23P%231"
    layout.user(node)
    dialect.change([Edit(who, Binding("west"))])
    for tree in ("east", "west", "gateway"):
        assert layout.config(tree, f"/config/users/{node}") == {**SCRAM, ACTIVE: "2"}
        assert layout.root.get_children(layout.path(tree, "/config/users")) == [node]


@stack
class Test5QuotasOfSingleClients:
    """A node ``users/<u>/clients/<c>`` makes the engine forget the binding of u, also at its start."""

    def test_hadash_writes_none_and_leaves_them_alone(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.user("shop", "east")
        layout.put(
            "east", "/config/users/shop/clients/web-1", {"version": 1, "config": {"producer_byte_rate": "9"}}
        )
        before = layout.raw("east", "/config/users/shop/clients/web-1")
        dialect.change([Edit(SHOP, Binding("west")), Edit(Identity("shop", "web-1"), Binding("east"))])
        assert layout.raw("east", "/config/users/shop/clients/web-1") == before
        assert layout.root.exists(layout.path("west", "/config/users/shop/clients")) is None
        assert layout.where("shop%23web-1") == ("1", "1", "1")

    def test_a_user_whose_node_is_empty_because_of_them(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.put("east", "/config/users/shop/clients/web-1", {"version": 1, "config": {}})
        assert layout.raw("east", "/config/users/shop") == b""
        dialect.change([Edit(SHOP, Binding("west"))])
        assert layout.where("shop") == ("2", "2", "2")

    def test_a_switch_of_such_an_appid_is_refused(self, dialect: DidiDialect, layout: Layout) -> None:
        layout.put("west", "/config/users/shop/clients/web-1", {"version": 1, "config": {}})
        assert [str(each) for each in dialect.blockers([SHOP], "east")] == [
            "shop has quotas for single clients in the ZooKeeper of west (users/shop/clients): DiDi's engine forgets "
            "its binding over them. Remove them first."
        ]
        assert dialect.blockers([Identity("shop", "web-1")], "east") == []


@stack
def test_6_unpairing_clears_the_nodes_that_pairing_wrote(fleet: Fleet, layout: Layout) -> None:
    """Theirs clears ``ha-clusters/<B>`` in B's own tree."""
    access = Access("b:9092", "SASL_PLAINTEXT", "PLAIN", "mirror", "secret")
    own = {"version": 1, "config": {"fetch.max.bytes": "1"}}
    layout.put("east", "/config/ha-clusters/1", own)
    pair_up(fleet, {"east": access, "west": access}, nobody_else)
    unpair(fleet, nobody_else)
    for tree, numbers in (("east", [2]), ("west", [1]), ("gateway", [1, 2])):
        for number in numbers:
            assert layout.config(tree, f"/config/ha-clusters/{number}") == {}
    assert json.loads(layout.raw("east", "/config/ha-clusters/1")) == own
    assert layout.root.exists(layout.path("west", "/config/ha-clusters/2")) is None


KNOWN = Known(
    pair="main",
    clusters=("east", "west"),
    default="east",
    uses=(AccessEdge("shop", "web-1", "produce", "orders"), AccessEdge("shop", "web-1", "produce", "drafts")),
    documents={},
    instances={},
    mirrors=(MirrorOf("shop", "east", frozenset({"orders"})),),
)


def test_7_a_topic_without_a_mirror_is_listed_once() -> None:
    """Theirs lists it as "not HA", and again among the selected or not selected ones."""
    proposal = build_plan(Scope.of(SHOP), "east", "west", KNOWN)
    against = [str(each) for each in proposal.blockers if "drafts" in str(each)]
    assert len(against) == 1
    assert "orders" not in against[0]
    assert list(proposal.plan.topics).count("drafts") == 1


def test_4_the_closure_is_enforced_on_the_server() -> None:
    """Section 4: theirs trusts the list that a page sends. Ours computes a plan from what is asked."""
    billing = AccessEdge("billing", "bill-1", "produce", "orders")
    known = Known(
        **{f: getattr(KNOWN, f) for f in KNOWN.__dataclass_fields__} | {"uses": (*KNOWN.uses, billing)}
    )
    plan = build_plan(Scope.of(SHOP), "east", "west", known).plan
    assert {identity.appid for identity in plan.identities} == {"shop", "billing"}


@stack
def test_4_a_narrower_binding_does_not_hold_its_client_back(
    open_dialect: Callable[..., DidiDialect], layout: Layout
) -> None:
    """Section 4: the page must send an AppID's clients along, or they stay. Here nobody has to send them."""
    dialect = open_dialect()
    for node in ("shop", "shop%23left-behind"):
        layout.bound(node, "1", "1", "1")
    dialect.take_over("s1", "block", 1)
    for cluster, state in (("east", BindingState.BLOCK), ("west", BindingState.FORWARD)):
        dialect.change([Edit(SHOP, Binding(cluster, state, switch="s1"))], Journal("s1", state.value, 1))
        expected = [] if state is BindingState.BLOCK else ["west"]
        assert accepting(layout, "shop", "shop%23left-behind") == expected
