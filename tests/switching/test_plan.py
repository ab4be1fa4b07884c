"""A plan: what it writes, whom it covers, and that its digest stands for all of it."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.identity.identity import Identity
from hadash.radius.closure import Dimension
from hadash.radius.scope import Member, Scope, ScopeKind
from hadash.switching.plan import Plan, PlanIndex, PoolTopic

SHOP, WEB, BATCH = Identity("shop"), Identity("shop", "web-1"), Identity("shop", "batch-1")
WHOLE = Plan(
    pair="main",
    scope=Scope.of(SHOP),
    source="east",
    target="west",
    identities=(SHOP, BATCH, WEB),
    topics=("carts", "orders"),
    groups=("billing",),
    mirrors=("shop",),
    members=(Member("appid:shop"), Member("topic:carts", "appid:shop", "produce")),
)
ONE = replace(WHOLE, scope=Scope.of(WEB), identities=(WEB,))

names = st.text(min_size=1, max_size=12)
lists = st.lists(names, max_size=4).map(tuple)
identities = st.one_of(
    st.builds(Identity, names, st.none() | names),
    st.builds(Identity, names, topics=lists.filter(bool)),
    st.builds(Identity, names, group=names),
)
scopes = st.builds(
    Scope, st.sampled_from(ScopeKind), names, names, lists, st.sampled_from(Dimension), st.booleans()
)
plans = st.builds(
    Plan,
    pair=names,
    scope=scopes,
    source=names,
    target=names,
    identities=st.lists(identities, max_size=4).map(tuple),
    topics=lists,
    groups=lists,
    mirrors=lists,
    members=st.lists(st.builds(Member, names, names, names, st.booleans()), max_size=3).map(tuple),
)


@given(plans)
def test_a_plan_survives_json(plan: Plan) -> None:
    stored = json.loads(json.dumps(plan.to_json()))
    again = Plan.from_json(stored)
    assert (again, again.digest, again.members) == (plan, plan.digest, plan.members)


@given(plans, plans)
def test_two_plans_have_one_digest_only_if_they_are_equal(one: Plan, other: Plan) -> None:
    assert (one.digest == other.digest) == (one == other)


CHANGED: dict[str, Any] = {
    "pair": "other",
    "scope": Scope.of(WEB),
    "source": "north",
    "target": "south",
    "identities": (SHOP,),
    "topics": ("carts",),
    "groups": (),
    "mirrors": ("shop", "more"),
    "pools": (PoolTopic("readers", "orders", "audit"),),
}


@pytest.mark.parametrize("name", [field.name for field in fields(Plan) if field.compare])
def test_the_digest_changes_with_everything_that_is_approved(name: str) -> None:
    assert replace(WHOLE, **{name: CHANGED[name]}).digest != WHOLE.digest


@pytest.mark.parametrize(
    "scope",
    [
        replace(WHOLE.scope, widen=True),
        replace(WHOLE.scope, dimension=Dimension.APPID),
        Scope(ScopeKind.TOPICS, topics=("carts",)),
        Scope(ScopeKind.PAIR),
    ],
)
def test_and_with_how_the_closure_was_asked_for(scope: Scope) -> None:
    assert replace(WHOLE, scope=scope).digest != WHOLE.digest


def test_the_reasons_are_no_part_of_what_is_approved() -> None:
    """One more client that reads a Topic which moves anyway may change why it moves, and moves nothing."""
    assert replace(WHOLE, members=()).digest == WHOLE.digest


def test_the_digest_is_the_same_in_every_process_and_version() -> None:
    """It is stored with the request and recomputed for the approval: a new version must come to the same one."""
    assert WHOLE.digest == "0b7200678c8ea9e02174477ea1c40837"


def test_names_do_not_run_into_each_other() -> None:
    assert replace(WHOLE, topics=("a", "b")).digest != replace(WHOLE, topics=("a, b",)).digest
    assert replace(WHOLE, topics=("a",), groups=()).digest != replace(WHOLE, topics=(), groups=("a",)).digest


@pytest.mark.parametrize("value", [None, [], "plan", 7])
def test_what_is_no_plan_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        Plan.from_json(value)


@pytest.mark.parametrize("name", [field.name for field in fields(Plan) if field.compare])
def test_a_plan_with_a_field_missing_is_refused(name: str) -> None:
    stored = WHOLE.to_json()
    del stored[name]
    with pytest.raises(KeyError):
        Plan.from_json(stored)


def test_what_an_older_version_kept_beside_the_plan_is_ignored() -> None:
    assert Plan.from_json(WHOLE.to_json() | {"colour": "blue"}) == WHOLE


@pytest.mark.parametrize("client_id", ["web-1", "batch-1", "", "unheard of"])
def test_a_whole_appid_covers_all_its_clients(client_id: str) -> None:
    assert WHOLE.covers("shop", client_id)
    assert not WHOLE.covers("crm", client_id)


@pytest.mark.parametrize(
    ("client_id", "covered"), [("web-1", True), ("web-10", False), ("batch-1", False), ("", False)]
)
def test_an_instance_covers_only_itself(client_id: str, covered: bool) -> None:
    assert ONE.covers("shop", client_id) is covered
    assert not ONE.covers("crm", client_id)


def test_a_bound_topic_covers_the_clients_that_name_it() -> None:
    """Others may use more Topics than the one that moves."""
    topic = replace(WHOLE, identities=(Identity("shop", topics=("carts", "orders")),))
    assert topic.covers("shop", "HA#shop#orders")
    assert not topic.covers("shop", "HA#shop#returns")
    assert not topic.covers("shop", "HA#crm#orders")
    assert not topic.covers("shop", "web-1")


class TestUses:
    """Orders moves with a binding of its own, and so do those of its clients that have none."""

    plan = replace(
        WHOLE,
        identities=(Identity("shop", topics=("orders", "returns")),),
        members=(
            Member("bound topics:" + Identity("shop", topics=("orders", "returns")).key),
            Member("instance:" + BATCH.key, "topic:orders", "consume", already=True),
            Member("bound topics:" + Identity("shop", topics=("logs",)).key, "", "", already=True),
        ),
    )

    @pytest.mark.parametrize("kind", ["produce", "consume"])
    @pytest.mark.parametrize("client_id", ["web-1", "", "HA#shop#carts", "HA#shop#orders"])
    def test_of_a_topic_with_a_binding_of_its_own_move(self, client_id: str, kind: str) -> None:
        assert self.plan.covers_use("shop", client_id, kind, "orders")

    @pytest.mark.parametrize(
        ("appid", "client_id", "kind", "resource"),
        [
            ("shop", "web-1", "produce", "carts"),
            ("crm", "web-1", "produce", "orders"),
            ("shop", "web-1", "group", "orders"),
            ("shop", "batch-1", "consume", "orders"),
            ("shop", "HA#shop#logs", "consume", "orders"),
        ],
        ids=["another Topic", "another AppID", "a group", "on the target already", "named and there already"],
    )
    def test_others_do_not(self, appid: str, client_id: str, kind: str, resource: str) -> None:
        assert not self.plan.covers_use(appid, client_id, kind, resource)

    def test_of_who_moves_as_a_whole_all_do(self) -> None:
        assert WHOLE.covers_use("shop", "web-1", "group", "billing")
        assert not WHOLE.moves_by_topic
        assert self.plan.moves_by_topic


def test_clients_are_called_by_their_appid_too_when_there_are_several() -> None:
    both = replace(WHOLE, identities=(SHOP, Identity("crm")))
    assert (WHOLE.who("shop", "web-1"), both.who("shop", "web-1")) == ("web-1", "shop › web-1")
    assert both.appids == ("crm", "shop")


class TestOverlaps:
    other = replace(WHOLE, identities=(Identity("crm"),), topics=("people",), groups=("crm",))

    def test_two_that_share_nothing_do_not(self) -> None:
        assert not WHOLE.overlaps(self.other)

    @pytest.mark.parametrize(
        "values",
        [
            {"topics": ("people", "orders")},
            {"groups": ("billing",)},
            {"identities": (Identity("crm"), WEB)},
            {"identities": (Identity("shop", "unheard of"),)},
        ],
        ids=["a Topic", "a group", "an identity", "part of a whole AppID"],
    )
    def test_two_that_share_something_do(self, values: dict[str, Any]) -> None:
        sharing = replace(self.other, **values)
        assert WHOLE.overlaps(sharing)
        assert sharing.overlaps(WHOLE)


#: Few names, so that plans meet.
few = st.sampled_from("abc")
few_lists = st.lists(few, max_size=2).map(tuple)
close_plans = st.builds(
    replace,
    st.just(ONE),
    identities=st.lists(
        st.one_of(
            st.builds(Identity, few, st.none() | few),
            st.builds(Identity, few, topics=st.lists(few, min_size=1, max_size=2).map(tuple)),
            st.builds(Identity, few, group=few),
        ),
        max_size=2,
    ).map(tuple),
    topics=few_lists,
    groups=few_lists,
)


@given(st.lists(close_plans, max_size=4), close_plans)
def test_the_index_finds_the_first_one_that_a_comparison_with_each_would(
    held: list[Plan], asked: Plan
) -> None:
    compared = next((place for place, plan in enumerate(held) if asked.overlaps(plan)), None)
    assert PlanIndex((plan, place) for place, plan in enumerate(held)).first(asked) == compared
