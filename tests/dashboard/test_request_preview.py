"""What the form shows before a switch is asked for: what would move, and whether it can move now."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from support.html import squeezed

from dashboard.parts import signed_in
from hadash.accounts.roles import ensure_user
from hadash.dashboard.views import request_previews
from hadash.sentences import say
from hadash.switching import requests as switch_requests
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.refusals import EnginesAway

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


class TestWhatWasShown:
    """What is asked for is the plan that the page has shown."""

    @pytest.fixture
    def fields(self, fleet: SimpleNamespace) -> dict[str, Any]:
        return {"appid": fleet.shop.pk, "scope": "appid", "target": "west", "reason": "It burns"}

    @pytest.fixture
    def asker(self, people: SimpleNamespace, kind: str) -> Client:
        return signed_in(ensure_user("rita", "secret-123", "rescuer") if kind == "forced" else people.olga)

    def shown(self, client: Client, fields: dict[str, Any]) -> dict[str, str]:
        """The hidden fields of the preview."""
        text = client.get(reverse("request-preview"), fields).content.decode()
        found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text)
        return {name: unescape(value) for name, value in found}

    @pytest.mark.parametrize(
        ("kind", "confirmed"), [("planned", ""), ("rehearsal", ""), ("emergency", "west"), ("forced", "east")]
    )
    def test_another_plan_is_not_run_but_shown_with_what_has_changed(
        self,
        asker: Client,
        fields: dict[str, Any],
        engines: Any,
        planned: None,
        started: list[str],
        plan: Plan,
        monkeypatch: pytest.MonkeyPatch,
        kind: str,
        confirmed: str,
    ) -> None:
        asked = {**fields, "kind_of_switch": kind, "confirmed": confirmed}
        before = self.shown(asker, asked)
        before["shown"] = before["shown"].replace("\n", "\r\n")  # as browsers send it
        other = replace(plan, topics=(*plan.topics[1:], "payments"))
        monkeypatch.setattr(switch_requests, "plan_for", lambda *_: other)
        monkeypatch.setattr(request_previews, "proposal_for", lambda *_: PlanProposal(other))
        answer = asker.post(reverse("request-switch"), {**asked, **before})
        text = answer.content.decode()
        assert answer.status_code == 409
        assert not Switch.objects.exists()
        assert "The plan has changed since you saw it. Look at it again." in text
        assert "It moves now, too: payments." in text
        assert f"It does not move any more: {plan.topics[0]}." in text
        assert "It burns</textarea>" in text
        assert f'value="{kind}" checked' in squeezed(text)
        assert f'name="digest" value="{other.digest}"' in text
        again = {**asked, **before, "digest": other.digest}
        assert asker.post(reverse("request-switch"), again).status_code == 302

    @pytest.mark.parametrize(("kind", "confirmed"), [("emergency", "west"), ("forced", "east")])
    def test_what_nobody_looks_at_besides_has_to_be_seen(
        self,
        asker: Client,
        fields: dict[str, Any],
        engines: Any,
        planned: None,
        started: list[str],
        plan: Plan,
        kind: str,
        confirmed: str,
    ) -> None:
        asked = {**fields, "kind_of_switch": kind, "confirmed": confirmed}
        answer = asker.post(reverse("request-switch"), asked)
        text = answer.content.decode()
        assert (answer.status_code, Switch.objects.count()) == (409, 0)
        assert "Look at what would move: it is shown now. Then send it again." in text
        assert f'name="digest" value="{plan.digest}"' in text
        assert asker.post(reverse("request-switch"), {**asked, "digest": plan.digest}).status_code == 302

    @pytest.mark.parametrize("kind", ["emergency"])
    def test_where_there_is_nothing_to_see_it_says_why(
        self,
        asker: Client,
        fields: dict[str, Any],
        engines: Any,
        planned: None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def refuse(*_: Any) -> PlanProposal:
            raise EnginesAway(say("The source does not answer."))

        monkeypatch.setattr(request_previews, "proposal_for", refuse)
        asked = {**fields, "kind_of_switch": "emergency", "confirmed": "west"}
        answer = asker.post(reverse("request-switch"), asked)
        assert (answer.status_code, Switch.objects.count()) == (409, 0)
        assert "The source does not answer." in answer.content.decode()
        assert "Look at what would move" not in answer.content.decode()


def test_preview(as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None) -> None:
    text = as_olga.get(
        reverse("request-preview"), {"appid": fleet.shop.pk, "scope": "appid"}
    ).content.decode()
    for expected in ("carts", "readers", "shop-carts", 'name="target" value="west"'):
        assert expected in text
    text = as_olga.get(
        reverse("request-preview"), {"appid": fleet.shop.pk, "scope": "instance"}
    ).content.decode()
    assert "Choose or type an InstanceID." in text


def never(*_: Any) -> None:
    raise AssertionError("servers were asked")


def test_the_form_is_there_though_a_cluster_is_away(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forced switch is asked for when a cluster is lost: the page loads the plan after it is shown."""
    monkeypatch.setattr(request_previews, "proposal_for", never)
    text = as_olga.get(reverse("request-switch"), {"appid": fleet.shop.pk}).content.decode()
    assert f'hx-get="{reverse("request-preview")}" hx-trigger="load, ' in squeezed(text)
    assert "It is being worked out" in text
    incomplete = as_olga.get(
        reverse("request-switch"), {"appid": fleet.shop.pk, "scope": "instance"}
    ).content.decode()
    assert "load, " not in incomplete


class TestChecks:
    """What would move is shown at once; whether it can move now is asked of the servers afterwards."""

    @pytest.fixture
    def fields(self, fleet: SimpleNamespace) -> dict[str, Any]:
        return {"appid": fleet.shop.pk, "scope": "appid", "target": "west"}

    def found(self, client: Client, fields: dict[str, Any]) -> str:
        return client.get(reverse("request-checks"), fields).content.decode()

    def test_the_preview_does_not_wait_for_them(
        self, as_olga: Client, fields: dict[str, Any], engines: Any, planned: None, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(request_previews, "preview_of", never)
        text = as_olga.get(reverse("request-preview"), fields).content.decode()
        assert f'hx-get="{reverse("request-checks")}" hx-trigger="load"' in text
        assert "are being asked whether it can move now" in text

    def test_that_all_hold(
        self, as_olga: Client, fields: dict[str, Any], engines: Any, planned: None
    ) -> None:
        assert "are as they have to be" in self.found(as_olga, fields)

    def test_a_plan_that_has_changed_is_not_taken_for_the_one_that_is_shown(
        self, as_olga: Client, fields: dict[str, Any], plan: Plan, engines: Any, planned: None
    ) -> None:
        changed = "has changed since it was drawn here"
        assert changed not in self.found(as_olga, {**fields, "digest": plan.digest})
        assert changed in self.found(as_olga, {**fields, "digest": "of another"})

    def test_without_a_scope_nothing_is_asked(
        self, as_olga: Client, fields: dict[str, Any], engines: Any, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(request_previews, "preview_of", None)
        assert "notice" not in self.found(as_olga, {**fields, "scope": "instance"})
        assert as_olga.get(reverse("request-checks")).status_code == 404

    @pytest.mark.parametrize("page", ["request-preview", "request-checks"])
    def test_a_cluster_that_does_not_answer_is_no_refusal(
        self, as_olga: Client, fields: dict[str, Any], engines: Any, monkeypatch: Any, page: str
    ) -> None:
        def away(*_: Any) -> None:
            raise EnginesAway(say("%(error)s", error="east does not answer"))

        monkeypatch.setattr(request_previews, "proposal_for", away)
        text = as_olga.get(reverse(page), fields).content.decode()
        assert "Whether this can move is not known:" in text
        assert "east does not answer" in text

    def test_who_may_not_see_the_appid_is_not_told(self, as_olga: Client, fields: dict[str, Any]) -> None:
        assert as_olga.get(reverse("request-checks"), {**fields, "appid": 999_999}).status_code == 404
