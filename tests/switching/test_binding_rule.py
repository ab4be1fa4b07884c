"""What can be bound and unbound by hand. The rule is pure: documents, names and what was seen go in, blockers
come out.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument, BindingState
from hadash.bindings.since import stamped, unbound_at
from hadash.identity.identity import Identity
from hadash.identity.resolve import resolve
from hadash.inventory.relations import Relation
from hadash.switching.binding_rule import (
    MAX_EDITS,
    MAX_MOVES,
    Judgement,
    Known,
    Wanted,
    governed,
    judge,
    moved,
)

SHOP = Identity("shop")
WEB, API = Identity("shop", "web-1"), Identity("shop", "api-1")
ORDERS, CARTS = Identity("shop", topics=("orders",)), Identity("shop", topics=("carts",))
LIST = Identity("shop", topics=("carts", "orders"))
READERS = Identity("shop", group="readers")
EAST, WEST = Binding("east"), Binding("west")


def document(bound: dict[Identity, Binding] | None = None) -> BindingDocument:
    made = BindingDocument("shop")
    for identity, binding in (bound or {}).items():
        made = made.with_binding(identity, binding)
    return made


def bind(*identities: Identity, of: BindingDocument | None = None, **known: object) -> Judgement:
    """East is where everybody is without a binding."""
    found = Known(**{"registered": {"web-1", "api-1"}, **known})  # type: ignore[arg-type]
    return judge(of or document(), "east", Wanted(bind=identities), found)


def unbind(*identities: Identity, of: BindingDocument, **known: object) -> Judgement:
    return judge(of, "east", Wanted(unbind=identities), Known(**known))  # type: ignore[arg-type]


def said(judgement: Judgement) -> list[str]:
    return [str(sentence) for sentence in judgement.blockers]


class TestBinding:
    @pytest.mark.parametrize("identity", [SHOP, WEB, ORDERS, LIST, READERS], ids=str)
    def test_every_kind_of_identity_is_pinned_to_where_it_is(self, identity: Identity) -> None:
        judgement = bind(identity)
        assert judgement.edits == {identity: "east"}
        assert judgement.after.binding_of(identity) == EAST
        assert judgement.blockers == []

    def test_where_it_is_may_be_where_its_appid_is_bound(self) -> None:
        assert bind(WEB, of=document({SHOP: WEST})).edits == {WEB: "west"}
        assert bind(ORDERS, of=document({LIST: WEST})).edits == {ORDERS: "west"}

    def test_what_is_bound_already(self) -> None:
        assert said(bind(WEB, of=document({WEB: WEST}))) == ["shop › web-1 is bound to west already."]

    def test_an_instance_id_that_is_not_registered(self) -> None:
        assert said(bind(WEB, registered=set())) == [
            "InstanceID web-1 is not registered under shop. Register it first, or with this change."
        ]

    def test_a_client_id_that_names_another_appid(self) -> None:
        """The Gateway refuses it, so its binding would say something that never happens."""
        name = "HA#crm#people"
        assert said(bind(Identity("shop", name), registered={name})) == [
            "HA#crm#people names AppID crm: a Gateway refuses it from shop. Bind it under crm."
        ]

    def test_a_client_id_that_names_its_own(self) -> None:
        name = "HA#shop#orders"
        assert bind(Identity("shop", name), registered={name}).blockers == []

    def test_a_topic_in_two_lists(self) -> None:
        other = Identity("shop", topics=("orders", "returns"))
        assert said(bind(LIST, of=document({other: EAST}))) == [
            "Topic orders of shop is in the bound list orders, returns already: a Topic can be in one list only."
        ]
        assert "a Topic can be in one list only" in said(bind(other, LIST))[0], "nor two at once"

    def test_a_list_whose_topics_lie_apart(self) -> None:
        assert said(bind(LIST, of=document({ORDERS: WEST}))) == [
            "The Topics of shop#carts, orders are on different clusters: carts: east, orders: west. "
            "A list has one cluster: bind them in a list for each."
        ]

    @pytest.mark.parametrize(
        "identity",
        [
            Identity("shop", topics=("no such/name",)),
            Identity("shop", topics=("orders", "x" * 250)),
            Identity("shop", group="g\n"),
            Identity("shop", " web"),
        ],
        ids=repr,
    )
    def test_names_that_kafka_does_not_have(self, identity: Identity) -> None:
        judgement = bind(identity, registered={" web"})
        assert len(judgement.blockers) == 1
        assert judgement.edits == {}

    def test_of_another_appid(self) -> None:
        assert said(bind(Identity("crm"))) == ["crm is not of AppID shop."]

    def test_nothing_twice_and_too_much(self) -> None:
        assert said(bind()) == ["Say what to bind or to unbind."]
        assert (
            said(judge(document(), "east", Wanted((WEB,), (WEB,)), Known()))
            == ["shop › web-1 is named twice: name it once."] * 2
        )
        many = [Identity("shop", topics=(f"t{n}",)) for n in range(MAX_EDITS + 1)]
        assert said(bind(*many)) == ["That is 101 identities; at most 100 fit into one change."]

    def test_while_a_switch_is_at_work(self) -> None:
        of = document({WEB: Binding("east", BindingState.QUIESCE, switch="s1")})
        judgement = bind(API, of=of)
        assert said(judgement) == ["Switch s1 is moving clients of shop now. Wait for its end."]
        assert judgement.busy and not judgement.faults


class TestMovingNobody:
    def test_an_instance_id_whose_topic_is_on_the_other_cluster(self) -> None:
        """Without a binding of its own each of its Topics goes by itself; with one all go with it."""
        judgement = bind(
            WEB, of=document({ORDERS: WEST}), uses=[Relation("shop", "web-1", "produce", "orders")]
        )
        assert said(judgement) == [
            "shop › web-1, with Topic orders, would move from west to east.",
            "A change by hand moves nobody: request a switch for it.",
        ]

    def test_also_for_one_that_was_never_seen(self) -> None:
        assert said(bind(WEB, of=document({READERS: WEST})))[0] == (
            "shop › web-1, in group readers, would move from west to east."
        )

    def test_unbinding_to_where_it_would_go(self) -> None:
        of = document({WEB: WEST})
        assert said(unbind(WEB, of=of))[0] == "shop › web-1 would move from west to east."
        assert unbind(WEB, of=document({WEB: EAST})).blockers == []
        assert unbind(WEB, of=document({SHOP: WEST, WEB: WEST})).blockers == []

    def test_unbinding_an_appid_that_has_moved(self) -> None:
        uses = [Relation("shop", "", "consume", "carts"), Relation("shop", "web-1", "group", "readers")]
        assert said(unbind(SHOP, of=document({SHOP: WEST, WEB: WEST}), uses=uses)) == [
            "shop › —, with Topic carts, would move from west to east.",
            "A change by hand moves nobody: request a switch for it.",
        ]
        assert said(unbind(SHOP, of=document({SHOP: WEST})))[0] == (
            "Who comes as shop without a binding of its own would move from west to east."
        )

    def test_unbinding_a_topic_or_a_group(self) -> None:
        assert said(unbind(ORDERS, of=document({ORDERS: WEST})))[0] == (
            "Who uses Topic orders as shop without a bound InstanceID would move from west to east."
        )
        assert said(unbind(READERS, of=document({READERS: WEST})))[0] == (
            "Who is in group readers as shop without a bound InstanceID would move from west to east."
        )
        assert unbind(ORDERS, of=document({ORDERS: WEST, LIST: WEST})).blockers == []

    def test_unbinding_what_has_no_binding(self) -> None:
        assert said(unbind(WEB, of=document())) == ["shop › web-1 has no binding of its own to remove."]

    def test_two_that_hold_each_other(self) -> None:
        """Each by itself moves somebody, both together nobody."""
        of = document({SHOP: WEST})
        judgement = judge(of, "east", Wanted(bind=(WEB,), unbind=(SHOP,)), Known(registered={"web-1"}))
        assert judgement.moves, "other clients that come would move"
        both = document({ORDERS: WEST, LIST: WEST})
        assert unbind(ORDERS, LIST, of=both).moves
        assert unbind(LIST, of=both).moves, "carts"

    def test_a_refusal_names_some_and_says_how_many_more(self) -> None:
        uses = [Relation("shop", f"c{n:02}", "produce", "carts") for n in range(MAX_MOVES + 3)]
        listed = said(unbind(SHOP, of=document({SHOP: WEST}), uses=uses))
        assert len(listed) == MAX_MOVES + 2
        assert listed[-2] == "… and 3 more of this kind."


def test_who_is_governed_by_a_binding() -> None:
    uses = [Relation("shop", "web-1", "produce", "orders"), Relation("shop", "api-1", "produce", "orders")]
    after = bind(WEB, ORDERS).after
    assert governed(after, WEB, uses) == uses[:1]
    assert governed(after, ORDERS, uses) == uses[1:]
    assert governed(after, SHOP, uses) == []


# -- whatever is asked for -----------------------------------------------------------------------------------------

IDENTITIES = [
    SHOP,
    WEB,
    API,
    ORDERS,
    CARTS,
    LIST,
    READERS,
    Identity("shop", "HA#shop#orders"),
    Identity("shop", topics=("returns", "stock")),
]
NAMES = {identity.instance_id for identity in IDENTITIES if identity.instance_id is not None}
TOPICS, GROUPS = ["orders", "carts", "returns", "stock", "rare"], ["readers", "others"]
SPELLED = "HA#shop#" + "".join(f"%{ord(letter):02X}" for letter in "orders")
CLIENTS = [*sorted(NAMES), "", "stranger", SPELLED, "HA#crm#orders"]
CLIENTS += [f"HA#shop#{topic}" for topic in TOPICS if topic != "orders"]
REQUESTS = [
    *((client, None, None) for client in CLIENTS),
    *((client, topic, None) for client in CLIENTS for topic in TOPICS),
    *((client, None, group) for client in CLIENTS for group in GROUPS),
]

BOUND = st.dictionaries(st.sampled_from(IDENTITIES), st.sampled_from([EAST, WEST]), max_size=6)
ASKED = st.lists(st.sampled_from(IDENTITIES), max_size=3, unique=True)
USES = st.lists(
    st.builds(
        Relation, st.just("shop"), st.sampled_from(CLIENTS), st.just("produce"), st.sampled_from(TOPICS)
    )
    | st.builds(
        Relation, st.just("shop"), st.sampled_from(CLIENTS), st.just("group"), st.sampled_from(GROUPS)
    ),
    max_size=4,
)


def clusters(of: BindingDocument) -> dict[tuple[str, str | None, str | None], str]:
    """Where every request of the fleet goes."""
    return {(c, t, g): resolve(of, c, EAST, topic=t, group=g).cluster for c, t, g in REQUESTS}


@settings(max_examples=600)
@given(BOUND, ASKED, USES)
def test_what_is_accepted_moves_nobody_and_a_refusal_names_who_would_move(
    bound: dict[Identity, Binding], asked: list[Identity], uses: list[Relation]
) -> None:
    of = document(bound)
    wanted = Wanted(
        tuple(i for i in asked if of.binding_of(i) is None), tuple(i for i in asked if of.binding_of(i))
    )
    judgement = judge(of, "east", wanted, Known(uses, NAMES))
    before, after = clusters(of), clusters(judgement.after)
    if not judgement.blockers:
        assert before == after
    for move in judgement.moves:
        asked_for = (move.client_id or "stranger", move.topic, move.group)
        assert (before[asked_for], after[asked_for]) == (move.before, move.after)
        assert move.before != move.after
    assert bool(judgement.moves) == (before != after)


@given(BOUND, ASKED)
def test_what_is_known_changes_whom_a_refusal_names_and_not_whether_it_refuses(
    bound: dict[Identity, Binding], asked: list[Identity]
) -> None:
    of = document(bound)
    after = of
    for identity in asked:
        after = after.with_binding(identity, None)
    everything = [
        Relation("shop", c, "group" if g else "produce", g or t or "") for c, t, g in REQUESTS if t or g
    ]
    assert bool(moved(of, after, "east", asked)) == bool(moved(of, after, "east", asked, everything))


@settings(max_examples=300)
@given(BOUND, st.lists(ASKED, max_size=5))
def test_producers_keep_the_epoch_they_are_seen_with(
    bound: dict[Identity, Binding], steps: list[list[Identity]]
) -> None:
    """A change by hand moves nobody, so no cluster sees an earlier epoch of a producer again (docs/adr/0005)."""
    of = BindingDocument("shop")
    for since, (identity, binding) in enumerate(bound.items(), 1):
        of = of.with_binding(identity, replace(binding, since=since))

    def seen(made: BindingDocument) -> dict[tuple[str, str], int]:
        pairs = itertools.product(CLIENTS, TOPICS)
        return {(c, t): max(resolve(made, c, Binding("east"), topic=t).since, made.unbound) for c, t in pairs}

    for epoch, asked in enumerate(steps, 100):
        wanted = Wanted(
            tuple(i for i in asked if of.binding_of(i) is None), tuple(i for i in asked if of.binding_of(i))
        )
        judgement = judge(of, "east", wanted, Known((), NAMES))
        if judgement.blockers:
            continue
        before = seen(of)
        for identity, cluster in judgement.edits.items():
            if cluster is None:
                of = replace(of, unbound=unbound_at(of, identity, epoch, stays=True))
                of = of.with_binding(identity, None)
            else:
                made = stamped(of, identity, Binding(cluster), epoch, stays=True)
                of = of.with_binding(identity, made)
        after = seen(of)
        assert all(after[who] >= before[who] for who in before)
        if not bound:
            assert after == before
