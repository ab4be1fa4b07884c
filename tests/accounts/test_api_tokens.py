"""API tokens: shown once, limited, ended."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.accounts import tokens
from hadash.accounts.models import ApiToken
from hadash.accounts.roles import REQUEST, may
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_who_comes_with_it(people: SimpleNamespace, pairs: SimpleNamespace) -> None:
    token, secret = tokens.issue(people.olga, "night jobs", ["request"], 30)
    found = tokens.user_of_secret(secret)
    assert found is not None
    user, held = found
    assert (user, held) == (people.olga, token)
    assert may(user, REQUEST, pairs.main)
    assert ApiToken.objects.get().last_used_at is not None


def test_the_secret_is_kept_nowhere(people: SimpleNamespace) -> None:
    token, secret = tokens.issue(people.olga, "night jobs", ["request"], 30)
    kept = [*ApiToken.objects.values_list(), *Entry.objects.values_list()]
    assert secret not in str(kept)
    assert secret.startswith(token.beginning)
    assert len(token.beginning) < len(secret) / 2


@pytest.mark.parametrize("secret", ["", "hadash_", "hadash_wrong", "\ud800", "x" * 10_000])
def test_a_wrong_one_is_nobody(people: SimpleNamespace, secret: str) -> None:
    assert tokens.user_of_secret(secret) is None


def test_it_ends(people: SimpleNamespace) -> None:
    token, secret = tokens.issue(people.olga, "night jobs", [], 1)
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert tokens.user_of_secret(secret) is None
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert tokens.user_of_secret(secret) is not None
    people.olga.is_active = False
    people.olga.save()
    assert tokens.user_of_secret(secret) is None
    people.olga.is_active = True
    people.olga.save()
    tokens.revoke(people.olga, token, "10.0.0.1")
    tokens.revoke(people.olga, token)
    assert tokens.user_of_secret(secret) is None
    assert list(Entry.objects.order_by("number").values_list("verb", flat=True)) == [
        "token issued",
        "token revoked",
    ]


@pytest.mark.parametrize(
    ("name", "scopes", "days", "why"),
    [
        ("", [], 1, "a name"),
        ("x" * 101, [], 1, "at most 100"),
        ("x", ["everything"], 1, "There is no scope everything"),
        ("x", [], 0, "1 to"),
        ("x", [], 100_000, "1 to"),
    ],
)
def test_what_is_refused(people: SimpleNamespace, name: str, scopes: list[str], days: int, why: str) -> None:
    with pytest.raises(tokens.TokenRefused, match=why):
        tokens.issue(people.olga, name, scopes, days)
    assert not ApiToken.objects.exists()


def test_tokens_do_not_beget_tokens(people: SimpleNamespace) -> None:
    _, secret = tokens.issue(people.olga, "night jobs", [], 30)
    found = tokens.user_of_secret(secret)
    assert found is not None
    with pytest.raises(PermissionDenied):
        tokens.issue(found[0], "another", [], 30)
