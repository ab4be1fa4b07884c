"""A request whose answer was lost is sent again: it is carried out once."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from dashboard.parts import gateway
from django.utils.crypto import salted_hmac

from hadash.accounts.models import ApiToken
from hadash.api.idempotency import forget_old_answers
from hadash.api.models import IdempotentAnswer
from hadash.audit.models import Entry
from hadash.bindings.errors import UnknownOutcome
from hadash.switching.models.switches import Switch
from hadash.switching.recovery import gateways

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_once(program: Any, fleet: Any, planned: None, wanted: dict[str, Any]) -> None:
    olga = program("olga")
    first = olga.post("switches/", wanted, Idempotency_Key="k1")
    again = olga.post("switches/", wanted, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert (first.headers.get("Idempotency-Replayed"), again.headers["Idempotency-Replayed"]) == (
        None,
        "true",
    )
    assert Switch.objects.count() == 1


def test_it_is_known_while_the_installation_s_secret_is_changed(
    program: Any, fleet: Any, planned: None, wanted: dict[str, Any], settings: Any
) -> None:
    olga = program("olga")
    olga.post("switches/", wanted, Idempotency_Key="k1")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-secret-that-is-long-enough-for-django-to-be-quiet"
    again = olga.post("switches/", wanted, Idempotency_Key="k1")
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")


def test_the_same_key_for_something_else(
    program: Any, fleet: Any, planned: None, wanted: dict[str, Any]
) -> None:
    olga = program("olga")
    olga.post("switches/", wanted, Idempotency_Key="k1")
    other = olga.post("switches/", {**wanted, "reason": "Another"}, Idempotency_Key="k1")
    assert other.status_code == 422
    assert Switch.objects.count() == 1


def test_what_one_token_was_answered_is_nothing_for_another(
    program: Any, fleet: Any, planned: None, wanted: dict[str, Any]
) -> None:
    program("olga").post("switches/", wanted, Idempotency_Key="k1")
    reader = program("olga", scopes=["read"]).post("switches/", wanted, Idempotency_Key="k1")
    assert reader.status_code == 422
    assert "plan" not in reader.json()


def test_keys_of_others_are_others(program: Any, make_switch: Any) -> None:
    switch = make_switch()
    for name in ("olga", "arne"):
        answer = program(name).post(
            f"switches/{switch.key}/comment/", {"text": "Hello"}, Idempotency_Key="k1"
        )
        assert answer.status_code == 200
        assert "Idempotency-Replayed" not in answer.headers
    assert switch.events.count() == 3


def test_a_refusal_is_not_kept(
    program: Any, fleet: Any, planned: None, make_switch: Any, wanted: dict[str, Any]
) -> None:
    olga, held = program("olga"), make_switch()
    assert olga.post("switches/", wanted, Idempotency_Key="k1").status_code == 409
    assert not IdempotentAnswer.objects.exists()
    assert olga.post(f"switches/{held.key}/cancel/", {"reason": "not today"}).status_code == 200
    assert olga.post("switches/", wanted, Idempotency_Key="k1").status_code == 201


def test_an_unknown_outcome_is_not_kept_and_its_entry_in_the_audit_log_is(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(client: object, name: str, excluded: bool) -> None:
        raise UnknownOutcome("the reply was lost")

    monkeypatch.setattr(gateways, "gateway_members", lambda: [gateway("gw-1", live=False)])
    monkeypatch.setattr(gateways, "zookeeper", lambda: None)
    monkeypatch.setattr(gateways, "claimed", lambda client: client)
    monkeypatch.setattr(gateways, "set_excluded", lost)
    answer = program("olga").post("gateways/gw-1/include/", Idempotency_Key="k1")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:hadash:problem:unknown-outcome")
    assert not IdempotentAnswer.objects.exists()
    asked, came = Entry.objects.filter(verb="include").order_by("number")
    assert (asked.subject, asked.details) == ("Gateway gw-1", {"token": "test"})
    assert came.details == {"outcome": "the reply was lost", "token": "test"}


@pytest.mark.parametrize("key", ["x" * 201, "käse", "a\tb"])
def test_a_key_that_is_none(program: Any, make_switch: Any, key: str) -> None:
    switch = make_switch()
    answer = program("olga").post(
        f"switches/{switch.key}/cancel/", {"reason": "not today"}, Idempotency_Key=key
    )
    assert answer.status_code == 400
    switch.refresh_from_db()
    assert switch.status == "awaiting_approval"


def test_they_are_forgotten_after_a_while(program: Any, make_switch: Any, settings: Any) -> None:
    program("olga").post(
        f"switches/{make_switch().key}/cancel/", {"reason": "not today"}, Idempotency_Key="k1"
    )
    assert forget_old_answers() == 0
    settings.API_IDEMPOTENCY_HOURS = -1
    assert forget_old_answers() == 1


def test_a_body_cannot_be_guessed_from_what_is_kept(program: Any, settings: Any) -> None:
    """It may hold a password: what is kept of it is made with the secret of the installation."""
    body = {"username": "new", "password": "a-long-password"}
    assert program("ada").post("people/", body, Idempotency_Key="k").status_code == 201
    kept = IdempotentAnswer.objects.get().fingerprint
    said = f"POST /api/v1/people/\n{ApiToken.objects.get().pk}\n".encode() + json.dumps(body).encode()
    assert kept != hashlib.sha256(said).hexdigest()
    assert kept == salted_hmac("hadash.idempotency", said, algorithm="sha256").hexdigest()


@pytest.mark.parametrize("keys", [{}, {"Idempotency_Key": "k1"}])
def test_more_than_is_read_is_a_problem_like_others(
    program: Any, fleet: Any, settings: Any, keys: dict[str, str]
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = program("olga").post("switches/", {"reason": "x" * 1000}, **keys)
    assert (answer.status_code, answer.headers["Content-Type"]) == (413, "application/problem+json")
    assert answer.json()["reasons"] == ["A body may have 1000 bytes at most."]
