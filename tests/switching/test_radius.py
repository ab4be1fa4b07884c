"""From what was asked for to a plan, and every reason why it cannot be carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity
from hadash.radius.closure import Dimension
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.radius.scope import Member, Scope, ScopeKind
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal, build_plan

SHOP, WEB = Identity("shop"), Identity("shop", "web-1")

#: web-1 writes orders, bill-1 and bill-2 read them in group billing.
SHOP_USES = [
    AccessEdge("shop", "web-1", "produce", "orders"),
    AccessEdge("shop", "bill-1", "consume", "orders"),
    AccessEdge("shop", "bill-2", "consume", "orders"),
    AccessEdge("shop", "bill-1", "group", "billing"),
    AccessEdge("shop", "bill-2", "group", "billing"),
]
#: Another AppID that has nothing to do with it.
STRANGER = [AccessEdge("crm", "sync", "consume", "people"), AccessEdge("crm", "sync", "group", "crm")]
ORDERS = MirrorOf("orders", "east", frozenset({"orders"}))


def fleet_of(
    uses: Iterable[AccessEdge],
    mirrors: Sequence[MirrorOf] = (ORDERS,),
    bound: Mapping[Identity, str] | None = None,
    instances: Mapping[str, Iterable[str]] | None = None,
) -> Fleet:
    """The facts of a pair. Clients that are not ``bound`` are on east."""
    documents: dict[str, BindingDocument] = {}
    for identity, cluster in (bound or {}).items():
        document = documents.get(identity.appid, BindingDocument(identity.appid))
        documents[identity.appid] = document.with_binding(identity, Binding(cluster))
    return Fleet(
        pair="main",
        clusters=("east", "west"),
        default="east",
        uses=tuple(uses),
        documents=documents,
        instances={appid: frozenset(names) for appid, names in (instances or {}).items()},
        mirrors=tuple(mirrors),
    )


def proposal(
    asked: Identity | Scope,
    uses: Iterable[AccessEdge],
    mirrors: Sequence[MirrorOf] = (ORDERS,),
    bound: Mapping[Identity, str] | None = None,
    instances: Mapping[str, Iterable[str]] | None = None,
    target: str = "west",
) -> PlanProposal:
    fleet = fleet_of(uses, mirrors, bound, instances)
    scope = asked if isinstance(asked, Scope) else Scope.of(asked)
    source = {"east": "west", "west": "east"}[target]
    return build_plan(scope, source, target, fleet)


def plan(asked: Identity | Scope, uses: Iterable[AccessEdge], *rest: Any, **more: Any) -> Plan:
    """What moves; nothing blocks it."""
    found = proposal(asked, uses, *rest, **more)
    assert [str(reason) for reason in found.blockers] == []
    return found.plan


def reasons(asked: Identity | Scope, uses: Iterable[AccessEdge], *rest: Any, **more: Any) -> list[str]:
    """Why it cannot move."""
    return [str(reason) for reason in proposal(asked, uses, *rest, **more).blockers]


class TestWhatMoves:
    def test_a_whole_appid_with_its_topics_groups_and_mirrors(self) -> None:
        assert plan(SHOP, SHOP_USES + STRANGER) == Plan(
            pair="main",
            scope=Scope.of(SHOP),
            source="east",
            target="west",
            identities=(SHOP,),
            topics=("orders",),
            groups=("billing",),
            mirrors=("orders",),
        )

    def test_one_instance_that_shares_with_nobody(self) -> None:
        uses = [AccessEdge("shop", "web-1", "produce", "carts"), *SHOP_USES[1:], *STRANGER]
        found = plan(WEB, uses, [ORDERS, MirrorOf("carts", "east", frozenset({"carts"}))])
        assert (found.topics, found.groups, found.mirrors) == (("carts",), (), ("carts",))
        assert found.identities == (WEB,)

    def test_registered_instances_that_share_a_topic_or_a_group_move_together(self) -> None:
        found = plan(WEB, SHOP_USES, instances={"shop": ("bill-1", "bill-2")})
        assert [i.instance_id for i in found.identities] == ["bill-1", "bill-2", "web-1"]

    def test_a_whole_appid_takes_its_bound_instances_along(self) -> None:
        """Otherwise a narrower binding would stay behind."""
        found = plan(SHOP, SHOP_USES, bound={WEB: "east", Identity("shop", "bill-1"): "east"})
        assert found.identities == (SHOP, Identity("shop", "bill-1"), WEB)

    def test_another_appid_that_uses_a_topic_comes_along_with_all_it_uses(self) -> None:
        uses = [*SHOP_USES, *STRANGER, AccessEdge("crm", "sync", "consume", "orders")]
        people = MirrorOf("people", "east", frozenset({"people"}))
        found = plan(SHOP, uses, [ORDERS, people])
        assert found.identities == (Identity("crm"), SHOP)
        assert (found.topics, found.groups) == (("orders", "people"), ("billing", "crm"))
        assert found.members == (
            Member("appid:shop"),
            Member("group:billing", "appid:shop", "group"),
            Member("topic:orders", "appid:shop", "produce"),
            Member("appid:crm", "topic:orders", "consume"),
            Member("group:crm", "appid:crm", "group"),
            Member("topic:people", "appid:crm", "consume"),
        )

    def test_a_topic(self) -> None:
        found = plan(Scope(ScopeKind.TOPICS, topics=("orders",)), SHOP_USES + STRANGER)
        assert (found.identities, found.topics) == ((SHOP,), ("orders",))

    def test_what_was_declared_and_never_seen(self) -> None:
        uses = [
            *SHOP_USES,
            AccessEdge("crm", "sync", "consume", "orders", declared=True),
            AccessEdge("crm", "sync", "group", "nightly", declared=True),
        ]
        found = plan(SHOP, uses, instances={"crm": ["sync"]})
        assert found.identities == (Identity("crm", "sync"), SHOP)
        assert found.members[-2:] == (
            Member("instance:crm+sync", "topic:orders", "declared"),
            Member("group:nightly", "instance:crm+sync", "declared"),
        )

    def test_what_was_also_seen_is_the_reason(self) -> None:
        seen = [*SHOP_USES, AccessEdge("crm", "sync", "consume", "orders")]
        declared = AccessEdge("crm", "", "produce", "orders", declared=True)
        found = plan(SHOP, [declared, *seen])
        assert (found, found.members) == (plan(SHOP, seen), plan(SHOP, seen).members)
        assert Member("appid:crm", "topic:orders", "consume") in found.members

    def test_everything_on_a_cluster(self) -> None:
        mirrors = [ORDERS, MirrorOf("people", "east", frozenset({"people"}))]
        found = plan(Scope(ScopeKind.PAIR), SHOP_USES + STRANGER, mirrors)
        assert found.identities == (Identity("crm"), SHOP)
        assert found.topics == ("orders", "people")

    def test_the_way_back_takes_only_those_who_are_there(self) -> None:
        mirrors = [MirrorOf("orders", "west", frozenset({"orders"}))]
        found = plan(Scope(ScopeKind.PAIR), SHOP_USES + STRANGER, mirrors, {SHOP: "west"}, target="east")
        assert found.identities == (SHOP,)

    def test_an_instance_that_is_on_the_target_stays_there(self) -> None:
        uses = [
            AccessEdge("shop", "web-1", "produce", "orders"),
            AccessEdge("shop", "bill-1", "consume", "orders"),
        ]
        found = plan(WEB, uses, bound={WEB: "east", Identity("shop", "bill-1"): "west"})
        assert found.identities == (WEB,)
        (there,) = (member for member in found.members if member.already)
        assert there == Member("instance:shop+bill-1", "topic:orders", "consume", already=True)

    def test_a_dimension_without_instances(self) -> None:
        scope = Scope(ScopeKind.TOPICS, topics=("orders",), dimension=Dimension.APPID)
        assert plan(scope, SHOP_USES, instances={"shop": ("web-1",)}).identities == (SHOP,)


class TestUncovered:
    USES = [AccessEdge("shop", "web-1", "produce", "orders"), AccessEdge("shop", "", "produce", "orders")]

    def test_a_client_without_an_instance_id_stands_against_it(self) -> None:
        assert reasons(WEB, self.USES) == ["shop writes to Topic orders, has no InstanceID, and would stay."]
        assert reasons(WEB, SHOP_USES) == [
            "shop › bill-1 reads Topic orders, has no InstanceID, and would stay.",
            "shop › bill-2 reads Topic orders, has no InstanceID, and would stay.",
        ]

    def test_so_does_one_in_a_group(self) -> None:
        found = reasons(Identity("shop", "bill-1"), SHOP_USES)
        assert "shop › bill-2 is a member of group billing, has no InstanceID, and would stay." in found

    def test_so_does_a_declaration_that_does_not_say_which_one(self) -> None:
        uses = [*SHOP_USES, AccessEdge("shop", "", "produce", "orders", declared=True)]
        instances = {"shop": ("web-1", "bill-1", "bill-2")}
        assert reasons(WEB, uses, instances=instances) == [
            "shop is declared to use orders without an InstanceID, and would stay. Declare for which InstanceID."
        ]

    def test_or_its_whole_appid_moves(self) -> None:
        found = plan(Scope.of(WEB, widen=True), self.USES)
        assert found.identities == (SHOP,)

    def test_it_moves_with_the_appid_anyway(self) -> None:
        assert plan(SHOP, self.USES).topics == ("orders",)

    def test_of_many_not_all_are_listed(self) -> None:
        uses = [AccessEdge("shop", "web-1", "produce", "orders")]
        uses += [AccessEdge("shop", f"c{n:02}", "consume", "orders") for n in range(25)]
        found = reasons(WEB, uses)
        assert len(found) == 21
        assert found[-1] == "… and 5 more of this kind."


class TestNothingToMove:
    def test_nothing_was_used(self) -> None:
        assert reasons(SHOP, STRANGER)[0] == (
            "shop has not used any Topic through a Gateway: there is nothing to move. "
            "Start its clients at the Gateway first."
        )
        assert reasons(WEB, SHOP_USES[1:])[0].startswith("shop › web-1 has not used any Topic")

    def test_being_in_a_group_is_not_using_a_topic(self) -> None:
        found = reasons(SHOP, [AccessEdge("shop", "bill-1", "group", "billing")])
        assert found[0].startswith("shop has not used any Topic")

    def test_it_is_there_already(self) -> None:
        assert reasons(SHOP, SHOP_USES, bound={SHOP: "west"})[0] == "shop is bound to west already."

    def test_all_that_it_uses_is_there_already(self) -> None:
        """As after a read split: only the InstanceID that reads was moved, and the AppID itself was not."""
        found = reasons(SHOP, SHOP_USES[:1], instances={"shop": ("web-1",)}, bound={WEB: "west"})
        assert found == [
            "All that shop has used through a Gateway is bound to west already: there is nothing to move."
        ]

    def test_a_topic_that_nobody_knows(self) -> None:
        found = reasons(Scope(ScopeKind.TOPICS, topics=("ordres",)), SHOP_USES)
        assert found == [
            "Nobody is known to use it through a Gateway: there is nothing to move.",
            "No mirror carries ordres. Create one first.",
        ]


class TestMirrors:
    def test_no_mirror(self) -> None:
        assert reasons(SHOP, SHOP_USES, []) == ["No mirror carries orders. Create one first."]

    def test_a_mirror_of_a_part_of_the_topics(self) -> None:
        uses = [
            *SHOP_USES,
            AccessEdge("shop", "web-1", "produce", "carts"),
            AccessEdge("shop", "web-1", "produce", "a"),
        ]
        assert reasons(SHOP, uses) == ["No mirror carries a, carts. Create one first."]

    def test_a_mirror_with_topics_of_others(self) -> None:
        mirror = MirrorOf("all", "east", frozenset({"orders", "people", "logs"}))
        assert reasons(SHOP, SHOP_USES, [mirror]) == [
            "Mirror all also carries logs, people, which would not move. Mirror them separately."
        ]

    def test_a_mirror_in_the_wrong_direction(self) -> None:
        mirror = MirrorOf("orders", "west", frozenset({"orders"}))
        assert reasons(SHOP, SHOP_USES, [mirror]) == [
            "Mirror orders copies from west, but the switch would start on east."
        ]

    def test_a_mirror_of_others_does_not_matter(self) -> None:
        mirrors = [ORDERS, MirrorOf("crm", "west", frozenset({"people"}))]
        assert plan(SHOP, SHOP_USES, mirrors).mirrors == ("orders",)

    def test_several_mirrors_together(self) -> None:
        uses = [*SHOP_USES, AccessEdge("shop", "web-1", "produce", "carts")]
        mirrors = [MirrorOf("carts", "east", frozenset({"carts"})), ORDERS]
        assert plan(SHOP, uses, mirrors).mirrors == ("carts", "orders")


class TestDivided:
    def test_who_is_there_already_and_writes_to_what_moves_only_now(self) -> None:
        assert reasons(SHOP, SHOP_USES, bound={WEB: "west", Identity("shop", "bill-1"): "east"}) == [
            "shop › web-1 is on west already and writes to Topic orders, which moves only now. Switch it back first."
        ]

    def test_a_writer_that_was_only_declared_has_written_nothing_there(self) -> None:
        uses = [*SHOP_USES[1:], AccessEdge("crm", "sync", "produce", "orders", declared=True)]
        found = plan(SHOP, uses, bound={Identity("crm"): "west"})
        assert Member("appid:crm", "topic:orders", "declared", already=True) in found.members

    def test_who_is_bound_outside_of_the_pair(self) -> None:
        assert reasons(SHOP, SHOP_USES, bound={WEB: "north"}) == [
            "shop › web-1 is bound to north, which is no cluster of this pair. Repair its binding first."
        ]

    def test_who_is_elsewhere_and_shares_nothing_does_not_matter(self) -> None:
        uses = [AccessEdge("shop", "web-1", "produce", "orders")]
        found = plan(WEB, uses, bound={WEB: "east", Identity("shop", "bill-1"): "west"})
        assert found.identities == (WEB,)

    @pytest.mark.parametrize("dimension", Dimension)
    def test_a_registered_client_without_a_binding_is_where_its_appid_is(self, dimension: Dimension) -> None:
        """Where only whole AppIDs move nobody looks at what is merely registered."""
        uses = [
            AccessEdge("shop", "web-1", "consume", "orders"),
            AccessEdge("crm", "sync", "produce", "orders"),
        ]
        scope = replace(Scope.of(SHOP), dimension=dimension)
        found = reasons(scope, uses, bound={Identity("crm"): "west"}, instances={"crm": ["sync"]})
        assert found == [
            "crm › sync is on west already and writes to Topic orders, which moves only now. Switch it back first."
        ]


class TestThereAlready:
    def test_the_instances_of_an_appid_that_is_there_are_left_alone(self) -> None:
        """Nothing of what they use was looked at."""
        uses = [
            AccessEdge("crm", "sync", "produce", "people"),
            AccessEdge("shop", "other", "consume", "people"),
            AccessEdge("shop", "web-1", "produce", "orders"),
        ]
        people = MirrorOf("people", "west", frozenset({"people"}))
        found = proposal(
            Identity("crm"), uses, [people], {Identity("crm"): "west", WEB: "west"}, target="east"
        )
        assert found.plan.identities == (Identity("crm"),)
        assert found.plan.topics == ("people",)

    def test_the_writer_of_a_topic_that_is_bound_by_itself_is_found(self) -> None:
        topic_binding = Identity("shop", topics=("orders",))
        uses = [
            AccessEdge("shop", "web-1", "produce", "orders"),
            AccessEdge("crm", "sync", "consume", "orders"),
        ]
        found = reasons(Identity("crm"), uses, bound={topic_binding: "west"})
        assert found == [
            "shop › web-1 is on west already and writes to Topic orders, which moves only now. Switch it back first."
        ]

    def test_a_registered_instance_goes_where_its_topics_binding_goes(self) -> None:
        topic_binding = Identity("shop", topics=("orders",))
        uses = [AccessEdge("shop", "web-1", "produce", "orders")]
        mirror = MirrorOf("orders", "west", frozenset({"orders"}))
        found = plan(
            Scope(ScopeKind.TOPICS, topics=("orders",)),
            uses,
            [mirror],
            {topic_binding: "west"},
            {"shop": ("web-1",)},
            target="east",
        )
        assert found.identities == (topic_binding,)


def test_a_group_that_would_stay_behind_a_topic_that_moves_alone() -> None:
    bound = {Identity("shop", topics=("orders",)): "east"}
    found = reasons(Scope(ScopeKind.TOPICS, topics=("orders",)), SHOP_USES, bound=bound)
    assert found == [
        "Group billing reads Topic orders, which would move without it: its offsets would not fit. "
        "Move its AppID, or remove the Topic's own binding first."
    ]


def test_everything_on_a_cluster_includes_what_nobody_uses_at_the_moment() -> None:
    mirror = MirrorOf("orders", "east", frozenset({"orders", "quiet"}))
    assert plan(Scope(ScopeKind.PAIR), SHOP_USES, [mirror]).topics == ("orders", "quiet")


@pytest.mark.parametrize(("appids", "too_many"), [(2000, False), (4000, True)])
def test_more_than_one_transaction_takes(appids: int, too_many: bool) -> None:
    uses = [AccessEdge(f"app-{n}", "x", "produce", "orders") for n in range(appids)]
    refused = (
        "This changes 4000 bindings at once, more than ZooKeeper takes in one transaction. Move it in parts."
    )
    assert reasons(Scope(ScopeKind.PAIR), uses) == ([refused] if too_many else [])


class TestAfterAReadSplit:
    """Readers that are on the target already, because they read from the mirror there."""

    READERS = ("bill-1", "bill-2")

    def there(self, cluster: str = "west") -> dict[Identity, str]:
        return {Identity("shop", name): cluster for name in self.READERS}

    def test_the_writers_follow_without_them(self) -> None:
        found = plan(WEB, SHOP_USES, bound=self.there())
        assert (found.identities, found.topics, found.groups) == ((WEB,), ("orders",), ())
        named = [member.key for member in found.members if member.already]
        assert named == ["instance:shop+bill-1", "instance:shop+bill-2"]

    def test_also_as_a_whole_appid(self) -> None:
        """The bindings of the readers are not written: they say already what they should."""
        found = plan(SHOP, SHOP_USES, bound=self.there())
        assert (found.identities, found.groups) == ((SHOP,), ())

    def test_going_back_brings_them_along(self) -> None:
        """They are where the writers are, and in a planned switch all clients of a Topic move with it."""
        found = plan(
            WEB,
            SHOP_USES,
            [replace(ORDERS, source="west")],
            bound={**self.there(), WEB: "west"},
            target="east",
        )
        assert [i.instance_id for i in found.identities] == ["bill-1", "bill-2", "web-1"]
        assert found.groups == ("billing",)


@pytest.mark.parametrize("count", [1000, 3600])
def test_what_one_transaction_has_moved_it_can_move_back(count: int) -> None:
    """The bindings that are there already are written over: they do not count twice."""
    uses = [AccessEdge("shop", f"till-{n}", "produce", "orders") for n in range(count)]
    instances = {"shop": [f"till-{n}" for n in range(count)]}
    back = MirrorOf("orders", "west", frozenset({"orders"}))
    bound = {Identity("shop", f"till-{n}"): "west" for n in range(count)}
    asked = Identity("shop", "till-0")
    assert len(plan(asked, uses, instances=instances).identities) == count
    assert len(plan(asked, uses, [back], bound, instances, "east").identities) == count


def test_all_reasons_at_once() -> None:
    """All faults are told at once, to be repaired in one go."""
    uses = [
        *SHOP_USES,
        AccessEdge("shop", "web-1", "produce", "carts"),
        AccessEdge("shop", "", "consume", "orders"),
    ]
    mirror = MirrorOf("old", "west", frozenset({"orders", "logs"}))
    found = reasons(WEB, uses, [mirror], instances={"shop": ("bill-1", "bill-2")})
    assert found == [
        "shop reads Topic orders, has no InstanceID, and would stay.",
        "Mirror old copies from west, but the switch would start on east.",
        "Mirror old also carries logs, which would not move. Mirror them separately.",
        "No mirror carries carts. Create one first.",
    ]


# -- what holds for every access graph -----------------------------------------------------------------------------

TOPICS = ["orders", "carts", "people"]
use_of_a_topic = st.builds(
    AccessEdge,
    st.sampled_from(["shop", "crm"]),
    st.sampled_from(["web-1", "bill-1", ""]),
    st.sampled_from(["produce", "consume"]),
    st.sampled_from(TOPICS),
)
use_of_a_group = st.builds(
    AccessEdge,
    st.sampled_from(["shop", "crm"]),
    st.sampled_from(["web-1", "bill-1", ""]),
    st.just("group"),
    st.sampled_from(["billing", "crm"]),
)
graphs = st.lists(use_of_a_topic | use_of_a_group, max_size=8)
scopes = st.one_of(
    st.builds(Scope.of, st.sampled_from([SHOP, WEB]), widen=st.booleans()),
    st.builds(Scope, st.just(ScopeKind.TOPICS), topics=st.sampled_from([("orders",), ("carts", "orders")])),
    st.just(Scope(ScopeKind.PAIR)),
)
each_its_own = [MirrorOf(name, "east", frozenset({name})) for name in TOPICS]


@given(st.data(), scopes, graphs)
def test_the_order_of_uses_does_not_matter(data: st.DataObject, scope: Scope, uses: list[AccessEdge]) -> None:
    shuffled = data.draw(st.permutations(uses))
    one, other = proposal(scope, uses, each_its_own), proposal(scope, [*shuffled, *uses], each_its_own)
    assert (one.plan, one.plan.members, one.blockers) == (other.plan, other.plan.members, other.blockers)


@settings(max_examples=300)
@given(scopes, graphs)
def test_a_plan_that_can_be_carried_out_never_holds_what_an_outsider_uses(
    scope: Scope, uses: list[AccessEdge]
) -> None:
    found = proposal(scope, uses, each_its_own)
    if found.blockers:
        return
    for use in uses:
        inside = found.plan.covers(use.appid, use.client_id)
        held = use.resource in (found.plan.groups if use.kind == "group" else found.plan.topics)
        assert held == inside


@given(scopes, graphs)
def test_what_nobody_outside_uses_can_be_moved_as_it_is(scope: Scope, uses: list[AccessEdge]) -> None:
    """Asked for everything in a plan, the answer is that plan again."""
    first = proposal(scope, uses, each_its_own).plan
    again = proposal(Scope(ScopeKind.TOPICS, topics=first.topics, widen=scope.widen), uses, each_its_own).plan
    if scope.kind is ScopeKind.TOPICS and first.topics:
        assert (again.topics, again.groups, again.identities) == (
            first.topics,
            first.groups,
            first.identities,
        )


@pytest.mark.parametrize("kind", ScopeKind)
def test_a_scope_survives_json(kind: ScopeKind) -> None:
    scope = Scope(kind, "shop", "web-1", ("a", "b"), Dimension.APPID, widen=True)
    assert Scope.from_json(scope.to_json()) == scope
