"""Names in paths and keys: any name can be written, and is read back as itself."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hadash.identity.names import MAX_NAME_LENGTH, InvalidName, decode, encode, validated

#: Anything that UTF-8 can carry: a SASL user name and a client.id arrive as UTF-8.
names = st.text(st.characters(exclude_categories=["Cs"]))


@given(names)
@example(".")
@example("..")
@example("%2F")
@example("购物车#1/2")
def test_what_was_encoded_decodes_to_itself(name: str) -> None:
    assert decode(encode(name)) == name


@given(names)
@example("a#b/c")
def test_encoded_names_hold_no_separator(name: str) -> None:
    assert "/" not in encode(name)
    assert "#" not in encode(name)


@given(st.one_of(names, st.text(".", max_size=4)))
def test_encoded_names_are_path_elements_that_zookeeper_takes(name: str) -> None:
    assert encode(name) not in (".", "..")
    assert encode(name).isascii()


@given(names, names)
@example(".", "%2E")
@example("..", "%2E%2E")
def test_two_names_are_never_written_alike(one: str, other: str) -> None:
    assert (encode(one) == encode(other)) == (one == other)


def test_plain_names_stay_readable() -> None:
    assert encode("shop-web_1.eu") == "shop-web_1.eu"


@pytest.mark.parametrize("name", ["shop", "web#1", "a/b", "购物车", "x" * MAX_NAME_LENGTH])
def test_a_usable_name_is_returned_as_it_is(name: str) -> None:
    assert validated(name, "AppID") == name


def test_blanks_around_a_name_are_a_slip_of_the_hand() -> None:
    assert validated("  shop \n", "AppID") == "shop"


@pytest.mark.parametrize(
    ("name", "what", "message"),
    [
        ("", "AppID", "AppID is empty."),
        ("  ", "InstanceID", "InstanceID is empty."),
        ("x" * 201, "AppID", "AppID is 201 characters long; at most 200 are possible."),
        ("web\x001", "InstanceID", "InstanceID contains a control character."),
        ("web\n1", "AppID", "AppID contains a control character."),
        ("web\x7f1", "AppID", "AppID contains a control character."),
    ],
)
def test_an_unusable_name_is_refused_with_the_reason(name: str, what: str, message: str) -> None:
    with pytest.raises(InvalidName) as caught:
        validated(name, what)
    assert str(caught.value) == message
