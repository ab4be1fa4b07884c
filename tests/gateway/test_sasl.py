"""Whose connection this is, from the first SASL message; what cannot be read is refused, never guessed."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.gateway.protocol.sasl import UnreadableToken, user_name

scram = pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])

#: Names that PLAIN can carry: no NUL, and not empty.
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


class TestPlain:
    @given(names, names)
    def test_the_user_is_the_second_part(self, user: str, password: str) -> None:
        assert user_name("PLAIN", f"\0{user}\0{password}".encode()) == user

    @given(names)
    def test_acting_as_oneself_is_allowed(self, user: str) -> None:
        assert user_name("PLAIN", f"{user}\0{user}\0secret".encode()) == user

    def test_acting_as_somebody_else_is_not(self) -> None:
        with pytest.raises(UnreadableToken, match="authorization id other than the user name"):
            user_name("PLAIN", b"admin\0shop\0secret")

    @pytest.mark.parametrize(
        "token", [b"", b"shop", b"\0shop", b"\0shop\0a\0b", b"\0\0secret", b"shop\0\0secret"]
    )
    def test_what_is_not_three_parts_is_refused(self, token: bytes) -> None:
        with pytest.raises(UnreadableToken, match="not authorization id, user name, password"):
            user_name("PLAIN", token)

    def test_a_name_that_is_not_text_is_refused(self) -> None:
        with pytest.raises(UnreadableToken, match=r"^The first PLAIN message is not UTF-8\.$"):
            user_name("PLAIN", b"\0\xff\xfe\0secret")

    def test_no_message_shows_the_password(self) -> None:
        for token in (b"admin\0shop\0secret", b"\0\0secret", b"\0shop\0secret\0"):
            with pytest.raises(UnreadableToken) as caught:
                user_name("PLAIN", token)
            assert "secret" not in str(caught.value)


class TestScram:
    @scram
    @given(user=names)
    def test_the_user_stands_after_n(self, mechanism: str, user: str) -> None:
        quoted = user.replace("=", "=3D").replace(",", "=2C")
        assert user_name(mechanism, f"n,,n={quoted},r=nonce".encode()) == user

    @scram
    @pytest.mark.parametrize(
        ("written", "name"), [("a=2Cb", "a,b"), ("a=3Db", "a=b"), ("a=3D2Cb", "a=2Cb"), ("购物车", "购物车")]
    )
    def test_commas_and_equal_signs_are_written_as_codes(
        self, mechanism: str, written: str, name: str
    ) -> None:
        assert user_name(mechanism, f"n,,n={written},r=nonce".encode()) == name

    @scram
    def test_a_client_that_could_bind_channels_is_welcome(self, mechanism: str) -> None:
        assert user_name(mechanism, b"y,,n=shop,r=nonce") == "shop"

    @scram
    def test_acting_as_oneself_is_allowed(self, mechanism: str) -> None:
        assert user_name(mechanism, b"n,a=shop,n=shop,r=nonce") == "shop"

    @scram
    def test_acting_as_somebody_else_is_not(self, mechanism: str) -> None:
        with pytest.raises(UnreadableToken, match="authorization id other than the user name"):
            user_name(mechanism, b"n,a=admin,n=shop,r=nonce")

    @scram
    @pytest.mark.parametrize(
        "token",
        [b"", b"n", b"n,,", b"n,,r=nonce", b"p=tls-unique,,n=shop,r=nonce", b"n,,n=,r=nonce", b"x,,n=shop"],
    )
    def test_what_names_no_user_is_refused(self, mechanism: str, token: bytes) -> None:
        with pytest.raises(UnreadableToken):
            user_name(mechanism, token)

    @scram
    def test_a_delegation_token_is_not_taken_for_a_user(self, mechanism: str) -> None:
        """With tokenauth=true the name is a token's id; the broker makes its owner the principal."""
        with pytest.raises(UnreadableToken):
            user_name(mechanism, b"n,,n=Ab12token,r=nonce,tokenauth=true")
        with pytest.raises(UnreadableToken):
            user_name(mechanism, b"n,,n=Ab12token,r=nonce,tokenauth=TRUE")


@given(st.sampled_from(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]), st.binary())
def test_garbage_is_refused_or_a_name_and_nothing_else(mechanism: str, token: bytes) -> None:
    try:
        assert user_name(mechanism, token)
    except UnreadableToken:
        pass


def jwt(**claims: object) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}."


def bearer(token: str, header: str = "n,,") -> bytes:
    return f"{header}\x01auth=Bearer {token}\x01\x01".encode()


class TestBearer:
    def test_the_user_is_a_claim_of_the_token(self) -> None:
        token = jwt(sub="购物", azp="shop-client", exp=9e9)
        assert user_name("OAUTHBEARER", bearer(token)) == "购物"
        assert user_name("OAUTHBEARER", bearer(token), "azp") == "shop-client"
        assert user_name("OAUTHBEARER", bearer(token, "n,a=购物,")) == "购物"

    @pytest.mark.parametrize(
        ("message", "why"),
        [
            (b"", "no bearer token"),
            (b"n,,\x01auth=Basic eA==\x01\x01", "no bearer token"),
            (bearer("a.b"), "no bearer token"),
            # A broker takes the last of several, so none of them may be believed.
            (
                bearer(jwt(sub="shop"))[:-1] + b"auth=Bearer " + jwt(sub="me").encode() + b"\x01\x01",
                "no bearer",
            ),
            (bearer("a.%%%.c"), "cannot be read"),
            (bearer("a.bm90IGpzb24.c"), "cannot be read"),
            (bearer(jwt(name="shop")), "no claim 'sub'"),
            (bearer(jwt(sub=7)), "no claim 'sub'"),
            (bearer(jwt(sub="\ud83d")), "is no text"),
            (bearer(jwt(sub="")), "no claim 'sub'"),
            (bearer("a.W10.c"), "no claim 'sub'"),
            (bearer(jwt(sub="shop"), "n,a=admin,"), "authorization id other than"),
        ],
    )
    def test_what_names_nobody_is_refused_with_the_reason(self, message: bytes, why: str) -> None:
        with pytest.raises(UnreadableToken, match=why):
            user_name("OAUTHBEARER", message)


@pytest.mark.parametrize("mechanism", ["GSSAPI", "", "plain"])
def test_other_mechanisms_cannot_be_read(mechanism: str) -> None:
    with pytest.raises(UnreadableToken, match=f"SASL mechanism {mechanism} cannot be read"):
        user_name(mechanism, b"\0shop\0secret")
