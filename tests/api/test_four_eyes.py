"""Four eyes are two people at two screens, whichever way somebody comes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import signed_in
from django.contrib.auth.models import Group
from django.test import Client

from hadash.switching.models.switches import Switch

from .conftest import Program

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

BOTH = "This browser was used to request or approve it already, with another account."


def as_json(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{path}", body, "application/json")


@pytest.fixture
def browser(people: SimpleNamespace) -> Client:
    """One browser at which olga sits first; it keeps its name when somebody else signs in."""
    client = signed_in(people.olga)
    client.get("/tokens/")
    return client


@pytest.fixture
def requested(browser: Client, fleet: Any, planned: None, wanted: dict[str, Any]) -> Switch:
    """By olga, in that browser."""
    answer = as_json(browser, "switches/", wanted)
    assert answer.status_code == 201, answer.content
    return Switch.objects.get()


def approve(switch: Switch) -> tuple[str, dict[str, Any]]:
    return f"switches/{switch.key}/approve/", {"plan_digest": switch.plan_digest}


def test_a_second_account_in_the_same_browser(
    browser: Client, people: SimpleNamespace, requested: Switch
) -> None:
    browser.force_login(people.arne)
    answer = as_json(browser, *approve(requested))
    assert answer.status_code == 409
    assert BOTH in answer.json()["detail"]


def test_a_token_that_was_issued_there_as_the_second_account(
    browser: Client, people: SimpleNamespace, requested: Switch, started: list[str]
) -> None:
    browser.force_login(people.arne)
    secret = as_json(browser, "tokens/", {"name": "curl", "scopes": ["decide"]}).json()["secret"]
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    answer = as_json(program, *approve(requested))
    assert answer.status_code == 409
    assert BOTH in answer.json()["detail"]
    assert started == []


def test_a_token_that_was_issued_elsewhere(
    people: SimpleNamespace, requested: Switch, started: list[str]
) -> None:
    other = signed_in(people.arne)
    other.get("/tokens/")
    secret = as_json(other, "tokens/", {"name": "curl", "scopes": ["decide"]}).json()["secret"]
    answer = as_json(Client(headers={"Authorization": f"Bearer {secret}"}), *approve(requested))
    assert answer.status_code == 202, answer.content


def test_the_requests_own_answer_sent_again_by_a_second_account_is_no_approval(
    browser: Client, people: SimpleNamespace, requested: Switch, wanted: dict[str, Any]
) -> None:
    browser.force_login(people.arne)
    assert as_json(browser, "switches/", wanted).status_code == 403
    requested.refresh_from_db()
    assert requested.status == "awaiting_approval"


@pytest.mark.parametrize("kind", ["switches", "binding-changes", "batches"])
def test_ones_own(
    kind: str,
    program: Any,
    people: SimpleNamespace,
    planned: None,
    engines: Any,
    make_switch: Any,
    make_change: Any,
    make_batch: Any,
) -> None:
    people.olga.groups.add(Group.objects.get(name="approver"))
    made = {"switches": make_switch, "binding-changes": make_change, "batches": make_batch}[kind]()
    body = {"plan_digest": made.plan_digest} if kind == "switches" else {"digest": made.digest}
    answer = Program(people.olga, ["decide"]).post(f"{kind}/{made.key}/approve/", body)
    assert answer.status_code == 403
    made.refresh_from_db()
    assert made.status == "awaiting_approval"
