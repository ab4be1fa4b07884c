"""Deciding on a switch that somebody asked for: approve, decline, cancel, and who may."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import signed_in
from hadash.switching.models.switches import Approval, Switch

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_the_requester_cannot_approve(people: SimpleNamespace, engines: Any, make_switch: Any) -> None:
    from django.contrib.auth.models import Group

    people.olga.groups.add(Group.objects.get(name="approver"))
    switch = make_switch()
    client = signed_in(people.olga)
    page = client.get(reverse("switch", args=[switch.key])).content.decode()
    assert "Approve and run" not in page
    assert "somebody else decides on it: Arne Approver" in page
    response = client.post(reverse("approve", args=[switch.key]), {"plan_digest": switch.plan_digest})
    assert response.status_code == 403
    assert "somebody else has to decide" in response.content.decode()


def test_only_who_may_cancel_is_offered_to(
    as_olga: Client, as_arne: Client, engines: Any, make_switch: Any
) -> None:
    address = reverse("switch", args=[make_switch("paused", paused_at=timezone.now()).key])
    for client, offered in ((as_olga, True), (as_arne, False)):
        text = client.get(address).content.decode()
        assert "Resume" in text
        assert ("Cancel the request" in text) is offered


def test_approve(
    as_arne: Client,
    engines: Any,
    planned: None,
    started: list[str],
    make_switch: Any,
    django_capture_on_commit_callbacks: Any,
) -> None:
    switch = make_switch()
    page = as_arne.get(reverse("switch", args=[switch.key])).content.decode()
    assert f'name="plan_digest" value="{switch.plan_digest}"' in page
    with django_capture_on_commit_callbacks(execute=True):
        response = as_arne.post(reverse("approve", args=[switch.key]), {"plan_digest": switch.plan_digest})
    assert response.status_code == 302
    switch.refresh_from_db()
    assert switch.status == "running"
    assert started == [switch.key]


def test_another_plan_than_the_one_shown_is_not_approved(
    as_arne: Client, engines: Any, planned: None, make_switch: Any
) -> None:
    switch = make_switch()
    response = as_arne.post(reverse("approve", args=[switch.key]), {"plan_digest": "another"})
    assert response.status_code == 409
    assert "The plan has changed since you saw it." in response.content.decode()


def test_decline_needs_a_reason(as_arne: Client, engines: Any, make_switch: Any) -> None:
    switch = make_switch()
    assert as_arne.post(reverse("decline", args=[switch.key]), {"reason": " "}).status_code == 409
    assert as_arne.post(reverse("decline", args=[switch.key]), {"reason": "Friday"}).status_code == 302
    switch.refresh_from_db()
    assert (switch.status, switch.decision_note) == ("declined", "Friday")
    assert as_arne.post(reverse("decline", args=[switch.key]), {"reason": "Again"}).status_code == 409


def test_what_was_decided_already_says_so_whatever_would_move_now(
    as_arne: Client, engines: Any, make_switch: Any
) -> None:
    switch = make_switch()
    as_arne.post(reverse("decline", args=[switch.key]), {"reason": "Friday"})
    response = as_arne.post(reverse("approve", args=[switch.key]), {"plan_digest": switch.plan_digest})
    assert "This switch is declined" in response.content.decode()


def test_cancel_needs_a_reason(as_olga: Client, engines: Any, make_switch: Any) -> None:
    switch = make_switch()
    for reason, said in (("", "Say why you cancel it"), ("x" * 2001, "at most 2000 fit")):
        refused = as_olga.post(reverse("cancel", args=[switch.key]), {"reason": reason})
        assert refused.status_code == 409
        assert said in refused.content.decode()
    switch.refresh_from_db()
    assert switch.status == "awaiting_approval"
    assert as_olga.post(reverse("cancel", args=[switch.key]), {"reason": "not today"}).status_code == 302
    switch.refresh_from_db()
    assert switch.status == "cancelled"
    assert "not today" in str(switch.outcome_sentence)


def test_the_first_of_two_approvals(
    as_arne: Client, engines: Any, planned: None, started: list[str], make_switch: Any
) -> None:
    switch = make_switch(approvals_needed=2)
    page = as_arne.get(reverse("switch", args=[switch.key])).content.decode()
    assert "0 of 2 approvals" in page and "After you 1 more person has to approve it." in page
    answer = as_arne.post(
        reverse("approve", args=[switch.key]), {"plan_digest": switch.plan_digest}, follow=True
    ).content.decode()
    assert "You have approved it. Somebody else has to, too." in answer
    assert "1 of 2 approvals" in answer
    assert reverse("approve", args=[switch.key]) not in answer  # nothing more for him to do
    assert started == []


def test_an_approval_counts_only_for_what_was_shown(
    as_arne: Client,
    engines: Any,
    planned: None,
    make_switch: Any,
    people: SimpleNamespace,
    started: list[str],
) -> None:
    """Two approvals are needed, and somebody else gives the first one while the page is open."""
    switch = make_switch(approvals_needed=2)
    people.vera.groups.set(people.arne.groups.all())
    Approval.objects.create(switch=switch, user=people.vera, digest=switch.plan_digest)
    shown = {"plan_digest": switch.plan_digest, "approvals": "0"}
    answer = as_arne.post(reverse("approve", args=[switch.key]), shown)
    assert answer.status_code == 409
    assert "The approvals are not those that you have seen." in answer.content.decode()
    assert started == []


class TestBrowser:
    """Four eyes are two people at two screens."""

    def test_a_second_account_in_the_browser_of_the_request(
        self,
        as_olga: Client,
        people: SimpleNamespace,
        fleet: SimpleNamespace,
        engines: Any,
        planned: None,
        started: list[str],
    ) -> None:
        browser = as_olga
        browser.get(reverse("overview"))  # now it has a name
        browser.post(
            reverse("request-switch"),
            {"appid": fleet.shop.pk, "scope": "appid", "target": "west", "reason": "Upgrade"},
        )
        [switch] = Switch.objects.all()
        browser.post(reverse("sign-out"))
        browser.force_login(people.arne)
        answer = browser.post(reverse("approve", args=[switch.key]), {"plan_digest": switch.plan_digest})
        assert answer.status_code == 409
        assert "Approve it in a browser of your own." in answer.content.decode()
        switch.refresh_from_db()
        assert switch.status == "awaiting_approval"
        own = signed_in(people.arne)
        own.get(reverse("overview"))
        own.post(reverse("approve", args=[switch.key]), {"plan_digest": switch.plan_digest})
        switch.refresh_from_db()
        assert switch.status == "running"

    def test_a_forged_name_is_no_name(self, as_olga: Client) -> None:
        as_olga.cookies["hadash_browser"] = "0" * 32
        as_olga.get(reverse("overview"))
        assert as_olga.cookies["hadash_browser"].value != "0" * 32
        assert as_olga.cookies["hadash_browser"]["httponly"]
