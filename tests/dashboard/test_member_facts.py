"""Beside each member of a plan stands what speaks for and against it: no mirror, or not seen for days."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from hadash.inventory.models import Access
from hadash.presentation.member_facts import facts_of
from hadash.radius.scope import Member
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

SHOP = Member("appid:shop")
CARTS = Member("topic:carts", "appid:shop", "produce")
UNMIRRORED = Member("topic:unmirrored", "appid:shop", "produce")


def use(fleet: SimpleNamespace, appid: str, client_id: str, kind: str, resource: str, days: float = 0) -> Any:
    at = timezone.now() - timedelta(days=days)
    return Access.objects.create(
        pair=fleet.pair,
        appid=appid,
        client_id=client_id,
        kind=kind,
        resource=resource,
        cluster="east",
        first_seen=at,
        last_seen=at,
    )


def test_a_topic_has_the_mirrors_of_its_plan(fleet: SimpleNamespace, plan: Plan) -> None:
    moving = replace(plan, mirrors=("shop",))
    found, none = facts_of(moving, [CARTS, UNMIRRORED])
    assert (found.is_topic, found.mirrors) == (True, ("shop",))
    assert (none.is_topic, none.mirrors) == (True, ())
    assert facts_of(replace(plan, mirrors=()), [CARTS])[0].mirrors == ()


@pytest.mark.parametrize(
    ("key", "uses", "seen"),
    [
        ("appid:lager", [("any", "produce", "t")], True),
        ("appid:lager", [], False),
        ("instance:lager+scan", [("scan", "produce", "t")], True),
        ("instance:lager+scan", [("another", "produce", "t")], False),
        ("bound topics:lager#t,u", [("any", "consume", "u")], True),
        ("bound topics:lager#t,u", [("any", "consume", "v"), ("any", "group", "u")], False),
        ("group:packers", [("any", "group", "packers")], True),
        ("group:packers", [("any", "consume", "packers")], False),
        ("bound group:lager##packers", [("any", "group", "packers")], True),
    ],
)
def test_a_client_was_seen_or_not(
    fleet: SimpleNamespace, plan: Plan, key: str, uses: list[tuple[str, str, str]], seen: bool
) -> None:
    rows = [use(fleet, "lager", *each) for each in uses]
    [found] = facts_of(plan, [Member(key)])
    assert not found.is_topic
    assert found.last_seen == (rows[0].last_seen if seen else None)


def test_what_was_seen_before_the_access_window_does_not_count(fleet: SimpleNamespace, plan: Plan) -> None:
    use(fleet, "lager", "scan", "produce", "t", days=settings.ACCESS_WINDOW_DAYS + 1)
    assert facts_of(plan, [Member("appid:lager")])[0].last_seen is None


def test_many_members_cost_as_many_queries_as_few(fleet: SimpleNamespace, plan: Plan) -> None:
    few = [SHOP, CARTS, Member("group:g"), Member("instance:shop+a"), Member("bound topics:shop#t")]
    many = [
        *few,
        *(Member(f"instance:shop+{n}") for n in range(90)),
        *(Member(f"topic:{n}") for n in range(90)),
    ]
    counts = []
    for members in (few, many):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            facts_of(plan, members)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 5


def test_the_preview_says_both(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, plan: Plan, monkeypatch: Any
) -> None:
    from hadash.dashboard.views import request_previews

    members = (Member("appid:lager"), CARTS, UNMIRRORED)
    moving = replace(plan, mirrors=("shop",), members=members)
    monkeypatch.setattr(request_previews, "proposal_for", lambda *_: PlanProposal(moving))
    asked = {"appid": fleet.shop.pk, "scope": "appid"}
    page = as_olga.get(reverse("request-preview"), asked).content.decode()
    assert "not for 7 days" in page
    assert "not mirrored" in page and reverse("mirror", args=["main", "shop"]) in page
    use(fleet, "lager", "scan", "produce", "t")
    assert "not for 7 days" not in as_olga.get(reverse("request-preview"), asked).content.decode()
