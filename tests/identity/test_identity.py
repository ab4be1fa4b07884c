"""How an identity is written: whatever its names hold, the text has exactly one reading."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hadash.identity.client_ids import NamedByClient, named_by
from hadash.identity.identity import Identity, NotAnIdentity, parse

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
identities = st.one_of(
    st.builds(Identity, names),
    st.builds(Identity, names, names),
    st.builds(Identity, names, topics=st.lists(names, min_size=1, max_size=4).map(tuple)),
    st.builds(Identity, names, group=names),
)


@given(identities)
@example(Identity("a#b", "c+d"))
@example(Identity("a", topics=("b,c", "#d")))
@example(Identity("a#", group="#b"))
@example(Identity("购物", group="车+,#%"))
@example(Identity("a%23b"))
def test_what_was_written_is_read_back(identity: Identity) -> None:
    assert parse(identity.key) == identity


@given(identities, identities)
@example(Identity("a", "b"), Identity("a+b"))
@example(Identity("a", group="b"), Identity("a", topics=("#b",)))
@example(Identity("a", topics=("b", "c")), Identity("a", topics=("b,c",)))
def test_two_identities_are_never_written_alike(one: Identity, other: Identity) -> None:
    assert (one.key == other.key) == (one == other)


@given(st.text(st.sampled_from("a%#+,/2"), max_size=12))
def test_a_text_is_read_as_one_identity_or_refused(text: str) -> None:
    try:
        identity = parse(text)
    except NotAnIdentity:
        return
    assert parse(identity.key) == identity


@pytest.mark.parametrize(
    "text", ["", "#t", "shop#", "shop##", "shop+", "shop+a+b", "shop#t,", "shop#t#u", "shop##g#h", "shop+a#t"]
)
def test_what_is_no_identity_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(NotAnIdentity, match=r"empty|AppID##Group"):
        parse(text)


def test_a_list_of_topics_is_a_set() -> None:
    assert Identity("shop", topics=("b", "a", "b")) == Identity("shop", topics=("a", "b"))


def test_an_identity_is_narrowed_down_in_one_way_only() -> None:
    with pytest.raises(NotAnIdentity, match="not two of them"):
        Identity("shop", "web", topics=("orders",))


class TestClientIds:
    @given(names, names)
    @example("a#b", "c")
    @example("100%", "c")
    def test_what_hadash_gives_out_is_read_back(self, appid: str, topic: str) -> None:
        named = NamedByClient(appid, topic)
        assert named_by(named.client_id) == named

    @given(names.filter(lambda name: "#" not in name and "%" not in name))
    def test_names_may_be_typed_as_they_are(self, appid: str) -> None:
        assert named_by(f"HA#{appid}#orders") == NamedByClient(appid, "orders")

    @pytest.mark.parametrize(
        "client_id", ["", "web-1", "HA", "HA#", "HA#shop", "HA##orders", "HA#shop#", "HA#a#b#c", "XHA#a#b"]
    )
    def test_every_other_client_id_is_an_ordinary_one(self, client_id: str) -> None:
        assert named_by(client_id) is None
