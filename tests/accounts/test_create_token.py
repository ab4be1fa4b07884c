"""``hadash-manage create_token``: for somebody with a shell on the server and no browser."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from hadash.accounts import passwords
from hadash.accounts.models import ApiToken
from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def olga(db: None) -> User:
    ensure_roles()
    return ensure_user("olga", "a-long-password", "operator")


def create(*arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command("create_token", *arguments, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_it_is_printed_once_and_works(olga: User, client: Client) -> None:
    secret = create("olga", "--name", "nightly").strip()
    answer = client.get("/api/v1/me/", headers={"Authorization": f"Bearer {secret}"})
    assert answer.json()["username"] == "olga"
    token = ApiToken.objects.get()
    assert secret.startswith(token.beginning)
    assert secret not in (token.digest, token.beginning)


def test_it_is_in_the_audit_log_without_its_secret(olga: User) -> None:
    secret = create("olga", "--name", "nightly", "--scope", "request", "--days", "3").strip()
    (entry,) = Entry.objects.all()
    assert (entry.actor, entry.verb, entry.subject) == (None, "token issued", "token nightly of olga")
    assert (entry.details["by"], entry.details["scopes"]) == (
        "hadash-manage create_token",
        ["read", "request"],
    )
    assert secret not in str(entry.to_json())
    left = ApiToken.objects.get().expires_at - timezone.now()
    assert left.days == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nobody", "--name", "x"), "There is no person nobody"),
        (("olga", "--name", " "), "Give the token a name"),
        (("olga", "--name", "x", "--days", "0"), "A token lives for 1 to"),
        (("olga", "--name", "x", "--pair", "none"), "There is no pair none"),
    ],
)
def test_what_is_wrong_is_said(olga: User, arguments: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        create(*arguments)
    assert not ApiToken.objects.exists()


def test_who_may_not_sign_in_gets_none(olga: User) -> None:
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="olga may not sign in"):
        create("olga", "--name", "x")


def test_who_has_a_temporary_password_gets_none_and_is_told_what_to_do(olga: User) -> None:
    """Somebody else knows the password."""
    passwords.note_temporary(olga)
    with pytest.raises(CommandError, match="has to sign in to hadash in a browser and choose another one"):
        create("olga", "--name", "x")
    assert not ApiToken.objects.exists()
