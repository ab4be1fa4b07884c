"""Sessions of local accounts: cookies, CSRF, beginning and end."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.hashers import BasePasswordHasher, MD5PasswordHasher
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.conftest import PASSWORD
from hadash.accounts.models import ExternalIdentity

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def sign_in(client: Client, **more: str) -> Any:
    return client.post(reverse("sign-in"), {"username": "olga", "password": PASSWORD, **more})


def test_the_session_is_another_one_afterwards(client: Client, olga: User) -> None:
    """A session that somebody else has put into the browser does not become Olga's."""
    session = client.session
    session["planted"] = True
    session.save()
    client.cookies["hadash_session"] = session.session_key
    sign_in(client)
    assert client.cookies["hadash_session"].value != session.session_key
    assert not Session.objects.filter(session_key=session.session_key).exists()


def test_the_cookies_are_out_of_reach(client: Client, olga: User) -> None:
    cookie = sign_in(client).cookies["hadash_session"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert client.get(reverse("sign-in")).status_code == 302  # already signed in
    assert Client().get(reverse("sign-in")).cookies["hadash_csrf"]["samesite"] == "Lax"


def test_over_tls_only_if_asked(client: Client, olga: User, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = True
    assert sign_in(client).cookies["hadash_session"]["secure"]


@pytest.mark.parametrize("name", ["sign-in", "sign-out", "set_language"])
def test_forms_of_other_sites_are_refused(olga: User, name: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(olga)
    answer = client.post(reverse(name), {"username": "olga", "password": PASSWORD})
    assert answer.status_code == 403
    assert client.get(reverse("audit")).status_code == 200  # still signed in


def test_the_csrf_token_is_another_one_afterwards(olga: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get(reverse("sign-in"))
    before = client.cookies["hadash_csrf"].value
    assert sign_in(client, csrfmiddlewaretoken=before).status_code == 302
    assert client.cookies["hadash_csrf"].value != before


def test_sign_out_ends_the_session_itself(client: Client, olga: User) -> None:
    sign_in(client)
    key = client.cookies["hadash_session"].value
    client.post(reverse("sign-out"))
    assert not Session.objects.exists()
    client.cookies["hadash_session"] = key
    assert client.get(reverse("audit")).status_code == 302


def test_a_link_signs_nobody_out(client: Client, olga: User) -> None:
    sign_in(client)
    assert client.get(reverse("sign-out")).status_code == 405
    assert client.get(reverse("audit")).status_code == 200


def test_it_leads_to_this_site_only(client: Client, olga: User) -> None:
    assert sign_in(client, next="https://example.org/")["Location"] == "/"
    assert sign_in(Client(), next="/audit/")["Location"] == "/audit/"


@pytest.mark.parametrize("username", ["olga", "nobody"])
def test_an_unknown_name_takes_as_long(olga: User, username: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the work that is done, which is what takes the time: one password is hashed either way."""
    hashed: list[str] = []
    encode = MD5PasswordHasher.encode

    def counted(self: BasePasswordHasher, password: str, salt: str) -> str:
        hashed.append(password)
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", counted)
    Client().post(reverse("sign-in"), {"username": username, "password": "wrong"})
    assert hashed == ["wrong"]


def test_a_closed_account_cannot_sign_in(client: Client, olga: User) -> None:
    User.objects.update(is_active=False)
    assert sign_in(client).status_code == 200
    assert client.get(reverse("audit")).status_code == 302


def test_no_password_opens_a_providers_account(client: Client, olga: User) -> None:
    olga.set_unusable_password()
    olga.save()
    assert sign_in(client).status_code == 200
    assert client.post(reverse("sign-in"), {"username": "olga", "password": olga.password}).status_code == 200


def test_roles_of_a_providers_account_are_not_given_here(olga: User) -> None:
    ExternalIdentity.objects.create(user=olga, issuer="https://sso.example.org", subject="17")
    with pytest.raises(CommandError, match="signs in through https:"):
        call_command("register_person", "olga", "approver")


def test_without_a_provider_there_is_no_button(client: Client, db: None) -> None:
    assert "oidc" not in client.get(reverse("sign-in")).content.decode()
    assert client.get(reverse("oidc-start")).status_code == 404
