"""An identity's key: one text for locks and journals, with exactly one reading."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hadash.identity.identity import Identity

names = st.text(st.characters(exclude_categories=["Cs"]))
identities = st.builds(Identity, names, st.none() | names)


@given(identities, identities)
@example(Identity("a#b"), Identity("a", "b"))
@example(Identity("a", "b#c"), Identity("a#b", "c"))
@example(Identity("a"), Identity("a", ""))
def test_keys_are_equal_only_for_the_same_identity(one: Identity, other: Identity) -> None:
    assert (one.key == other.key) == (one == other)


def test_a_key_reads_as_appid_and_instance() -> None:
    assert Identity("shop").key == "shop"
    assert Identity("shop", "web-1").key == "shop#web-1"
    assert Identity("shop", "web#1").key == "shop#web%231"


def test_an_identity_is_shown_to_people_as_they_wrote_it() -> None:
    assert str(Identity("shop")) == "shop"
    assert str(Identity("购物车", "web#1")) == "购物车 › web#1"
