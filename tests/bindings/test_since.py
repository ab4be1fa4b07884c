"""Since when an identity has been with its cluster: raised by a move, kept by everything else, never lowered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument, BindingState
from hadash.bindings.since import stamped, unbound
from hadash.bindings.watch import Update
from hadash.gateway.rules.table import BindingTable
from hadash.identity.identity import Identity

SHOP, WEB = Identity("shop"), Identity("shop", "web")
ORDERS, LIST = Identity("shop", topics=("orders",)), Identity("shop", topics=("carts", "orders"))
NAMING = Identity("shop", "HA#shop#orders")

EAST, WEST = Binding("east"), Binding("west")
HOLD_HEARTBEATS = Binding("east", BindingState.HOLD_HEARTBEATS, switch="s1")


def document(**bound: Binding) -> BindingDocument:
    """Of AppID ``shop``: its default, InstanceID ``web``, Topic ``orders``, the list ``carts, orders``."""
    made = BindingDocument("shop")
    names = {"default": SHOP, "web": WEB, "orders": ORDERS, "list": LIST}
    for name, binding in bound.items():
        made = made.with_binding(names[name], binding)
    return made


def at(cluster: str, since: int) -> Binding:
    return Binding(cluster, since=since)


@pytest.mark.parametrize(
    ("before", "identity", "since"),
    [
        (document(), SHOP, 0),
        (document(), WEB, 0),
        (document(default=at("east", 5)), WEB, 5),
        (document(default=at("east", 5), orders=at("east", 9)), WEB, 9),
        (document(default=at("east", 5), list=at("east", 9)), WEB, 9),
        (document(default=at("east", 5), list=at("east", 9)), ORDERS, 9),
        (document(default=at("east", 5), list=at("east", 9)), NAMING, 9),
        (document(default=at("east", 5), orders=at("west", 9)), NAMING, 20),
        (document(default=at("east", 5), orders=at("west", 9)), WEB, 20),
        # What it names is not bound: what it writes to orders goes by the binding of orders.
        (document(default=at("east", 5), orders=at("east", 9)), Identity("shop", "HA#shop#carts"), 9),
        (document(default=at("east", 5), web=at("east", 7), orders=at("west", 9)), WEB, 7),
    ],
)
def test_a_switch_begins_where_the_identity_is(
    before: BindingDocument, identity: Identity, since: int
) -> None:
    """Its first own binding takes over what governed it until now; where that lay apart, something has moved."""
    assert stamped(before, identity, HOLD_HEARTBEATS, 20) == replace(HOLD_HEARTBEATS, epoch=20, since=since)


def test_a_move_raises_it() -> None:
    assert stamped(document(default=at("east", 5)), SHOP, WEST, 20).since == 20
    assert stamped(document(default=at("east", 5)), WEB, WEST, 20).since == 20


def test_by_hand_to_what_may_be_another_cluster_than_the_pairs_default() -> None:
    assert stamped(document(), SHOP, EAST, 20).since == 20
    assert stamped(document(default=at("east", 5)), WEB, EAST, 20).since == 5


@pytest.mark.parametrize(
    ("before", "epoch"),
    [
        (document(web=at("east", 7)), 20),  # to the pair's default, wherever that is
        (document(web=at("east", 7), default=at("west", 9)), 20),
        (document(web=at("east", 7), default=at("east", 5)), 20),  # 5 was seen before 7 of it
        (document(web=at("east", 7), default=at("east", 9)), 0),
        (document(web=at("east", 7), default=at("east", 9), orders=at("west", 8)), 20),
        (document(default=at("east", 9)), 0),  # there was none
    ],
)
def test_who_loses_a_binding_may_have_moved(before: BindingDocument, epoch: int) -> None:
    after = unbound(before, WEB, 20)
    assert (after.unbound, after.binding_of(WEB)) == (epoch, None)


IDENTITIES = [SHOP, WEB, ORDERS, NAMING]
EDITS = st.tuples(
    st.sampled_from([*IDENTITIES, LIST]), st.sampled_from([EAST, WEST, None]), st.sampled_from(BindingState)
)


@settings(max_examples=500)
@given(st.lists(EDITS, max_size=12))
def test_each_stay_of_a_producer_has_an_epoch_of_its_own(
    edits: list[tuple[Identity, Binding | None, BindingState]],
) -> None:
    """Whatever is bound and unbound: who writes to a cluster again is never seen with an epoch from before a
    stay elsewhere. (A switch's states come only where the identity is.)
    """
    table, made = BindingTable("east"), BindingDocument("shop")
    producers = [
        ("web", "orders"),
        ("web", "other"),
        ("HA#shop#orders", "orders"),
        ("x", "carts"),
        ("x", "other"),
    ]
    stays: dict[tuple[str, str], list[tuple[str, int]]] = {producer: [] for producer in producers}
    for epoch, (identity, binding, state) in enumerate([(SHOP, None, BindingState.FORWARD), *edits], 1):
        if binding is None:
            made = unbound(made, identity, epoch)
        else:
            own = made.binding_of(identity)
            here = own.cluster if own is not None else None
            fitting = binding if here != binding.cluster else replace(binding, state=state)
            made = made.with_binding(identity, stamped(made, identity, fitting, epoch))
        table.apply(Update(epoch, {"shop": made}, {}))
        for producer, seen in stays.items():
            client_id, topic = producer
            governing = table.binding("shop", client_id, topic=topic)
            since = table.since("shop", client_id, governing)
            now = (governing.cluster, since(topic) if since is not None else 0)
            if not seen or seen[-1] != now:
                seen.append(now)
    for seen in stays.values():
        for index, (cluster, since_when) in enumerate(seen):
            elsewhere = [i for i in range(index) if seen[i][0] != cluster]
            if elsewhere:
                earlier = [s for c, s in seen[: elsewhere[-1]] if c == cluster]
                assert since_when > max(earlier, default=-1), seen
