"""The published radius of each node is what the plan of a switch of that node would move."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from switching.test_radius import fleet_of

from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity
from hadash.radius.closure import Dimension
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import APPID, GROUP, INSTANCE, TOPIC, AccessEdge
from hadash.radius.scope import Scope, ScopeKind
from hadash.switching.planning.radius import build_plan
from spark.transform.fleet import fleet_of as fleet_of_rows
from spark.transform.radii import node_rows

APPIDS = st.integers(0, 3).map("app-{}".format)
CLIENTS = st.integers(0, 2).map("client-{}".format)
THINGS = st.integers(0, 5).map("node-{}".format)
CLUSTERS = st.sampled_from(("east", "west"))

FLEETS = st.builds(
    fleet_of,
    st.lists(
        st.builds(AccessEdge, APPIDS, CLIENTS, st.sampled_from(("produce", "consume", "group")), THINGS),
        max_size=15,
    ),
    st.just([MirrorOf("m-0", "east", frozenset({"node-0"})), MirrorOf("m-1", "west", frozenset({"node-1"}))]),
    st.dictionaries(
        st.one_of(
            APPIDS.map(Identity),
            st.builds(Identity, APPIDS, CLIENTS),
            st.builds(lambda a, t: Identity(a, topics=(t,)), APPIDS, THINGS),
            st.builds(lambda a, g: Identity(a, group=g), APPIDS, THINGS),
        ),
        CLUSTERS,
        max_size=4,
    ),
    st.dictionaries(APPIDS, st.sets(CLIENTS), max_size=3),
)


def scope_of(row: dict[str, Any], dimension: Dimension) -> Scope | None:
    """The question to which the row is the answer; ``None`` where nobody can ask it."""
    name = row["names"][0] if row["names"] else ""
    if row["kind"] == TOPIC:
        return Scope(ScopeKind.TOPICS, topics=(name,), dimension=dimension)
    if row["kind"] == APPID:
        return Scope(ScopeKind.APPID, row["appid"], dimension=dimension)
    if row["kind"] == INSTANCE:
        return Scope(ScopeKind.INSTANCE, row["appid"], name, dimension=dimension)
    return None


@given(FLEETS)
def test_each_radius_is_that_of_the_plan(fleet: Fleet) -> None:
    for row in node_rows(fleet):
        other = "west" if row["cluster"] == "east" else "east"
        for dimension in Dimension:
            scope = scope_of(row, dimension)
            found = row[f"radius_{dimension.value}"]
            if scope is not None and found:
                plan = build_plan(scope, row["cluster"], other, fleet).plan
                assert len(plan.members) == found, (row, dimension)


def test_things_say_where_they_are() -> None:
    bound = {Identity("shop", "web-1"): "west"}
    uses = [AccessEdge("shop", "web-1", "produce", "orders"), AccessEdge("shop", "job", "consume", "people")]
    rows = {(row["kind"], *row["names"]): row for row in node_rows(fleet_of(uses, bound=bound))}
    assert rows["instance", "web-1"]["cluster"] == "west"
    assert rows["appid",]["cluster"] == "east"
    assert (rows["topic", "orders"]["island"], rows["topic", "people"]["island"]) == (0, 0)


def test_a_group_is_where_its_members_are() -> None:
    bound = {Identity("shop", "web-1"): "west", Identity("shop", "web-3"): "west"}
    members = (("web-1", "carts"), ("web-2", "stock"), ("web-3", "both"), ("web-2", "both"))
    uses = [AccessEdge("shop", client_id, "group", group) for client_id, group in members]
    groups = {
        row["names"][0]: row["cluster"]
        for row in node_rows(fleet_of(uses, bound=bound))
        if row["kind"] == GROUP
    }
    assert groups == {"carts": "west", "stock": "east", "both": "east"}, (
        "half of a group is on the default cluster"
    )


def test_rows_of_the_registry_become_the_fleet_of_the_plan() -> None:
    """What nobody has seen counts as declared; who was never seen at all, by rights on Topics that matter."""
    document = BindingDocument("shop").with_binding(Identity("shop"), Binding("west"))
    registry = [
        {"what": "pair", "names": ["east", "west", "east"]},
        {"what": "mirror", "name": "orders", "cluster": "east", "names": ["orders"]},
        {"what": "document", "appid": "shop", "content": document.to_bytes().decode()},
        {"what": "document", "appid": "broken", "content": "{"},
        {"what": "instance", "appid": "shop", "name": "web-1"},
        {"what": "declared", "appid": "shop", "name": "web-1", "kind": "produce", "resource": "orders"},
        {"what": "declared", "appid": "shop", "name": "web-1", "kind": "produce", "resource": "returns"},
        {"what": "allowed", "appid": "audit", "resource": "orders"},
        {"what": "allowed", "appid": "audit", "resource": "nobody's"},
        {"what": "allowed", "appid": "shop", "resource": "orders"},
    ]
    seen = AccessEdge("shop", "web-1", "produce", "orders")
    fleet = fleet_of_rows("main", [seen], registry)
    assert fleet.uses == (
        seen,
        AccessEdge("shop", "web-1", "produce", "returns", declared=True),
        AccessEdge("audit", "", "acl", "orders"),
    )
    assert (fleet.clusters, fleet.default) == (("east", "west"), "east")
    assert fleet.documents == {"shop": document}
    assert fleet.instances == {"shop": frozenset({"web-1"})}
    assert fleet.mirrors == (MirrorOf("orders", "east", frozenset({"orders"})),)
