"""A plan: what it writes, whom it covers, and that its digest stands for all of it."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.identity.identity import Identity
from hadash.switching.plan import Plan

WHOLE = Plan(
    pair="main",
    appid="shop",
    instance_id=None,
    source="east",
    target="west",
    topics=("carts", "orders"),
    groups=("billing",),
    mirrors=("shop",),
    instances=("batch-1", "web-1"),
)
ONE = replace(WHOLE, instance_id="web-1", instances=("web-1",))

names = st.text(max_size=12)
lists = st.lists(names, max_size=4).map(tuple)
plans = st.builds(
    Plan,
    pair=names,
    appid=names,
    instance_id=st.none() | names,
    source=names,
    target=names,
    topics=lists,
    groups=lists,
    mirrors=lists,
    instances=lists,
)


@given(plans)
def test_a_plan_survives_json(plan: Plan) -> None:
    stored = json.loads(json.dumps(plan.to_json()))
    assert Plan.from_json(stored) == plan
    assert Plan.from_json(stored).digest == plan.digest


@given(plans, plans)
def test_two_plans_have_one_digest_only_if_they_are_equal(one: Plan, other: Plan) -> None:
    assert (one.digest == other.digest) == (one == other)


@pytest.mark.parametrize("name", [field.name for field in fields(Plan)])
def test_the_digest_changes_with_every_field(name: str) -> None:
    value = getattr(WHOLE, name)
    changed: Any = (*value, "more") if isinstance(value, tuple) else f"{value}-more"
    assert replace(WHOLE, **{name: changed}).digest != WHOLE.digest


def test_the_digest_is_the_same_in_every_process_and_version() -> None:
    """It is stored with the request and recomputed for the approval: a new version must come to the same one."""
    assert WHOLE.digest == "9b46cdf9630845b9b33a1f670e7587d9"


def test_names_do_not_run_into_each_other() -> None:
    assert replace(WHOLE, topics=("a", "b")).digest != replace(WHOLE, topics=("a, b",)).digest
    assert replace(WHOLE, topics=("a",), groups=()).digest != replace(WHOLE, topics=(), groups=("a",)).digest


@pytest.mark.parametrize("value", [None, [], "plan", 7])
def test_what_is_no_plan_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        Plan.from_json(value)


@pytest.mark.parametrize("name", [field.name for field in fields(Plan)])
def test_a_plan_with_a_field_missing_is_refused(name: str) -> None:
    stored = WHOLE.to_json()
    del stored[name]
    with pytest.raises(KeyError):
        Plan.from_json(stored)


def test_what_an_older_version_kept_beside_the_plan_is_ignored() -> None:
    assert Plan.from_json(WHOLE.to_json() | {"colour": "blue"}) == WHOLE


def test_a_whole_appid_moves_with_every_instance_that_has_a_binding() -> None:
    assert WHOLE.identities == (Identity("shop"), Identity("shop", "batch-1"), Identity("shop", "web-1"))
    assert WHOLE.scope == Identity("shop")


def test_an_instance_moves_alone() -> None:
    assert ONE.identities == (Identity("shop", "web-1"),)
    assert ONE.scope == Identity("shop", "web-1")


@pytest.mark.parametrize("client_id", ["web-1", "batch-1", "", "unheard of"])
def test_a_whole_appid_covers_all_its_clients(client_id: str) -> None:
    assert WHOLE.covers(client_id)


@pytest.mark.parametrize(
    ("client_id", "covered"), [("web-1", True), ("web-10", False), ("batch-1", False), ("", False)]
)
def test_an_instance_covers_only_itself(client_id: str, covered: bool) -> None:
    assert ONE.covers(client_id) is covered
