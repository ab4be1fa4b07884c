"""People, their roles, and one's own tokens."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from support.html import squeezed

from dashboard.parts import NASTY, PASSWORD, signed_in
from hadash.accounts.models import ApiToken
from hadash.accounts.roles import REQUEST, ensure_user, may
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def ada(people: SimpleNamespace) -> Client:
    """An administrator's browser."""
    return signed_in(ensure_user("ada", PASSWORD, "administrator", "Ada Admin"))


def text_of(answer: Any) -> str:
    return answer.content.decode()


class TestPeople:
    def test_a_new_person_has_no_role(self, ada: Client, fleet: Any) -> None:
        answer = ada.post(
            reverse("people"),
            {"username": "wei", "name": "王伟", "password": "correct horse battery"},
            follow=True,
        )
        assert "wei can sign in. Give a role, too." in text_of(answer)
        assert "none: sees nothing" in text_of(answer)
        wei = User.objects.get(username="wei")
        assert wei.check_password("correct horse battery")
        assert "correct horse" not in str(list(Entry.objects.values_list()))

    def test_roles_come_and_go(self, ada: Client, fleet: Any, people: SimpleNamespace) -> None:
        vera, address = people.vera, reverse("change-role", args=[people.vera.pk])
        page = text_of(ada.post(address, {"action": "give", "role": "operator", "pair": "main"}, follow=True))
        assert "operator · main" in squeezed(page)
        assert may(User.objects.get(pk=vera.pk), REQUEST, fleet.pair)
        ada.post(address, {"action": "take", "role": "operator", "pair": "main"})
        assert not may(User.objects.get(pk=vera.pk), REQUEST, fleet.pair)
        assert [e.verb for e in Entry.objects.order_by("number")] == ["role given", "role taken"]

    def test_a_pair_that_does_not_exist_changes_nothing(self, ada: Client, people: SimpleNamespace) -> None:
        address = reverse("change-role", args=[people.vera.pk])
        answer = ada.post(address, {"action": "give", "role": "operator", "pair": "nowhere"})
        assert answer.status_code == 409
        assert "Choose a role, and all pairs or one of them." in text_of(answer)
        assert not Entry.objects.exists()

    def test_somebody_is_kept_out_and_let_in_again(self, ada: Client, people: SimpleNamespace) -> None:
        browser = signed_in(people.olga)
        ada.post(reverse("let-in", args=[people.olga.pk]), {"active": "0"})
        assert browser.get(reverse("overview")).status_code == 302
        ada.post(reverse("let-in", args=[people.olga.pk]), {"active": "1"})
        assert browser.get(reverse("appids")).status_code == 200

    def test_nobody_changes_their_own_roles(self, ada: Client) -> None:
        own = User.objects.get(username="ada")
        answer = ada.post(reverse("change-role", args=[own.pk]), {"action": "give", "role": "approver"})
        assert answer.status_code == 403
        assert "Nobody changes their own roles" in text_of(answer)

    def test_what_is_refused_keeps_what_was_typed(self, ada: Client) -> None:
        answer = ada.post(
            reverse("people"), {"username": "olga", "name": NASTY, "password": "correct horse battery"}
        )
        assert answer.status_code == 409
        assert "There is somebody called olga already." in text_of(answer)
        assert NASTY not in text_of(answer)
        assert "&lt;script&gt;" in text_of(answer)
        weak = ada.post(reverse("people"), {"username": "wei", "password": "short"})
        assert (weak.status_code, User.objects.filter(username="wei").exists()) == (409, False)

    def test_others_may_not(self, as_olga: Client, people: SimpleNamespace) -> None:
        assert as_olga.get(reverse("people")).status_code == 403
        assert reverse("people") not in text_of(as_olga.get(reverse("tokens")))


class TestTokens:
    def test_it_is_shown_once(self, as_olga: Client, fleet: Any) -> None:
        values = {"name": "night jobs", "scopes": ["request"], "days": "30", "pair": fleet.pair.pk}
        answer = as_olga.post(reverse("tokens"), values)
        [secret] = re.findall(r'class="secret">(hadash_[\w-]+)<', text_of(answer))
        assert answer["Cache-Control"] == "no-store"
        assert secret not in text_of(as_olga.get(reverse("tokens")))
        token = ApiToken.objects.get()
        assert (token.scopes, token.pair) == (["read", "request"], fleet.pair)
        program = Client(headers={"Authorization": f"Bearer {secret}"})
        assert program.get("/api/v1/me/").json()["username"] == "olga"
        as_olga.post(reverse("revoke-token", args=[token.pk]))
        assert program.get("/api/v1/me/").status_code == 401

    def test_faults_are_told(self, as_olga: Client) -> None:
        answer = as_olga.post(reverse("tokens"), {"name": "", "days": "0"})
        assert answer.status_code == 409
        assert "Say what it is for." in text_of(answer)
        assert not ApiToken.objects.exists()

    def test_those_of_others_are_theirs(self, as_olga: Client, as_arne: Client) -> None:
        as_olga.post(reverse("tokens"), {"name": "mine", "days": "1"})
        token = ApiToken.objects.get()
        assert as_arne.post(reverse("revoke-token", args=[token.pk])).status_code == 404
        assert "mine" not in text_of(as_arne.get(reverse("tokens")))

    def test_in_chinese(self, people: SimpleNamespace) -> None:
        page = text_of(signed_in(people.olga, "zh-hans").get(reverse("tokens")))
        assert "你的令牌" in page
