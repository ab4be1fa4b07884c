"""The form that asks for a switch: what is typed, what it refuses, and what of it is kept."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from html import unescape
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from support.html import squeezed

from hadash.audit.models import Entry
from hadash.bindings.model import Binding
from hadash.dashboard.views import request_previews
from hadash.presentation.engines import Engines
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching import requests as switch_requests
from hadash.switching.approvals import decisions
from hadash.switching.machines.switches import Kind
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_request(as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None) -> None:
    page = as_olga.get(reverse("request-switch"), {"appid": fleet.shop.pk, "instance": "shop-carts"})
    assert 'value="shop-carts"' in page.content.decode()
    response = as_olga.post(
        reverse("request-switch"), {"appid": fleet.shop.pk, "scope": "appid", "reason": "Upgrade"}
    )
    switch = Switch.objects.get()
    assert response.status_code == 302
    assert response["Location"] == reverse("switch", args=[switch.key])
    assert (switch.reason, switch.target) == ("Upgrade", fleet.west)
    assert Entry.objects.get().address == "127.0.0.1"


def test_a_refused_request_keeps_what_was_typed(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> Plan:
        raise Refused(
            say("No mirror carries %(topics)s. Create one first.", topics=["<b>carts</b>"]),
            say("All checks hold."),
        )

    for module in (switch_requests, decisions):
        monkeypatch.setattr(module, "plan_for", refuse)
    monkeypatch.setattr(request_previews, "proposal_for", refuse)
    response = as_olga.post(
        reverse("request-switch"),
        {"appid": fleet.shop.pk, "scope": "instance", "instance": "购物车", "reason": "Because"},
    )
    text = response.content.decode()
    assert response.status_code == 409
    assert "No mirror carries &lt;b&gt;carts&lt;/b&gt;. Create one first." in text
    assert 'value="购物车"' in text and "Because</textarea>" in text


def test_a_request_without_a_reason_is_refused(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None
) -> None:
    response = as_olga.post(reverse("request-switch"), {"appid": fleet.shop.pk, "reason": " "})
    assert response.status_code == 409
    assert "Say why: the approver reads it" in response.content.decode()


def test_an_instance_must_be_named(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None
) -> None:
    response = as_olga.post(
        reverse("request-switch"), {"appid": fleet.shop.pk, "scope": "instance", "reason": "x"}
    )
    assert response.status_code == 409
    assert "Say which InstanceID." in response.content.decode()


def test_nothing_is_requested_while_zookeeper_is_away(
    as_olga: Client, fleet: SimpleNamespace, engines: SimpleNamespace
) -> None:
    engines.look = Engines(fault="gone")
    response = as_olga.post(reverse("request-switch"), {"appid": fleet.shop.pk, "reason": "x"})
    assert response.status_code == 409
    assert "no switch can be planned" in response.content.decode()


# -- Topics, windows, comments -------------------------------------------------------------------------------------


def test_topics_can_be_asked_for(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None
) -> None:
    choices = as_olga.get(reverse("request-switch")).content.decode()
    assert f"?pair={fleet.pair.pk}&amp;scope=topics" in choices
    page = as_olga.get(reverse("request-switch"), {"pair": fleet.pair.pk, "scope": "topics"}).content.decode()
    assert "Type the names of the Topics." in page
    response = as_olga.post(
        reverse("request-switch"),
        {"pair": fleet.pair.pk, "scope": "topics", "topics": " orders，carts, ", "reason": "Upgrade"},
    )
    assert response.status_code == 302
    switch = Switch.objects.get()
    assert switch.scope.topics == ("carts", "orders")
    for address in (reverse("switch", args=[switch.key]), reverse("switches")):
        assert "Topic carts, orders" in as_olga.get(address).content.decode()


def test_topics_must_be_named(as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None) -> None:
    response = as_olga.post(
        reverse("request-switch"), {"pair": fleet.pair.pk, "scope": "topics", "topics": " , ", "reason": "x"}
    )
    assert response.status_code == 409
    assert "Say which Topics." in response.content.decode()


def test_everything_on_a_cluster_can_be_asked_for(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None
) -> None:
    form = {"pair": fleet.pair.pk, "scope": "pair", "target": "west", "reason": "Move house"}
    assert as_olga.post(reverse("request-switch"), form).status_code == 302
    switch = Switch.objects.get()
    assert (switch.scope.kind.value, switch.target) == ("pair", fleet.west)
    assert "everything" in as_olga.get(reverse("switches")).content.decode()


def test_a_pair_that_does_not_exist(as_olga: Client, engines: Any) -> None:
    assert as_olga.get(reverse("request-switch"), {"pair": "999"}).status_code == 404


def test_a_window_is_typed_on_the_clock_of_who_types_it(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None
) -> None:
    """Shanghai is eight hours ahead of UTC; its browsers say -480."""
    tomorrow = timezone.now().date() + timedelta(days=1)
    response = as_olga.post(
        reverse("request-switch"),
        {
            "appid": fleet.shop.pk,
            "reason": "At night",
            "start": "window",
            "start_at": f"{tomorrow}T10:00",
            "start_until": f"{tomorrow}T12:30",
            "start_at_offset": "-480",
            "start_until_offset": "-480",
        },
    )
    assert response.status_code == 302
    switch = Switch.objects.get()
    assert switch.start_at.isoformat() == f"{tomorrow}T02:00:00+00:00"
    assert switch.start_until.isoformat() == f"{tomorrow}T04:30:00+00:00"
    page = as_olga.get(reverse("switch", args=[switch.key])).content.decode()
    assert "It may start from" in page


@pytest.mark.parametrize(
    ("times", "why"),
    [
        ({}, "Say from when to when it may start."),
        ({"start_at": "tonight", "start_until": "2026-12-01T04:00"}, "Type a date and a time"),
        (
            {"start_at": "0001-01-01T00:00", "start_at_offset": "-480", "start_until": "2026-12-01T04:00"},
            "Type a date and a time",
        ),
    ],
)
def test_a_window_that_cannot_be_read_is_refused_and_keeps_what_was_typed(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None, times: dict[str, str], why: str
) -> None:
    form = {"appid": fleet.shop.pk, "reason": "Because", "start": "window", **times}
    response = as_olga.post(reverse("request-switch"), form)
    text = response.content.decode()
    assert response.status_code == 409
    assert why in text and "Because</textarea>" in text
    assert not Switch.objects.exists()


def test_a_clock_that_changes_with_the_season(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None
) -> None:
    """Each time has the offset of its own day."""
    day = timezone.now().date() + timedelta(days=30)
    form = {
        "appid": fleet.shop.pk,
        "reason": "Over the change",
        "start": "window",
        "start_at": f"{day}T02:00",
        "start_at_offset": "-60",
        "start_until": f"{day}T04:00",
        "start_until_offset": "-120",
    }
    assert as_olga.post(reverse("request-switch"), form).status_code == 302
    switch = Switch.objects.get()
    assert (switch.start_at.hour, switch.start_until.hour) == (1, 2)


@pytest.mark.parametrize("query", [{"scope": "x"}, {"dimension": "x"}, {"scope": "instance"}])
def test_an_odd_address_shows_the_form(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None, query: dict[str, str]
) -> None:
    assert as_olga.get(reverse("request-switch"), {"appid": fleet.shop.pk, **query}).status_code == 200


class TestGoingBack:
    """From the page of a switch that went well: its button asks for a restore."""

    @pytest.fixture(autouse=True)
    def _there(self, monkeypatch: pytest.MonkeyPatch, planned: None) -> None:
        from hadash.switching.recovery import restoring

        monkeypatch.setattr(
            restoring, "bound_to", lambda pair, plan: {i: Binding("west") for i in plan.identities}
        )

    def test_the_button_fills_the_form_and_both_pages_link_each_other(
        self, as_olga: Client, finished: Switch, engines: SimpleNamespace
    ) -> None:
        page = as_olga.get(reverse("switch", args=[finished.key])).content.decode()
        [query] = re.findall(r'href="/switches/request/\?([^"]+)">Switch back', squeezed(page))
        form = as_olga.get(f"{reverse('request-switch')}?{unescape(query)}").content.decode()
        assert 'value="restore" checked' in squeezed(form)
        fields = dict(parse_qsl(unescape(query)))
        answer = as_olga.post(reverse("request-switch"), {**fields, "reason": "It is slow there"})
        restore = Switch.objects.get(kind="restore")
        assert answer["Location"] == reverse("switch", args=[restore.key])
        assert restore.restores == finished
        before = as_olga.get(reverse("switch", args=[finished.key])).content.decode()
        assert reverse("switch", args=[restore.key]) in before
        after = as_olga.get(reverse("switch", args=[restore.key])).content.decode()
        assert reverse("switch", args=[finished.key]) in after
        listed = as_olga.get(reverse("switches")).content.decode()
        assert '<span class="tag">restore</span>' in listed

    def test_its_preview_has_the_objections_of_a_request_for_it(
        self,
        as_olga: Client,
        finished: Switch,
        engines: SimpleNamespace,
        plan: Plan,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        from hadash.switching.recovery import restoring

        back = PlanProposal(replace(plan, kind=Kind.RESTORE, source="west", target="east"))
        monkeypatch.setattr(request_previews, "proposal_for", lambda *_: back)
        page = as_olga.get(reverse("switch", args=[finished.key])).content.decode()
        [query] = re.findall(r'href="/switches/request/\?([^"]+)">Switch back', squeezed(page))
        fields = dict(parse_qsl(unescape(query)))
        checks = reverse("request-checks")
        assert "any more" not in as_olga.get(checks, fields).content.decode()
        monkeypatch.setattr(
            restoring, "bound_to", lambda pair, plan: {i: Binding("east") for i in plan.identities}
        )
        assert "is not on west any more" in as_olga.get(checks, fields).content.decode()

    def test_without_a_switch_the_form_does_not_offer_it(
        self, as_olga: Client, fleet: SimpleNamespace, engines: SimpleNamespace
    ) -> None:
        form = as_olga.get(f"{reverse('request-switch')}?appid={fleet.shop.pk}").content.decode()
        assert 'value="restore"' not in form

    def test_there_is_no_button_when_it_was_gone_back_from(
        self, as_olga: Client, finished: Switch, make_switch: Any, engines: SimpleNamespace
    ) -> None:
        make_switch("succeeded", kind="restore", restores=finished)
        assert "Switch back" not in as_olga.get(reverse("switch", args=[finished.key])).content.decode()
