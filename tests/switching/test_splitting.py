"""Splitting what is asked for into radii: disjoint, closed, together everything, whatever the order of what
was observed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity
from hadash.radius.closure import AccessGraph, Dimension
from hadash.radius.fleet import Fleet, MirrorOf, everything_on, is_on
from hadash.radius.nodes import AccessEdge, Node, node_of, topic
from hadash.radius.scope import Scope, ScopeKind
from hadash.radius.splitting import Radius, radii_of
from hadash.switching.planning.radius import build_plan
from hadash.switching.planning.splits import proposals_of


def fleet_of(
    uses: Iterable[AccessEdge],
    bound: Mapping[Identity, str] | None = None,
    instances: Mapping[str, Iterable[str]] | None = None,
    mirrors: Sequence[MirrorOf] = (),
    default: str = "east",
) -> Fleet:
    documents: dict[str, BindingDocument] = {}
    for identity, cluster in (bound or {}).items():
        document = documents.get(identity.appid, BindingDocument(identity.appid))
        documents[identity.appid] = document.with_binding(identity, Binding(cluster))
    registered = {appid: frozenset(names) for appid, names in (instances or {}).items()}
    return Fleet("main", ("east", "west"), default, tuple(uses), documents, registered, tuple(mirrors))


def split(fleet: Fleet, asked: Iterable[Node] | None = None, **options: bool) -> list[Radius]:
    return radii_of(fleet, "east", "west", asked, **options)


def shown(radii: Iterable[Radius]) -> list[str]:
    return [str(radius.scope) for radius in radii]


def appids(*names: str) -> list[Node]:
    return [node_of(Identity(name)) for name in names]


SHARED = [
    AccessEdge("shop", "web", "produce", "orders"),
    AccessEdge("crm", "sync", "consume", "orders"),
    AccessEdge("crm", "sync", "group", "crm-sync"),
    AccessEdge("hr", "desk", "consume", "holidays"),
    AccessEdge("till", "till-1", "produce", "sales"),
]


class TestEverythingOnACluster:
    def test_what_shares_nothing_is_a_radius_of_its_own_and_the_smallest_comes_first(self) -> None:
        assert shown(split(fleet_of(SHARED))) == ["hr", "till", "crm"]

    def test_who_is_on_the_target_already_is_not_asked_for_and_joins_nothing(self) -> None:
        bridge = [
            *SHARED,
            AccessEdge("all", "reader", "consume", "holidays"),
            AccessEdge("all", "reader", "consume", "sales"),
        ]
        assert shown(split(fleet_of(bridge))) == ["crm", "all"]
        assert shown(split(fleet_of(bridge, {Identity("all"): "west"}))) == ["hr", "till", "crm"]

    def test_two_appids_of_which_neither_brings_the_other_are_asked_for_together(self) -> None:
        """Of each only an InstanceID uses the Topic, so the Topic takes both InstanceIDs along, but neither AppID."""
        uses = [AccessEdge("a", "a-1", "produce", "t"), AccessEdge("b", "b-1", "consume", "t")]
        (radius,) = split(fleet_of(uses, instances={"a": ["a-1"], "b": ["b-1"]}))
        assert radius.scope == Scope(ScopeKind.SEVERAL, roots=("appid:a", "appid:b"))
        assert str(radius.scope) == "a, b"

    def test_a_topic_with_a_binding_of_its_own_moves_with_its_appid(self) -> None:
        """They share a document: two switches at once would be in each other's way."""
        own = Identity("till", topics=("stock",))
        uses = [*SHARED, AccessEdge("till", "till-1", "produce", "stock")]
        assert shown(split(fleet_of(uses, {own: "east"}))) == ["hr", "crm", "till, till#stock"]

    def test_what_nobody_uses_moves_with_the_mirror_that_carries_it(self) -> None:
        mirrors = [
            MirrorOf("hr", "east", frozenset({"holidays", "archive"})),
            MirrorOf("old", "east", frozenset({"x", "y"})),
        ]
        found = split(fleet_of(SHARED, mirrors=mirrors))
        assert shown(found) == ["till", "Topic x, y", "hr, archive", "crm"]


class TestAList:
    def test_only_what_moves_with_what_is_named(self) -> None:
        assert shown(split(fleet_of(SHARED), appids("hr", "shop"))) == ["hr", "shop"]

    def test_names_that_move_together_are_one_radius(self) -> None:
        assert shown(split(fleet_of(SHARED), appids("shop", "crm"))) == ["crm"]

    def test_topics(self) -> None:
        assert shown(split(fleet_of(SHARED), [topic("sales"), topic("holidays")])) == [
            "Topic holidays",
            "Topic sales",
        ]

    def test_what_nobody_knows_and_who_is_there_already_are_told(self) -> None:
        fleet = fleet_of(SHARED, {Identity("hr"): "west"})
        radii = split(fleet, appids("hr", "nobody"))
        against = [
            [str(reason) for reason in proposal.blockers]
            for proposal in proposals_of(radii, fleet, "east", "west")
        ]
        assert against == [
            ["hr is bound to west already."],
            [
                "nobody has not used any Topic through a Gateway: there is nothing to move. "
                "Start its clients at the Gateway first."
            ],
        ]


# -- properties ----------------------------------------------------------------------------------------------------

APPIDS, CLIENTS, RESOURCES = "abcde", ("1", "2"), "tuvw"
uses = st.lists(
    st.builds(
        AccessEdge,
        st.sampled_from(APPIDS),
        st.sampled_from(CLIENTS),
        st.sampled_from(["produce", "consume", "group"]),
        st.sampled_from(RESOURCES),
        st.booleans(),
    ),
    max_size=14,
)
identities = st.one_of(
    st.builds(Identity, st.sampled_from(APPIDS)),
    st.builds(Identity, st.sampled_from(APPIDS), st.sampled_from(CLIENTS)),
    st.builds(lambda a, t: Identity(a, topics=(t,)), st.sampled_from(APPIDS), st.sampled_from(RESOURCES)),
    st.builds(lambda a, g: Identity(a, group=g), st.sampled_from(APPIDS), st.sampled_from(RESOURCES)),
)
fleets = st.builds(
    fleet_of,
    uses,
    st.dictionaries(identities, st.sampled_from(["east", "west"]), max_size=5),
    st.dictionaries(st.sampled_from(APPIDS), st.sets(st.sampled_from(CLIENTS)), max_size=3),
    st.lists(
        st.builds(
            MirrorOf,
            st.sampled_from(["m", "n"]),
            st.sampled_from(["east", "west"]),
            st.frozensets(st.sampled_from([*RESOURCES, "unused"]), min_size=1),
        ),
        max_size=2,
        unique_by=lambda mirror: mirror.name,
    ),
    st.sampled_from(["east", "west"]),
)


@given(fleets, st.sampled_from(Dimension), st.booleans())
def test_radii_are_disjoint_closed_and_together_everything(
    fleet: Fleet, dimension: Dimension, widen: bool
) -> None:
    radii = radii_of(fleet, "east", "west", None, dimension, widen=widen)
    graph = AccessGraph(fleet.uses, fleet.documents, fleet.instances, dimension, widen=widen)

    def there(node: Node) -> bool:
        return is_on(fleet, "west", node)

    def moved(asked: Iterable[Node]) -> set[Node]:
        closure = graph.close(asked, there, there_by_default=fleet.default == "west")
        return set(closure.members) - closure.already

    everything = [node for radius in radii for node in radius.nodes]
    assert len(everything) == len(set(everything)), "no two have anything in common"
    assert set(everything) == moved(everything_on(graph, "east", fleet)), "together they are everything"
    for radius in radii:
        assert moved(radius.scope.nodes) == set(radius.nodes), (
            "what is asked for brings all of it, and no more"
        )


@given(fleets, st.booleans())
def test_the_plan_of_a_part_is_the_one_that_the_whole_fleet_gives(fleet: Fleet, widen: bool) -> None:
    radii = radii_of(fleet, "east", "west", widen=widen)
    for radius, proposal in zip(radii, proposals_of(radii, fleet, "east", "west"), strict=True):
        whole = build_plan(radius.scope, "east", "west", fleet)
        assert (proposal.plan, proposal.plan.digest) == (whole.plan, whole.plan.digest)
        assert proposal.blockers == whole.blockers
        assert Scope.from_json(radius.scope.to_json()) == radius.scope


@given(fleets)
def test_no_two_plans_overlap(fleet: Fleet) -> None:
    plans = [proposal.plan for proposal in proposals_of(split(fleet), fleet, "east", "west")]
    for place, plan in enumerate(plans):
        assert not any(plan.overlaps(other) for other in plans[place + 1 :])


@given(fleets, st.randoms(use_true_random=False))
def test_the_order_of_what_was_observed_does_not_matter(fleet: Fleet, chance: random.Random) -> None:
    mixed = [*fleet.uses]
    chance.shuffle(mixed)
    other = Fleet(
        fleet.pair,
        fleet.clusters,
        fleet.default,
        tuple(mixed),
        fleet.documents,
        fleet.instances,
        fleet.mirrors,
    )
    assert split(other) == split(fleet)


def test_a_part_knows_the_groups_of_readers_who_are_on_the_target_already() -> None:
    """They read by a binding of the Topic's own, and are no member of the radius."""
    fleet = fleet_of(
        [
            AccessEdge("a", "1", "produce", "v"),
            AccessEdge("b", "1", "consume", "v"),
            AccessEdge("b", "1", "group", "t"),
        ],
        {Identity("b", topics=("v",)): "west"},
        {},
        [MirrorOf("m", "east", frozenset({"v"}))],
        "east",
    )
    (radius,) = radii_of(fleet, "east", "west", [Node("topic", "", ("v",))])
    (proposal,) = proposals_of([radius], fleet, "east", "west")
    assert proposal.blockers == build_plan(radius.scope, "east", "west", fleet).blockers != ()
