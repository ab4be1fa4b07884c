"""Who the API takes somebody for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import signed_in
from django.test import Client
from django.utils import timezone

from hadash.accounts.models import ApiToken
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_nobody(fleet: Any) -> None:
    answer = Client().get("/api/v1/switches/")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json()["type"] == "urn:hadash:problem:not-signed-in"


@pytest.mark.parametrize("header", ["Bearer", "Bearer a b", "Bearer hadash_wrong", "Bearer \u00ff"])
def test_a_token_that_is_none(fleet: Any, header: str) -> None:
    answer = Client(headers={"Authorization": header}).get("/api/v1/switches/")
    assert answer.status_code == 401


def test_a_token_that_has_ended(program: Any) -> None:
    vera = program("vera")
    assert vera.get("me/").json()["username"] == "vera"
    ApiToken.objects.update(expires_at=timezone.now())
    assert vera.get("me/").status_code == 401


def test_a_session_needs_the_csrf_token(people: SimpleNamespace, make_switch: Any) -> None:
    switch = make_switch()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(people.olga)
    answer = browser.post(
        f"/api/v1/switches/{switch.key}/cancel/", {"reason": "not today"}, "application/json"
    )
    assert answer.status_code == 403
    assert "CSRF" in answer.json()["detail"]
    switch.refresh_from_db()
    assert switch.status == "awaiting_approval"


def test_a_token_does_what_its_scopes_say(program: Any, make_switch: Any) -> None:
    switch = make_switch()
    reader = program("olga", ["read"])
    assert reader.get(f"switches/{switch.key}/").status_code == 200
    assert reader.post(f"switches/{switch.key}/cancel/", {"reason": "not today"}).status_code == 403
    assert "switching.request_switch" not in reader.get("me/").json()["permissions"]
    assert (
        program("olga", ["request"])
        .post(f"switches/{switch.key}/cancel/", {"reason": "not today"})
        .status_code
        == 200
    )


def test_the_audit_log_says_who(program: Any, make_switch: Any) -> None:
    program("olga").post(f"switches/{make_switch().key}/cancel/", {"reason": "not today"})
    entry = Entry.objects.get(verb="cancel")
    assert (entry.actor_name, entry.address) == ("olga", "127.0.0.1")


class TestTokens:
    def test_from_a_browser(self, people: SimpleNamespace) -> None:
        browser = signed_in(people.olga)
        answer = browser.post(
            "/api/v1/tokens/", {"name": "ci", "scopes": ["request"], "days": 7}, "application/json"
        )
        assert answer.status_code == 201
        secret = answer.json()["secret"]
        program = Client(headers={"Authorization": f"Bearer {secret}"})
        [listed] = program.get("/api/v1/tokens/").json()["results"]
        assert (listed["name"], listed["scopes"]) == ("ci", ["read", "request"])
        assert secret not in str(listed)
        assert program.delete(f"/api/v1/tokens/{listed['id']}/").status_code == 204
        assert program.get("/api/v1/me/").status_code == 401

    def test_for_one_pair(self, people: SimpleNamespace, fleet: Any) -> None:
        browser = signed_in(people.olga)
        answer = browser.post("/api/v1/tokens/", {"name": "ci", "pair": "main"}, "application/json")
        assert (answer.status_code, answer.json()["pair"]) == (201, "main")
        unknown = browser.post("/api/v1/tokens/", {"name": "ci", "pair": "nowhere"}, "application/json")
        assert unknown.status_code == 404

    def test_not_from_a_token(self, program: Any) -> None:
        assert program("olga").post("tokens/", {"name": "more"}).status_code == 403

    def test_a_token_ends_only_itself(self, program: Any, people: SimpleNamespace) -> None:
        """One that has leaked, and may only read, must not end the others."""
        reading = program("olga", ["read"])
        own = ApiToken.objects.get()
        program("olga")
        other = ApiToken.objects.exclude(pk=own.pk).get()
        assert reading.send("DELETE", f"tokens/{other.pk}/").status_code == 403
        other.refresh_from_db()
        assert other.usable
        assert signed_in(people.olga).delete(f"/api/v1/tokens/{other.pk}/").status_code == 204
        assert reading.send("DELETE", f"tokens/{own.pk}/").status_code == 204

    def test_not_those_of_others(self, program: Any) -> None:
        program("olga")
        foreign = ApiToken.objects.get()
        assert program("ada").send("DELETE", f"tokens/{foreign.pk}/").status_code == 404
