"""What the page of a switch says of its plan: before the decision how it stands now, afterwards what moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from html import escape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.dashboard.views import switches
from hadash.sentences import say
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.refusals import EnginesAway

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


class TestHowItStandsNow:
    """An approver sees what has changed since the request before pressing anything."""

    @pytest.fixture
    def look(self, as_arne: Client, engines: Any, make_switch: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
        switch = make_switch()

        def look_at(draft: Callable[..., PlanProposal]) -> str:
            monkeypatch.setattr(switches, "proposal_for", draft)
            page = as_arne.get(reverse("switch", args=[switch.key])).content.decode()
            address = reverse("switch-standing", args=[switch.key])
            assert f'hx-get="{address}"' in page
            return as_arne.get(address).content.decode()

        return look_at

    def test_nothing_is_said_when_it_is_as_it_was(self, look: Any, plan: Plan) -> None:
        assert look(lambda *_: PlanProposal(plan)).strip() == ""

    def test_what_moves_now_and_what_does_not_any_more(self, look: Any, plan: Plan) -> None:
        text = look(lambda *_: PlanProposal(replace(plan, topics=(*plan.topics[1:], "payments"))))
        assert "has to be requested again" in text
        assert "It moves now, too: payments." in text
        assert f"It does not move any more: {plan.topics[0]}." in text

    def test_what_stands_against_it_now(self, look: Any, plan: Plan) -> None:
        text = look(
            lambda *_: PlanProposal(
                plan, (say("No mirror carries %(topics)s. Create one first.", topics=["carts"]),)
            )
        )
        assert "No mirror carries carts." in text
        assert "requested again" not in text

    def test_engines_that_are_away_are_said(self, look: Any) -> None:
        def away(*_: Any) -> PlanProposal:
            raise EnginesAway(say("%(error)s", error="ZooKeeper does not answer."))

        assert "ZooKeeper does not answer." in look(away)

    @pytest.mark.parametrize("status", ["approved", "paused"])
    def test_also_of_one_that_is_approved_and_has_not_begun(
        self, as_arne: Client, engines: Any, make_switch: Any, monkeypatch: Any, plan: Plan, status: str
    ) -> None:
        now = timezone.now()
        switch = make_switch(status, start_at=now + timedelta(hours=1), start_until=now + timedelta(hours=2))
        Switch.objects.filter(pk=switch.pk).update(paused_at=now)
        changed = PlanProposal(replace(plan, topics=(*plan.topics, "payments")))
        monkeypatch.setattr(switches, "proposal_for", lambda *_: changed)
        address = reverse("switch-standing", args=[switch.key])
        assert f'hx-get="{address}"' in as_arne.get(reverse("switch", args=[switch.key])).content.decode()
        text = as_arne.get(address).content.decode()
        assert "It moves now, too: payments." in text and "It will be refused when it begins" in text

    def test_nobody_asks_any_more_when_it_is_decided(
        self, as_arne: Client, engines: Any, make_switch: Any
    ) -> None:
        switch = make_switch("declined")
        assert "standing" not in as_arne.get(reverse("switch", args=[switch.key])).content.decode()
        answer = as_arne.get(reverse("switch-standing", args=[switch.key]))
        assert (answer.status_code, answer.content) == (286, b"")


def test_more_approvals_are_needed_than_people_may_give(
    as_olga: Client, engines: Any, make_switch: Any
) -> None:
    address = reverse("switch", args=[make_switch(approvals_needed=2).key])
    assert (
        "It needs 2 more approvals, and 1 of the others may approve." in as_olga.get(address).content.decode()
    )


def test_what_moved_stays_on_the_page_of_an_ended_switch(
    as_vera: Client, engines: Any, make_switch: Any, plan: Plan
) -> None:
    text = as_vera.get(reverse("switch", args=[make_switch("succeeded").key])).content.decode()
    assert "What moved" in text
    assert escape(plan.topics[0]) in text
