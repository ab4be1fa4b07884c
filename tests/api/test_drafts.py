"""Drafts of requests over the API."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hadash.switching.models.drafts import RequestDraft

from .conftest import Program

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def olga(program: Any) -> Program:
    made: Program = program("olga")
    return made


def test_kept_changed_read_and_discarded(olga: Program, fleet: SimpleNamespace) -> None:
    body = {"pair": "main", "appid": fleet.shop.pk, "typed": {"reason": "先写着", "scope": "appid"}}
    made = olga.post("drafts/", body)
    assert made.status_code == 201
    address = f"drafts/{made.json()['id']}/"
    assert made.json()["typed"] == body["typed"]
    changed = olga.send("PUT", address, {**body, "typed": {"topics": "orders"}, "appid": None})
    assert (changed.status_code, changed.json()["typed"]) == (200, {"topics": "orders"})
    assert olga.get(address).json()["appid"] is None
    assert olga.get("drafts/").json()["count"] == 1
    assert olga.send("DELETE", address).status_code == 204
    assert olga.get(address).status_code == 404


def test_a_token_that_may_only_read_discards_nothing(
    olga: Program, program: Any, fleet: SimpleNamespace
) -> None:
    kept = olga.post("drafts/", {"pair": "main", "typed": {"reason": "x"}}).json()["id"]
    reading = program("olga", ["read"])
    assert reading.get(f"drafts/{kept}/").status_code == 200
    assert reading.send("DELETE", f"drafts/{kept}/").status_code == 403
    assert RequestDraft.objects.filter(pk=kept).exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"typed": {"confirmed": "west"}}, "typed"),
        ({"typed": ["reason"]}, "typed"),
        ({"appid": "shop"}, "appid"),
        ({"pair": ""}, "pair"),
    ],
)
def test_what_nobody_can_mean_is_refused(
    olga: Program, fleet: SimpleNamespace, change: dict[str, Any], field: str
) -> None:
    answer = olga.post("drafts/", {"pair": "main", "typed": {"reason": "x"}, **change})
    assert answer.status_code == 400
    assert field in answer.json()["errors"]
    assert not RequestDraft.objects.exists()


def test_one_too_many_is_a_conflict(olga: Program, fleet: SimpleNamespace, settings: Any) -> None:
    settings.DRAFTS_PER_USER = 0
    answer = olga.post("drafts/", {"pair": "main", "typed": {"reason": "x"}})
    assert answer.status_code == 409
    assert answer.json()["reasons"] == [
        "You have as many drafts as one person keeps: 0. Discard one of them first."
    ]
