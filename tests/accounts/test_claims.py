"""What a provider says, as a person here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.accounts.claims import Person, Refused, Rules, person_of

RULES = Rules("preferred_username", "groups", {"ops": "operator", "leads": "approver", "both": "operator"})

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = ["sub", "preferred_username", "groups", "given_name", "family_name", "name", "email"]


def said(**claims: Any) -> dict[str, Any]:
    return {"sub": "17", "preferred_username": "anna", **claims}


@pytest.mark.parametrize(
    ("groups", "roles"),
    [
        (["ops"], {"operator"}),
        (["ops", "both", "leads", "staff"], {"operator", "approver"}),
        ("ops", {"operator"}),
        ("ops leads", set()),
        (["OPS", "/ops", " ops"], set()),
        ([["ops"], 1, None], set()),
        ({"ops": True}, set()),
        (None, set()),
    ],
)
def test_groups_are_roles(groups: Any, roles: set[str]) -> None:
    assert person_of(said(groups=groups), RULES).roles == roles


def test_the_default_role_is_for_those_without_one() -> None:
    rules = Rules("preferred_username", "groups", {"ops": "operator"}, "viewer")
    assert person_of(said(groups=["ops"]), rules).roles == {"operator"}
    assert person_of(said(), rules).roles == {"viewer"}


def test_claims_within_claims() -> None:
    rules = Rules("account.login", "realm_access.roles", {"ops": "operator"})
    person = person_of({"sub": "1", "account": {"login": "anna"}, "realm_access": {"roles": ["ops"]}}, rules)
    assert (person.username, person.roles) == ("anna", {"operator"})


@pytest.mark.parametrize(
    ("claims", "names"),
    [
        ({"given_name": "Anna", "family_name": "de Example"}, ("Anna", "de Example")),
        ({"name": "Anna de Example"}, ("Anna", "de Example")),
        ({"name": "王小明"}, ("王小明", "")),
        ({}, ("", "")),
        ({"given_name": 1, "family_name": None, "name": []}, ("", "")),
    ],
)
def test_names(claims: dict[str, Any], names: tuple[str, str]) -> None:
    person = person_of(said(**claims), RULES)
    assert (person.first_name, person.last_name) == names


@pytest.mark.parametrize(
    ("username", "read"),
    [("anna@example.org", "anna@example.org"), (" anna ", "anna"), ("ａｎｎａ", "anna"), ("王", "王")],
)
def test_user_names(username: str, read: str) -> None:
    assert person_of(said(preferred_username=username), RULES).username == read


@pytest.mark.parametrize("username", ["", " ", None, 7, "a b", "a\0b", "an\nna", "<b>", "a" * 151, "a/b"])
def test_what_cannot_be_a_user_name(username: Any) -> None:
    with pytest.raises(Refused, match="user name"):
        person_of(said(preferred_username=username), RULES)


@pytest.mark.parametrize("subject", ["", None, 17, "x" * 256])
def test_without_a_subject_nobody_is_anybody(subject: Any) -> None:
    with pytest.raises(Refused, match="sub is missing"):
        person_of(said(sub=subject), RULES)


@given(st.dictionaries(st.sampled_from(NAMES), json_values))
def test_whatever_is_said_is_a_person_or_a_refusal(claims: dict[str, Any]) -> None:
    try:
        person = person_of(claims, RULES)
    except Refused as refusal:
        assert str(refusal.sentence)
    else:
        assert isinstance(person, Person)
        assert person.roles <= {"operator", "approver"}
        assert len(person.first_name) <= 150 and len(person.last_name) <= 150
