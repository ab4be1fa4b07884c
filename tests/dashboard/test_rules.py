"""The page with the rules of a pair."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import PASSWORD, signed_in
from hadash.accounts.roles import ensure_user
from hadash.switching.models.policies import Blackout, Policy

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def as_ada(people: SimpleNamespace) -> Client:
    return signed_in(ensure_user("ada", PASSWORD, "administrator", "Ada Administrator"))


@pytest.fixture
def address(fleet: SimpleNamespace, engines: Any) -> str:
    return reverse("rules", args=[fleet.pair.pk])


def soon(hours: float) -> str:
    return f"{timezone.now() + timedelta(hours=hours):%Y-%m-%dT%H:%M}"


def test_it_is_found_from_the_overview(as_vera: Client, address: str) -> None:
    assert address in as_vera.get(reverse("overview")).content.decode()


def test_everybody_reads_it_and_only_administrators_change_it(
    as_vera: Client, as_olga: Client, address: str
) -> None:
    page = as_vera.get(address).content.decode()
    assert "Rules of pair main" in page
    assert "disabled" in page and "Save" not in page
    answer = as_olga.post(address, {"approvals": "2"})
    assert answer.status_code == 403
    assert "You may not change the rules of a pair." in answer.content.decode()
    assert not Policy.objects.exists()


def test_an_administrator_changes_it(as_ada: Client, address: str) -> None:
    assert 'placeholder="5000"' in as_ada.get(address).content.decode()  # what holds while nothing is said
    answer = as_ada.post(address, {"approvals": "2", "max_lag": "", "block_seconds": "3.5"}, follow=True)
    assert "The rules are changed." in answer.content.decode()
    policy = Policy.objects.get()
    assert (policy.approvals, policy.max_lag, policy.block_seconds) == (2, None, 3.5)


@pytest.mark.parametrize(
    "values", [{"approvals": "0"}, {"approvals": "two"}, {"approvals": "1", "block_seconds": "60"}]
)
def test_what_is_out_of_bounds_is_said_beside_its_field(
    as_ada: Client, address: str, values: dict[str, str]
) -> None:
    answer = as_ada.post(address, values)
    assert answer.status_code == 409
    assert 'aria-invalid="true"' in answer.content.decode()
    assert not Policy.objects.exists()


def test_a_blackout_is_announced_and_taken_back(as_ada: Client, address: str, fleet: SimpleNamespace) -> None:
    add = reverse("add-blackout", args=[fleet.pair.pk])
    text = as_ada.post(
        add, {"begins": soon(1), "ends": soon(5), "reason": "年终结算"}, follow=True
    ).content.decode()
    assert "年终结算" in text
    (blackout,) = Blackout.objects.all()
    as_ada.post(reverse("end-blackout", args=[blackout.pk]))
    assert not Blackout.objects.exists()
    assert "None is announced." in as_ada.get(address).content.decode()


@pytest.mark.parametrize(
    ("begins", "ends", "reason", "why"),
    [
        (5, 1, "x", "The end has to be after the beginning."),
        (1, 5, " ", "Say why nothing may start then"),
        (None, 5, "x", "Say when it begins."),
    ],
)
def test_a_blackout_that_makes_no_sense_is_refused(
    as_ada: Client,
    address: str,
    fleet: SimpleNamespace,
    begins: float | None,
    ends: float,
    reason: str,
    why: str,
) -> None:
    values = {"begins": "" if begins is None else soon(begins), "ends": soon(ends), "reason": reason}
    answer = as_ada.post(reverse("add-blackout", args=[fleet.pair.pk]), values)
    assert answer.status_code == 409
    assert why in answer.content.decode()
    assert not Blackout.objects.exists()


def test_others_announce_none(as_olga: Client, address: str, fleet: SimpleNamespace) -> None:
    values = {"begins": soon(1), "ends": soon(2), "reason": "x"}
    assert as_olga.post(reverse("add-blackout", args=[fleet.pair.pk]), values).status_code == 403
