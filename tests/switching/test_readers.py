"""Who moves in a read split: readers in whole groups, no writer, nobody without a reason; and all that stands
against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.identity.identity import Identity
from hadash.radius.closure import Dimension
from hadash.radius.fleet import MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.radius.scope import Member, Scope, ScopeKind
from hadash.switching.machines.switches import Kind
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.planning.readers import build_readers_plan

from .test_radius import ORDERS, SHOP, SHOP_USES, STRANGER, WEB, fleet_of

BILL_1, BILL_2 = Identity("shop", "bill-1"), Identity("shop", "bill-2")
#: Both readers have an InstanceID, and so has the writer.
INSTANCES = {"shop": ("web-1", "bill-1", "bill-2")}
READERS_OF_ORDERS = Scope(ScopeKind.TOPICS, topics=("orders",))


def proposal(
    asked: Identity | Scope,
    uses: Iterable[AccessEdge] = SHOP_USES,
    mirrors: Sequence[MirrorOf] = (ORDERS,),
    bound: Mapping[Identity, str] | None = None,
    instances: Mapping[str, Iterable[str]] = INSTANCES,
    target: str = "west",
) -> PlanProposal:
    scope = asked if isinstance(asked, Scope) else Scope.of(asked)
    source = {"east": "west", "west": "east"}[target]
    return build_readers_plan(scope, source, target, fleet_of(uses, mirrors, bound, instances))


def plan(asked: Identity | Scope, uses: Iterable[AccessEdge] = SHOP_USES, **more: object) -> Plan:
    found = proposal(asked, uses, **more)  # type: ignore[arg-type]
    assert [str(reason) for reason in found.blockers] == []
    return found.plan


def reasons(asked: Identity | Scope, uses: Iterable[AccessEdge] = SHOP_USES, **more: object) -> list[str]:
    return [str(reason) for reason in proposal(asked, uses, **more).blockers]  # type: ignore[arg-type]


class TestWhoMoves:
    def test_all_readers_of_a_topic_and_none_of_its_writers(self) -> None:
        found = plan(READERS_OF_ORDERS, SHOP_USES + STRANGER)
        assert found.identities == (BILL_1, BILL_2)
        assert (found.topics, found.groups, found.mirrors) == (("orders",), ("billing",), ("orders",))
        assert found.kind is Kind.READ_SPLIT
        assert found.members == (
            Member("topic:orders"),
            Member("instance:shop+bill-1", "topic:orders", "consume"),
            Member("instance:shop+bill-2", "topic:orders", "consume"),
            Member("group:billing", "instance:shop+bill-1", "group"),
        )

    def test_one_reader_brings_its_whole_group(self) -> None:
        found = plan(BILL_1)
        assert found.identities == (BILL_1, BILL_2)
        assert found.members == (
            Member("instance:shop+bill-1"),
            Member("group:billing", "instance:shop+bill-1", "group"),
            Member("instance:shop+bill-2", "group:billing", "group"),
            Member("topic:orders", "instance:shop+bill-1", "consume"),
        )

    def test_an_appid_that_only_reads(self) -> None:
        uses = [
            *SHOP_USES,
            AccessEdge("bi", "cube", "consume", "orders"),
            AccessEdge("bi", "cube", "group", "bi"),
        ]
        found = plan(Identity("bi"), uses)
        assert (found.identities, found.groups) == ((Identity("bi"),), ("bi",))

    def test_another_group_of_the_same_topic_stays(self) -> None:
        uses = [
            *SHOP_USES,
            AccessEdge("bi", "cube", "consume", "orders"),
            AccessEdge("bi", "cube", "group", "bi"),
        ]
        assert plan(BILL_1, uses).identities == (BILL_1, BILL_2)

    def test_what_they_read_besides_comes_into_the_plan_and_pulls_nobody_in(self) -> None:
        uses = [*SHOP_USES, AccessEdge("shop", "bill-2", "consume", "people"), *STRANGER]
        people = MirrorOf("people", "east", frozenset({"people", "towns"}))
        found = plan(BILL_1, uses, mirrors=(ORDERS, people))
        assert (found.topics, found.mirrors) == (("orders", "people"), ("orders", "people"))
        assert Identity("crm") not in found.identities
        assert found.members[-1] == Member("topic:people", "instance:shop+bill-2", "consume")

    def test_a_topic_of_a_mirror_moves_without_the_mirrors_others(self) -> None:
        """Nothing is turned, so what else a mirror carries does not matter."""
        both = MirrorOf("shop", "east", frozenset({"orders", "carts"}))
        assert plan(BILL_1, mirrors=(both,)).mirrors == ("shop",)

    def test_home_again(self) -> None:
        """The mirror still copies to where they are: it has to carry the Topic, in whatever direction."""
        found = plan(READERS_OF_ORDERS, bound={BILL_1: "west", BILL_2: "west"}, target="east")
        assert (found.source, found.target, found.identities) == ("west", "east", (BILL_1, BILL_2))

    def test_who_is_there_already_is_named_and_not_written(self) -> None:
        uses = [
            *SHOP_USES,
            AccessEdge("bi", "cube", "consume", "orders"),
            AccessEdge("bi", "cube", "group", "bi"),
        ]
        found = plan(READERS_OF_ORDERS, uses, bound={Identity("bi"): "west"})
        assert found.identities == (BILL_1, BILL_2)
        assert Member("appid:bi", "topic:orders", "consume", already=True) in found.members

    def test_whole_appids_only(self) -> None:
        uses = [AccessEdge("bi", name, kind, "orders" if kind == "consume" else "bi")
                for name in ("a", "b") for kind in ("consume", "group")]  # fmt: skip
        scope = Scope(ScopeKind.TOPICS, topics=("orders",), dimension=Dimension.APPID)
        assert plan(scope, uses, instances={"bi": ("a",)}).identities == (Identity("bi"),)

    def test_a_group_takes_the_binding_of_its_own_along(self) -> None:
        own = Identity("shop", group="billing")
        assert own in plan(BILL_1, bound={own: "east"}).identities


class TestWhatStandsAgainstIt:
    def test_a_writer_among_the_readers(self) -> None:
        uses = [*SHOP_USES, AccessEdge("shop", "bill-2", "produce", "bills")]
        assert reasons(READERS_OF_ORDERS, uses) == [
            "shop › bill-2 also writes (to Topic bills), and a read split moves only who reads. Ask for the reading "
            "InstanceIDs by themselves, or for a planned switch."
        ]

    def test_a_writer_in_the_group_of_who_was_asked_for(self) -> None:
        uses = [*SHOP_USES, AccessEdge("shop", "web-1", "group", "billing")]
        assert [reason.split(",")[0] for reason in reasons(BILL_1, uses)] == [
            "shop › web-1 also writes (to Topic orders)"
        ]

    def test_also_one_that_was_only_declared(self) -> None:
        uses = [*SHOP_USES, AccessEdge("shop", "bill-1", "produce", "bills", declared=True)]
        assert "shop › bill-1 also writes (to Topic bills)" in reasons(BILL_1, uses)[0]

    def test_an_appid_of_which_a_part_writes(self) -> None:
        assert reasons(SHOP)[0].startswith("shop › web-1 also writes (to Topic orders)")

    def test_who_was_never_seen(self) -> None:
        uses = [*SHOP_USES, AccessEdge("bi", "", "acl", "orders")]
        sentence = (
            "bi may use Topic orders and was never seen, so nobody knows whether it reads or writes. "
            "Declare what it does."
        )
        assert reasons(READERS_OF_ORDERS, uses) == [sentence]
        assert sentence in reasons(Identity("bi"), uses)
        assert reasons(BILL_1, uses) == [], "it is no member of the group, so it stays"

    def test_a_member_without_an_instance_id(self) -> None:
        uses = [*SHOP_USES, AccessEdge("shop", "bill-3", "group", "billing")]
        assert reasons(BILL_1, uses) == [
            "shop › bill-3 is a member of group billing, has no InstanceID, and would stay."
        ]

    def test_it_takes_its_appid_along_by_choice_and_with_it_the_writers(self) -> None:
        uses = [*SHOP_USES, AccessEdge("shop", "bill-3", "group", "billing")]
        found = reasons(Scope.of(BILL_1, widen=True), uses)
        assert [reason.split(",")[0] for reason in found] == ["shop › web-1 also writes (to Topic orders)"]

    def test_a_binding_of_the_topic(self) -> None:
        own = Identity("shop", topics=("orders",))
        assert reasons(BILL_1, bound={own: "east"})[0] == (
            f"shop › bill-1 reads Topic orders by a binding of its own ({own}), which a read split does not move. "
            "Remove that binding first."
        )

    def test_the_topics_binding_of_somebody_else_is_nothing_to_the_readers(self) -> None:
        uses = [*SHOP_USES, AccessEdge("crm", "sync", "produce", "orders")]
        assert reasons(BILL_1, uses, bound={Identity("crm", topics=("orders",)): "east"}) == []

    def test_a_topic_without_a_mirror(self) -> None:
        assert reasons(BILL_1, mirrors=()) == ["No mirror carries orders. Create one first."]

    def test_everything_on_a_cluster(self) -> None:
        assert reasons(Scope(ScopeKind.PAIR)) == [
            "A read split moves an AppID, an InstanceID, or the readers of Topics. Ask for one of these."
        ]

    def test_nobody_reads_it(self) -> None:
        assert reasons(READERS_OF_ORDERS, [AccessEdge("shop", "web-1", "produce", "orders")]) == [
            "Nobody is known to read through a Gateway what was asked for: there are no readers to move."
        ]

    def test_they_are_there_already(self) -> None:
        assert reasons(READERS_OF_ORDERS, bound={BILL_1: "west", BILL_2: "west"}) == [
            "Topic orders is bound to west already."
        ]


# -- what holds for every access graph -----------------------------------------------------------------------------

TOPICS = ["orders", "carts", "people"]
NAMES = ["web-1", "bill-1", "bill-2", ""]
APPIDS = ["shop", "crm"]
a_read = st.builds(
    AccessEdge, st.sampled_from(APPIDS), st.sampled_from(NAMES), st.just("consume"), st.sampled_from(TOPICS)
)
a_write = st.builds(
    AccessEdge, st.sampled_from(APPIDS), st.sampled_from(NAMES), st.just("produce"), st.sampled_from(TOPICS)
)
a_membership = st.builds(
    AccessEdge,
    st.sampled_from(APPIDS),
    st.sampled_from(NAMES),
    st.just("group"),
    st.sampled_from(["billing", "bi"]),
)
#: Mostly readers: else something blocks nearly every plan.
graphs = st.builds(
    lambda readers, writers: readers + writers,
    st.lists(a_read | a_membership, max_size=10),
    st.lists(a_write, max_size=2),
)
registered = st.fixed_dictionaries(
    {appid: st.sets(st.sampled_from(NAMES[:3])) for appid in APPIDS},
)
scopes = st.one_of(
    st.builds(Scope.of, st.sampled_from([SHOP, WEB, BILL_1, Identity("crm")]), widen=st.booleans()),
    st.builds(
        Scope,
        st.just(ScopeKind.TOPICS),
        topics=st.sampled_from([("orders",), ("carts", "orders")]),
        widen=st.booleans(),
    ),
)
each_its_own = [MirrorOf(name, "east", frozenset({name})) for name in TOPICS]


def any_plan(scope: Scope, uses: list[AccessEdge], instances: Mapping[str, Iterable[str]]) -> PlanProposal:
    return proposal(scope, uses, each_its_own, instances=instances)


@settings(max_examples=300)
@given(scopes, graphs, registered)
def test_what_can_be_carried_out_holds_no_writer_and_whole_groups(
    scope: Scope, uses: list[AccessEdge], instances: dict[str, set[str]]
) -> None:
    found = any_plan(scope, uses, instances)
    if found.blockers:
        return
    for use in uses:
        inside = found.plan.covers(use.appid, use.client_id)
        if use.kind == "produce":
            assert not inside
        elif use.kind == "group":
            assert inside == (use.resource in found.plan.groups)
        elif inside:
            assert use.resource in found.plan.topics


@settings(max_examples=200)
@given(scopes, graphs, registered)
def test_each_member_is_explained_by_what_was_asked_for(
    scope: Scope, uses: list[AccessEdge], instances: dict[str, set[str]]
) -> None:
    members = {member.key: member for member in any_plan(scope, uses, instances).plan.members}
    for member in members.values():
        way = [member]
        while way[-1].because:
            way.append(members[way[-1].because])
            assert len(way) <= len(members)
        assert not way[-1].because


@settings(max_examples=200)
@given(scopes, graphs, registered)
def test_nobody_moves_who_neither_was_asked_for_nor_shares_a_group(
    scope: Scope, uses: list[AccessEdge], instances: dict[str, set[str]]
) -> None:
    """The smallest set: without any one of its groups' bonds the rest would be another plan. Told by what
    joins members.
    """
    found = any_plan(scope, uses, instances).plan
    for member in found.members:
        if member.because.startswith("topic:"):
            assert scope.kind is ScopeKind.TOPICS
            assert member.because.removeprefix("topic:") in scope.topics
        elif member.key.startswith("topic:") and member.because:
            assert member.use == "consume"


@given(st.data(), scopes, graphs, registered)
def test_the_order_of_uses_does_not_matter(
    data: st.DataObject, scope: Scope, uses: list[AccessEdge], instances: dict[str, set[str]]
) -> None:
    shuffled = data.draw(st.permutations(uses))
    one, other = any_plan(scope, uses, instances), any_plan(scope, [*shuffled, *uses], instances)
    assert (one.plan, one.plan.members, one.blockers) == (other.plan, other.plan.members, other.blockers)


@settings(max_examples=200)
@given(scopes, graphs, registered)
def test_who_was_moved_can_be_brought_home(
    scope: Scope, uses: list[AccessEdge], instances: dict[str, set[str]]
) -> None:
    """The same scope, asked for in the other direction, holds the same readers and nothing blocks it."""
    there = any_plan(scope, uses, instances)
    if there.blockers:
        return
    bound = dict.fromkeys(there.plan.identities, "west")
    home = proposal(scope, uses, each_its_own, bound, instances, target="east")
    assert home.blockers == ()
    assert set(there.plan.identities) <= set(home.plan.identities)
    assert (home.plan.topics, home.plan.groups) == (there.plan.topics, there.plan.groups)


@pytest.mark.parametrize("kind", Kind)
def test_the_kind_is_kept_with_the_plan(kind: Kind) -> None:
    found = replace(plan(BILL_1), kind=kind)
    assert Plan.from_json(found.to_json()).kind is kind
