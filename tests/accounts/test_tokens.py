"""Tokens that must not be believed. The provider that makes them is a false one; test_provider.py has a real one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from support.forger import Forger
from support.provider import private_key

from accounts.conftest import use
from hadash.accounts import discovery, relying_party
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def forger(settings: Any) -> Iterator[Forger]:
    with Forger() as started:
        use(settings, started.issuer)
        yield started
    discovery.forget()


@dataclass(frozen=True)
class FromNow:
    """A time as tokens tell it, from when a test runs: it is collected long before."""

    seconds: int

    def claim(self) -> int:
        return int(time.time()) + self.seconds


def begin(client: Client) -> dict[str, str]:
    """Go to the provider; with what (state, nonce)."""
    location = client.get(reverse("oidc-start"))["Location"]
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


def come_back(client: Client, forger: Forger, **changes: Any) -> HttpResponse:
    asked = begin(client)
    told = {name: value.claim() if isinstance(value, FromNow) else value for name, value in changes.items()}
    forger.claims = {**forger.claims, "nonce": asked["nonce"], **told}
    return client.get(reverse("oidc-return"), {"code": "c", "state": asked["state"]})


def assert_refused(answer: HttpResponse, why: str = "could not be verified") -> None:
    assert answer.status_code == 403
    assert why in answer.content.decode()
    assert not User.objects.exists()
    assert [entry.verb for entry in Entry.objects.all()] == ["sign in failed"]


def test_without_a_lie_it_works(client: Client, forger: Forger) -> None:
    assert come_back(client, forger)["Location"] == "/"
    assert User.objects.get().email == "anna@example.org"


def test_another_key(client: Client, forger: Forger) -> None:
    forger.signs_with = private_key()
    assert_refused(come_back(client, forger))


def test_the_clients_secret_as_a_key(client: Client, forger: Forger, settings: Any) -> None:
    """HS256 with what the client knows: a token must not choose how it is checked."""
    forger.algorithm, forger.signs_with = "HS256", settings.OIDC_RP_CLIENT_SECRET + " that is long enough"
    assert_refused(come_back(client, forger))


def test_no_signature(client: Client, forger: Forger) -> None:
    forger.algorithm, forger.signs_with = "none", None
    assert_refused(come_back(client, forger))


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"aud": "another-client"},
        {"aud": ["hadash", "another-client"], "azp": "another-client"},
        {"aud": None},
        {"iss": "https://elsewhere.example"},
        {"exp": FromNow(-60)},
        {"exp": None},
        {"iat": FromNow(600)},
        {"sub": None},
    ],
    ids=lambda change: "-".join(f"{name}={value}" for name, value in change.items())[:30],
)
def test_a_token_that_is_not_for_us_from_them_and_now(
    client: Client, forger: Forger, change: dict[str, Any]
) -> None:
    assert_refused(come_back(client, forger, **change))


def test_the_userinfo_of_another_person(client: Client, forger: Forger) -> None:
    forger.userinfo = {"sub": "2", "groups": ["kafka-leads"]}
    assert_refused(come_back(client, forger))


@pytest.mark.parametrize("answer", [[], "text", None])
def test_answers_of_another_shape(client: Client, forger: Forger, answer: Any) -> None:
    forger.answer = lambda path: answer if path == "/token" else Forger.answer(forger, path)  # type: ignore[method-assign]
    assert_refused(come_back(client, forger))


def test_a_name_that_cannot_be_one(client: Client, forger: Forger) -> None:
    answer = come_back(client, forger, preferred_username="<script>alert(1)</script>")
    assert_refused(answer, "cannot be one here")
    assert "<script>alert" not in answer.content.decode()


def test_a_state_that_nobody_was_given(client: Client, forger: Forger) -> None:
    begin(client)
    answer = client.get(reverse("oidc-return"), {"code": "c", "state": "made up"})
    assert answer.status_code == 400
    assert not Entry.objects.exists()


def test_a_refusal_of_the_provider_is_shown(client: Client, forger: Forger) -> None:
    asked = begin(client)
    back = {"error": "access_denied", "error_description": "Not <b>today</b>", "state": asked["state"]}
    answer = client.get(reverse("oidc-return"), back)
    assert answer.status_code == 403
    assert "Company SSO has refused: Not &lt;b&gt;today&lt;/b&gt;" in answer.content.decode()
    assert client.get(reverse("oidc-return"), back).status_code == 400


def test_nobody_is_signed_out_by_a_link(client: Client, forger: Forger) -> None:
    come_back(client, forger)
    client.get(reverse("oidc-return"), {"error": "x", "state": "made up"})
    assert client.get(reverse("audit")).status_code == 200


def test_the_session_is_another_one_afterwards(client: Client, forger: Forger) -> None:
    begin(client)
    before = client.cookies["hadash_session"].value
    come_back(client, forger)
    assert client.cookies["hadash_session"].value != before


def test_refusals_lock_an_address_too(client: Client, forger: Forger, settings: Any) -> None:
    """Each is an entry in the audit log: a machine could go on for ever."""
    settings.SIGN_IN_ADDRESS_FAILURES = 7
    forger.signs_with = private_key()
    answers = [come_back(client, forger).status_code for _ in range(9)]
    assert answers == [403] * 6 + [429] * 3
    assert [e.verb for e in Entry.objects.order_by("number")] == ["sign in failed"] * 7 + ["sign in locked"]


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (lambda d: d.update(issuer="https://elsewhere.example"), "calls itself https://elsewhere.example"),
        (lambda d: d.pop("token_endpoint"), "does not give its token_endpoint"),
        (lambda d: d.update(authorization_endpoint="javascript:alert(1)"), "does not give its authorization"),
        (lambda d: d.update(jwks_uri=7), "does not give its jwks_uri"),
    ],
)
def test_a_document_that_cannot_be_used(
    client: Client, forger: Forger, lie: Callable[[dict[str, Any]], None], said: str
) -> None:
    lie(forger.document)
    assert said in client.get(reverse("sign-in")).content.decode()
    answer = client.get(reverse("oidc-start"))
    assert answer.status_code == 503
    assert said in answer.content.decode()


def test_a_provider_without_userinfo_and_end_of_session(client: Client, forger: Forger) -> None:
    del forger.document["userinfo_endpoint"]
    assert come_back(client, forger)["Location"] == "/"
    assert client.post(reverse("sign-out"))["Location"] == reverse("sign-in")


def test_the_document_is_asked_for_once_in_a_while(client: Client, forger: Forger, settings: Any) -> None:
    asked: list[str] = []
    answer = forger.answer
    forger.answer = lambda path: (asked.append(path), answer(path))[1]  # type: ignore[method-assign]
    for _ in range(3):
        client.get(reverse("sign-in"))
    assert len(asked) == 1
    settings.OIDC_LOOK_SECONDS = 0
    client.get(reverse("sign-in"))
    assert len(asked) == 2


def test_in_as_many_tabs_as_anybody_opens(client: Client, forger: Forger) -> None:
    """The last of them work; a session does not grow without end."""
    asked = [begin(client) for _ in range(relying_party.MOST_BEGUN + 5)]
    under_way = [key for key in client.session.keys() if "state" in key]  # noqa: SIM118 (a session is no mapping)
    assert len(under_way) == relying_party.MOST_BEGUN
    assert client.get(reverse("oidc-return"), {"code": "c", "state": asked[0]["state"]}).status_code == 400
    forger.claims = {**forger.claims, "nonce": asked[-1]["nonce"]}
    assert client.get(reverse("oidc-return"), {"code": "c", "state": asked[-1]["state"]})["Location"] == "/"


@pytest.mark.parametrize(
    ("offered", "wanted"),
    [
        (None, "client_secret_basic"),
        (["client_secret_post", "client_secret_basic"], "client_secret_basic"),
        (["client_secret_post"], "client_secret_post"),
        ("nonsense", "client_secret_basic"),
    ],
)
def test_the_secret_is_given_as_the_provider_takes_it(forger: Forger, offered: Any, wanted: str) -> None:
    document = {
        **forger.document,
        **({} if offered is None else {"token_endpoint_auth_methods_supported": offered}),
    }
    found = discovery.read(document, forger.issuer)
    assert isinstance(found, discovery.Provider)
    assert found.token_auth_method == wanted
