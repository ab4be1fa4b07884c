"""What would move, drawn: before it is asked for, while it waits for an approval, and what has changed meanwhile."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from hadash.dashboard import radius_chart
from hadash.dashboard.charts.blast_radius import MOST_DRAWN
from hadash.radius.scope import Member
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal

SHOP = Member("appid:shop")
ORDERS = Member("topic:orders", "appid:shop", "produce")
AUDIT = Member("instance:audit+a-1", "topic:orders", "consume")
CLICKS = Member("topic:clicks", "appid:shop", "produce")


@pytest.fixture
def shop(plan: Plan) -> Plan:
    return replace(plan, members=(SHOP, ORDERS, AUDIT))


def test_a_plan_that_was_kept_without_members_has_no_picture(plan: Plan) -> None:
    assert radius_chart.drawn(replace(plan, members=())) is None


def test_each_member_says_why_and_over_whom(shop: Plan) -> None:
    chart = radius_chart.drawn(shop)
    assert chart is not None
    assert [tuple(row)[:4] for row in chart.rows][2] == (
        "audit › a-1",
        "InstanceID",
        "reads orders",
        "shop → orders → audit › a-1",
    )


def test_of_a_large_one_the_nearest_are_drawn_and_all_are_in_the_table(shop: Plan) -> None:
    many = [Member(f"topic:t-{n:04d}", "appid:shop", "produce") for n in range(MOST_DRAWN + 80)]
    large = replace(shop, members=(SHOP, *many))
    chart = radius_chart.drawn(large)
    assert chart is not None and len(chart.rows) == MOST_DRAWN
    assert chart.traces[2]["text"] == ["81 more"]
    everything = radius_chart.drawn(large, everything=True)
    assert everything is not None and len(everything.rows) == MOST_DRAWN + 81


def test_what_has_changed_since_the_request(shop: Plan) -> None:
    today = replace(shop, members=(SHOP, ORDERS, CLICKS))
    chart = radius_chart.drawn(today, before=shop)
    assert chart is not None and chart.name == radius_chart.CHANGES
    assert chart.says == "Since the request: 1 new, 1 gone."
    turned = {row[0]: row[-1] for row in chart.rows}
    assert turned == {"shop": "", "orders": "", "clicks": "new", "audit › a-1": "gone"}


@pytest.mark.stack
@pytest.mark.django_db
class TestPages:
    def test_the_preview_can_be_taken_along(
        self, as_olga: Client, fleet: SimpleNamespace, engines: Any, shop: Plan, monkeypatch: Any
    ) -> None:
        from hadash.dashboard.views import request_previews

        monkeypatch.setattr(request_previews, "proposal_for", lambda *_: PlanProposal(shop))
        asked = {"appid": fleet.shop.pk, "scope": "appid"}
        page = as_olga.get(reverse("request-preview"), asked).content.decode()
        assert "1 of 3 was asked for" in page
        answer = as_olga.get(reverse("request-preview"), {**asked, "csv": "blast-radius"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert lines[0] == "name,kind,why,chain,already,turn" and len(lines) == 4

    def test_without_a_plan_there_is_nothing_to_take_along(
        self, as_olga: Client, fleet: SimpleNamespace, engines: Any
    ) -> None:
        asked = {"appid": fleet.shop.pk, "scope": "instance", "csv": "blast-radius"}
        assert as_olga.get(reverse("request-preview"), asked).status_code == 404

    def test_what_has_changed_is_shown_to_whoever_decides(
        self, as_arne: Client, make_switch: Any, engines: Any, shop: Plan, monkeypatch: Any
    ) -> None:
        from hadash.dashboard.views import switches

        switch = make_switch(plan=shop.to_json())
        now = replace(shop, members=(SHOP, ORDERS, CLICKS), topics=(*shop.topics, "clicks"))
        monkeypatch.setattr(switches, "proposal_for", lambda *_: PlanProposal(now))
        address = reverse("switch-standing", args=[switch.key])
        page = as_arne.get(address).content.decode()
        assert "Since the request: 1 new, 1 gone." in page
        answer = as_arne.get(address, {"csv": "radius-changes"})
        assert "clicks" in b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
