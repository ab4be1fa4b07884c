"""Passwords of local accounts: changed by their owners, and at the first sign-in."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.conftest import PASSWORD
from hadash.accounts import people
from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

WANTED = "a-password-of-her-own"


def sign_in(username: str = "olga", password: str = PASSWORD) -> Client:
    client = Client()
    assert client.post(reverse("sign-in"), {"username": username, "password": password}).status_code == 302
    return client


def change(client: Client, present: str = PASSWORD, wanted: str = WANTED, again: str | None = None) -> Any:
    fields = {"present": present, "wanted": wanted, "again": wanted if again is None else again}
    return client.post(reverse("password"), fields)


def test_one_changes_ones_own(olga: User) -> None:
    client, elsewhere = sign_in(), sign_in()
    assert change(client).status_code == 302
    assert client.get(reverse("overview")).status_code == 200, "this session goes on"
    assert elsewhere.get(reverse("overview")).status_code == 302, "the others have ended"
    entry = Entry.objects.get(verb="password changed")
    assert entry.actor_name == "olga"
    assert WANTED not in str(entry.to_json())
    sign_in(password=WANTED)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"present": "wrong"}, "The present password is not right. Nothing was changed."),
        ({"again": "another-one-than-that"}, "The two new passwords differ."),
        ({"wanted": "short"}, "This password is too short."),
        ({"wanted": PASSWORD}, "That is the present password. Choose another one."),
        ({"wanted": ""}, "Type a new password."),
    ],
)
def test_what_is_refused_changes_nothing(olga: User, fields: dict[str, str], said: str) -> None:
    client = sign_in()
    answer = change(client, **fields)
    assert answer.status_code == 409
    assert said in answer.text
    assert WANTED not in answer.text
    sign_in()


def test_guesses_of_the_present_password_are_limited_as_sign_ins_are(olga: User, settings: Any) -> None:
    """A browser that was left open must not give the password away."""
    client = sign_in()
    answers = [
        change(client, present=f"guess-{n}").status_code for n in range(settings.AXES_FAILURE_LIMIT + 1)
    ]
    assert answers[0] == 409
    assert answers[-1] == 429


class TestFirstSignIn:
    """An administrator has chosen the password, and knows it."""

    @pytest.fixture
    def new(self, olga: User) -> Client:
        ada = ensure_user("ada", PASSWORD, "administrator")
        people.create(ada, "nina", "Nina New", PASSWORD)
        return sign_in("nina")

    def test_nothing_else_can_be_done_before(self, new: Client) -> None:
        for name in ("overview", "switches", "tokens"):
            assert new.get(reverse(name)).headers["Location"] == reverse("password")
        assert "Somebody else has set your password." in new.get(reverse("password")).text

    @pytest.mark.parametrize(
        ("language", "said"),
        [("en", "Choose a password of your own first"), ("zh-hans", "请先设置自己的密码")],
    )
    def test_the_api_says_so_as_it_says_every_other_error(
        self, new: Client, language: str, said: str
    ) -> None:
        answer = new.get("/api/v1/switches/", headers={"Accept-Language": language})
        assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
        body = answer.json()
        assert (body["type"], body["status"]) == ("urn:hadash:problem:not-allowed", 403)
        assert said in body["detail"]
        assert body["reasons"] == [body["detail"]]

    def test_then_everything(self, new: Client) -> None:
        assert change(new).status_code == 302
        assert new.get(reverse("overview")).status_code == 200
        assert sign_in("nina", WANTED).get(reverse("overview")).status_code == 200

    def test_who_leaves_without_doing_so_is_asked_again(self, new: Client) -> None:
        assert new.post(reverse("sign-out")).status_code == 302
        assert sign_in("nina").get(reverse("overview")).headers["Location"] == reverse("password")

    @pytest.mark.parametrize(("options", "asked"), [([], True), (["--own-password"], False)])
    def test_of_who_is_registered_at_the_command_line(
        self, monkeypatch: pytest.MonkeyPatch, options: list[str], asked: bool
    ) -> None:
        monkeypatch.setattr("getpass.getpass", lambda prompt: PASSWORD)
        call_command("register_person", "paul", "operator", *options)
        answer = sign_in("paul").get(reverse("overview"))
        assert (answer.status_code == 302) is asked


def test_of_a_provider_it_is_changed_there(olga: User) -> None:
    olga.set_unusable_password()
    olga.save()
    client = Client()
    client.force_login(olga)
    assert "your password is changed there" in client.get(reverse("password")).text
    assert change(client).status_code == 409
