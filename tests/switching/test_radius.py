"""What moves together, and every reason why something cannot move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.identity.identity import Identity
from hadash.switching.plan import Plan
from hadash.switching.radius import MirrorOf, NotClosed, Use, close

SHOP, WEB = Identity("shop"), Identity("shop", "web-1")

#: web-1 writes orders, bill-1 and bill-2 read them in group billing.
SHOP_USES = [
    Use("shop", "web-1", "produce", "orders"),
    Use("shop", "bill-1", "consume", "orders"),
    Use("shop", "bill-2", "consume", "orders"),
    Use("shop", "bill-1", "group", "billing"),
    Use("shop", "bill-2", "group", "billing"),
]
#: Another AppID that has nothing to do with it.
STRANGER = [Use("crm", "sync", "consume", "people"), Use("crm", "sync", "group", "crm")]
ORDERS = MirrorOf("orders", "east", frozenset({"orders"}))


def moving(
    scope: Identity,
    uses: Iterable[Use],
    mirrors: Iterable[MirrorOf] = (ORDERS,),
    bound: Mapping[str, str] | None = None,
) -> Plan:
    return close(scope, "main", "east", "west", uses, mirrors, bound or {})


def reasons(
    scope: Identity,
    uses: Iterable[Use],
    mirrors: Iterable[MirrorOf] = (ORDERS,),
    bound: Mapping[str, str] | None = None,
) -> list[str]:
    """Why it cannot move."""
    with pytest.raises(NotClosed) as refused:
        moving(scope, uses, mirrors, bound)
    found = [str(reason) for reason in refused.value.reasons]
    assert str(refused.value) == " ".join(found)
    return found


def test_a_whole_appid_with_its_topics_groups_and_mirrors() -> None:
    assert moving(SHOP, SHOP_USES + STRANGER) == Plan(
        pair="main",
        appid="shop",
        instance_id=None,
        source="east",
        target="west",
        topics=("orders",),
        groups=("billing",),
        mirrors=("orders",),
        instances=(),
    )


def test_one_instance_that_shares_with_nobody() -> None:
    uses = [Use("shop", "web-1", "produce", "carts"), *SHOP_USES[1:], *STRANGER]
    plan = moving(WEB, uses, [ORDERS, MirrorOf("carts", "east", frozenset({"carts"}))])
    assert (plan.topics, plan.groups, plan.mirrors) == (("carts",), (), ("carts",))
    assert (plan.instance_id, plan.instances) == ("web-1", ("web-1",))


def test_a_whole_appid_takes_its_bound_instances_along() -> None:
    """Otherwise a narrower binding would stay behind."""
    plan = moving(SHOP, SHOP_USES, bound={"web-1": "east", "bill-1": "east"})
    assert plan.instances == ("bill-1", "web-1")


def test_a_topic_that_another_appid_writes() -> None:
    uses = [*SHOP_USES, Use("crm", "export", "produce", "orders")]
    assert reasons(SHOP, uses) == ["crm › export writes to Topic orders too and would stay."]


def test_a_topic_that_another_appid_reads() -> None:
    uses = [*SHOP_USES, Use("crm", "sync", "consume", "orders")]
    assert reasons(SHOP, uses) == ["crm › sync reads Topic orders too and would stay."]


def test_a_topic_that_another_instance_reads() -> None:
    assert reasons(WEB, SHOP_USES) == [
        "shop › bill-1 reads Topic orders too and would stay.",
        "shop › bill-2 reads Topic orders too and would stay.",
    ]


def test_a_topic_that_a_client_without_an_instance_id_writes() -> None:
    """It moves with the AppID, but not with one InstanceID of it."""
    uses = [Use("shop", "web-1", "produce", "orders"), Use("shop", "", "produce", "orders")]
    assert reasons(WEB, uses) == ["shop writes to Topic orders too and would stay."]
    assert moving(SHOP, uses).topics == ("orders",)


def test_a_group_that_would_be_split() -> None:
    uses = [*SHOP_USES, Use("crm", "helper", "group", "billing")]
    assert reasons(SHOP, uses) == [
        "Group billing would be split: crm › helper is a member too and would stay."
    ]


def test_a_group_of_two_instances_cannot_move_with_one_of_them() -> None:
    found = reasons(Identity("shop", "bill-1"), SHOP_USES)
    assert "Group billing would be split: shop › bill-2 is a member too and would stay." in found


def test_a_group_and_a_topic_of_the_same_name_are_two_things() -> None:
    uses = [*SHOP_USES, Use("crm", "sync", "group", "orders"), Use("crm", "sync", "consume", "billing")]
    assert moving(SHOP, uses).groups == ("billing",)


def test_nothing_was_used() -> None:
    assert reasons(SHOP, STRANGER) == [
        "shop has not used any Topic through a Gateway: there is nothing to move. "
        "Start its clients at the Gateway first."
    ]
    assert reasons(WEB, SHOP_USES[1:])[0].startswith("shop › web-1 has not used any Topic")


def test_being_in_a_group_is_not_using_a_topic() -> None:
    assert reasons(SHOP, [Use("shop", "bill-1", "group", "billing")])[0].startswith(
        "shop has not used any Topic"
    )


def test_no_mirror() -> None:
    assert reasons(SHOP, SHOP_USES, []) == ["No mirror carries orders. Create one first."]


def test_a_mirror_of_a_part_of_the_topics() -> None:
    uses = [*SHOP_USES, Use("shop", "web-1", "produce", "carts"), Use("shop", "web-1", "produce", "a")]
    assert reasons(SHOP, uses) == ["No mirror carries a, carts. Create one first."]


def test_a_mirror_with_topics_of_others() -> None:
    mirror = MirrorOf("all", "east", frozenset({"orders", "people", "logs"}))
    assert reasons(SHOP, SHOP_USES, [mirror]) == [
        "Mirror all also carries logs, people, which would not move. Mirror them separately."
    ]


def test_a_mirror_in_the_wrong_direction() -> None:
    mirror = MirrorOf("orders", "west", frozenset({"orders"}))
    assert reasons(SHOP, SHOP_USES, [mirror]) == [
        "Mirror orders copies from west, but the switch would start on east."
    ]


def test_a_mirror_of_others_does_not_matter() -> None:
    assert moving(SHOP, SHOP_USES, [ORDERS, MirrorOf("crm", "west", frozenset({"people"}))]).mirrors == (
        "orders",
    )


def test_several_mirrors_together() -> None:
    uses = [*SHOP_USES, Use("shop", "web-1", "produce", "carts")]
    mirrors = [MirrorOf("carts", "east", frozenset({"carts"})), ORDERS]
    assert moving(SHOP, uses, mirrors).mirrors == ("carts", "orders")


def test_an_instance_that_is_elsewhere_blocks_the_whole_appid() -> None:
    assert reasons(SHOP, SHOP_USES, bound={"web-1": "west", "bill-1": "east"}) == [
        "shop › web-1 is on west already. Switch it back first, then move the whole AppID."
    ]


def test_an_instance_that_is_elsewhere_does_not_block_another_instance() -> None:
    uses = [Use("shop", "web-1", "produce", "orders")]
    assert moving(WEB, uses, bound={"web-1": "east", "bill-1": "west"}).instances == ("web-1",)


def test_all_reasons_at_once() -> None:
    """Whoever asks repairs everything in one go."""
    uses = [
        *SHOP_USES,
        Use("shop", "web-1", "produce", "carts"),
        Use("crm", "sync", "consume", "orders"),
        Use("crm", "helper", "group", "billing"),
    ]
    mirror = MirrorOf("old", "west", frozenset({"orders", "logs"}))
    assert reasons(SHOP, uses, [mirror], {"web-1": "west"}) == [
        "Group billing would be split: crm › helper is a member too and would stay.",
        "crm › sync reads Topic orders too and would stay.",
        "shop › web-1 is on west already. Switch it back first, then move the whole AppID.",
        "Mirror old copies from west, but the switch would start on east.",
        "Mirror old also carries logs, which would not move. Mirror them separately.",
        "No mirror carries carts. Create one first.",
    ]


# -- what holds for every access graph --------------------------------------------------------------------------------

TOPICS = ["orders", "carts", "people"]
use_of_a_topic = st.builds(
    Use,
    st.sampled_from(["shop", "crm"]),
    st.sampled_from(["web-1", "bill-1", ""]),
    st.sampled_from(["produce", "consume"]),
    st.sampled_from(TOPICS),
)
use_of_a_group = st.builds(
    Use,
    st.sampled_from(["shop", "crm"]),
    st.sampled_from(["web-1", "bill-1", ""]),
    st.just("group"),
    st.sampled_from(["billing", "crm"]),
)
graphs = st.lists(use_of_a_topic | use_of_a_group, max_size=6)
scopes = st.sampled_from([SHOP, WEB])
each_its_own = [MirrorOf(topic, "east", frozenset({topic})) for topic in TOPICS]


def outcome(scope: Identity, uses: Iterable[Use]) -> Plan | list[str]:
    try:
        return moving(scope, uses, each_its_own)
    except NotClosed as refused:
        return [str(reason) for reason in refused.reasons]


@given(st.data(), scopes, graphs)
def test_the_order_of_uses_does_not_matter(data: st.DataObject, scope: Identity, uses: list[Use]) -> None:
    shuffled = data.draw(st.permutations(uses))
    assert outcome(scope, uses) == outcome(scope, [*shuffled, *uses])


@settings(max_examples=300)
@given(scopes, graphs)
def test_a_plan_never_holds_what_an_outsider_uses(scope: Identity, uses: list[Use]) -> None:
    found = outcome(scope, uses)
    if isinstance(found, Plan):
        for use in uses:
            inside = use.appid == found.appid and found.covers(use.client_id)
            held = use.resource in (found.groups if use.kind == "group" else found.topics)
            assert held == inside
    else:
        assert found
