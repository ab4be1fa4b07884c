"""What people do: through the services, refused with reasons, denied with the names of those who may."""

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
from kazoo.client import KazooClient
from support.html import squeezed

from dashboard.parts import signed_in
from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import BindingStore, Edit
from hadash.dashboard.views import request_previews
from hadash.inventory.models import InstanceID
from hadash.presentation.engines import Engines
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching import checking
from hadash.switching import requests as switch_requests
from hadash.switching.approvals import decisions
from hadash.switching.execution import operations
from hadash.switching.handovers import handing_over
from hadash.switching.machines.switches import Kind
from hadash.switching.models.switches import Approval, Switch
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.refusals import EnginesAway

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, plan: Plan) -> None:
    """Planning and checking without ZooKeeper and Kafka."""
    for module in (switch_requests, decisions):
        monkeypatch.setattr(module, "plan_for", lambda *_: plan)
    monkeypatch.setattr(request_previews, "proposal_for", lambda *_: PlanProposal(plan))
    monkeypatch.setattr(checking, "check_now", lambda plan: None)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the switches that were handed to the workers."""

    keys: list[str] = []
    monkeypatch.setattr(handing_over, "start_switch", lambda switch: keys.append(switch.key))
    return keys


def test_a_viewer_cannot_post(
    as_vera: Client, fleet: SimpleNamespace, engines: SimpleNamespace, make_switch: Any
) -> None:
    switch = make_switch()
    posts = [(name, [switch.key]) for name in ("approve", "decline", "cancel", "abort", "retry", "close")]
    posts += [("request-switch", []), ("register-instance", [fleet.shop.pk])]
    for name, args in posts:
        values = {"appid": fleet.shop.pk, "reason": "x", "name": "x", "plan_digest": switch.plan_digest}
        response = as_vera.post(reverse(name, args=args), values)
        assert response.status_code == 403, name
        assert "You may not" in response.content.decode()
    switch.refresh_from_db()
    assert switch.status == "awaiting_approval"
    assert not Entry.objects.exists()


def test_a_denial_says_who_may(as_vera: Client, engines: SimpleNamespace, make_switch: Any) -> None:
    switch = make_switch()
    text = as_vera.post(reverse("approve", args=[switch.key])).content.decode()
    assert "These people may: Arne Approver." in text


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


def test_forms_need_the_token(people: SimpleNamespace, make_switch: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.arne)
    response = client.post(reverse("approve", args=[make_switch().key]))
    assert response.status_code == 403
    assert "Send the form again" in response.content.decode()


def test_the_page_about_forms_is_in_the_language_that_it_says(
    people: SimpleNamespace, make_switch: Any
) -> None:
    client = Client(enforce_csrf_checks=True, headers={"Accept-Language": "zh-hans"})
    client.force_login(people.arne)
    text = client.post(reverse("approve", args=[make_switch().key])).content.decode()
    assert '<html lang="zh-hans">' in text


def test_what_is_wrong_with_a_name_is_said_in_chinese(
    people: SimpleNamespace, fleet: SimpleNamespace, engines: Any
) -> None:
    chinese = signed_in(people.olga, "zh-hans")
    response = chinese.post(reverse("register-instance", args=[fleet.shop.pk]), {"name": "x" * 201})
    assert response.status_code == 409
    assert "InstanceID 有 201 个字符" in response.content.decode()


def test_only_who_may_cancel_is_offered_to(
    as_olga: Client, as_arne: Client, engines: Any, make_switch: Any
) -> None:
    address = reverse("switch", args=[make_switch("paused", paused_at=timezone.now()).key])
    for client, offered in ((as_olga, True), (as_arne, False)):
        text = client.get(address).content.decode()
        assert "Resume" in text
        assert ("Cancel the request" in text) is offered


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


def test_nothing_is_requested_while_zookeeper_is_away(
    as_olga: Client, fleet: SimpleNamespace, engines: SimpleNamespace
) -> None:
    engines.look = Engines(fault="gone")
    response = as_olga.post(reverse("request-switch"), {"appid": fleet.shop.pk, "reason": "x"})
    assert response.status_code == 409
    assert "no switch can be planned" in response.content.decode()


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


def test_whoever_visits_the_address_of_a_button_finds_a_page(as_olga: Client, engines: Any) -> None:
    response = as_olga.get(reverse("end-blackout", args=[1]))
    assert (response.status_code, response["Allow"]) == (405, "POST")
    assert "This address is for a button" in response.content.decode()


def test_abort_before_forward_only(as_olga: Client, engines: Any, make_switch: Any) -> None:
    early = make_switch("running", stage="drain")
    page = as_olga.get(reverse("switch", args=[early.key])).content.decode()
    assert "Returns the clients to east; nothing is lost." in page
    assert as_olga.post(reverse("abort", args=[early.key])).status_code == 302
    early.refresh_from_db()
    assert early.abort_requested_by_id is not None
    early.delete()

    late = make_switch("running", stage="reverse")
    page = as_olga.get(reverse("switch", args=[late.key])).content.decode()
    assert "Not possible any more: the clients go to west." in page
    assert as_olga.post(reverse("abort", args=[late.key])).status_code == 409


def test_retry(
    as_olga: Client,
    engines: Any,
    started: list[str],
    make_switch: Any,
    django_capture_on_commit_callbacks: Any,
) -> None:
    switch = make_switch("needs_attention", stage="reverse")
    assert "Run the stage again" in as_olga.get(reverse("switch", args=[switch.key])).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        assert as_olga.post(reverse("retry", args=[switch.key])).status_code == 302
    assert started == [switch.key]


def test_a_verify_that_runs_again_says_what_it_does_not_wait_for_any_more(
    as_olga: Client, engines: Any, started: list[str], make_switch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the switch's log and in the audit log: who reads them later must not believe that it was seen."""
    monkeypatch.setattr(operations, "connected", lambda *_asked: {("shop", "shop-carts")})
    switch = make_switch("needs_attention", stage="verify")
    there = switch.the_plan().who("shop", "shop-carts")
    seen = {"clients": ["gone-1", there], "groups": ["readers"], "activity": [["produce", "orders"]]}
    Switch.objects.filter(pk=switch.pk).update(facts={"seen": seen})
    assert as_olga.post(reverse("retry", args=[switch.key])).status_code == 302
    said = " ".join(str(Sentence.from_json(event.sentence)) for event in switch.events.all())
    assert "Not connected now, and not waited for any more: gone-1." in said
    assert "That these groups read is not waited for any more: readers." in said
    assert "That records move is not waited for any more: orders." in said
    details = Entry.objects.get(verb="retry").details
    assert (details["clients"], details["groups"], details["activity"]) == (
        ["gone-1"],
        ["readers"],
        ["orders"],
    )


class TestClosing:
    """The way out of a switch that cannot go on: it ends, and everything stays as it is."""

    @pytest.fixture
    def store(self, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> BindingStore:
        monkeypatch.setattr("hadash.inventory.dialects.zookeeper", lambda: zookeeper)
        return BindingStore(zookeeper)

    def test_it_frees_its_radius_and_says_where_the_clients_are(
        self, as_olga: Client, engines: Any, make_switch: Any, store: BindingStore
    ) -> None:
        switch = make_switch("needs_attention", stage="verify")
        for identity in switch.the_plan().identities:
            store.change([Edit(identity, Binding("west"))])
        page = as_olga.get(reverse("switch", args=[switch.key])).content.decode()
        assert "Close it as it is" in page
        response = as_olga.post(reverse("close", args=[switch.key]), {"reason": "A stray record"})
        assert response.status_code == 302
        switch.refresh_from_db()
        assert (switch.status, switch.open) == ("closed", False)
        assert str(switch.outcome_sentence).endswith("on west: A stray record")
        assert Entry.objects.get().verb == "close"

    def test_not_without_a_reason(
        self, as_olga: Client, engines: Any, make_switch: Any, store: BindingStore
    ) -> None:
        switch = make_switch("needs_attention", stage="verify")
        response = as_olga.post(reverse("close", args=[switch.key]), {"reason": " "})
        assert response.status_code == 409
        assert "Say why you close it" in response.content.decode()

    @pytest.mark.parametrize("stage", ["forward", "reverse", "return"])
    def test_not_before_clients_and_mirror_are_where_they_belong(
        self, as_olga: Client, engines: Any, make_switch: Any, store: BindingStore, stage: str
    ) -> None:
        switch = make_switch("needs_attention", stage=stage)
        page = as_olga.get(reverse("switch", args=[switch.key])).content.decode()
        assert "Close it as it is" not in page
        response = as_olga.post(reverse("close", args=[switch.key]), {"reason": "I want to go home"})
        assert response.status_code == 409
        assert f"The stage “{stage}” has to be completed first" in response.content.decode()

    def test_not_while_clients_wait(
        self, as_olga: Client, engines: Any, make_switch: Any, store: BindingStore
    ) -> None:
        switch = make_switch("needs_attention", stage="verify")
        (identity, *_) = switch.the_plan().identities
        store.take_over(switch.key, "block", 1)
        blocked = Binding("east", BindingState.BLOCK, switch=switch.key)
        store.change([Edit(identity, blocked)], Journal(switch.key, "block", 1))
        response = as_olga.post(reverse("close", args=[switch.key]), {"reason": "I want to go home"})
        assert response.status_code == 409
        assert "Somebody changes the bindings of this switch" in response.content.decode()
        switch.refresh_from_db()
        assert switch.status == "needs_attention"

    def test_only_what_needs_attention(
        self, as_olga: Client, engines: Any, make_switch: Any, store: BindingStore
    ) -> None:
        switch = make_switch("succeeded", stage="verify")
        response = as_olga.post(reverse("close", args=[switch.key]), {"reason": "Again"})
        assert response.status_code == 409


def test_an_act_by_its_address_leads_to_the_switch(as_olga: Client, make_switch: Any) -> None:
    switch = make_switch()
    response = as_olga.get(reverse("cancel", args=[switch.key]))
    assert response["Location"] == reverse("switch", args=[switch.key])
    switch.refresh_from_db()
    assert switch.status == "awaiting_approval"


@pytest.mark.parametrize("name", ["订单-服务", "web#1", "<b>bold</b>"])
def test_register(as_olga: Client, fleet: SimpleNamespace, engines: Any, name: str) -> None:
    response = as_olga.post(reverse("register-instance", args=[fleet.shop.pk]), {"name": name, "note": "n"})
    assert response.status_code == 302
    assert InstanceID.objects.filter(appid=fleet.shop, name=name).exists()
    page = as_olga.get(response["Location"]).content.decode()
    assert "<b>bold</b>" not in page


def test_registering_twice_is_no_error(as_olga: Client, fleet: SimpleNamespace, engines: Any) -> None:
    address = reverse("register-instance", args=[fleet.shop.pk])
    page = as_olga.post(address, {"name": "shop-carts"}, follow=True).content.decode()
    assert "shop › shop-carts is registered already." in page
    assert InstanceID.objects.count() == 2
    assert not Entry.objects.exists()


@pytest.mark.parametrize("name", ["", "x" * 300])
def test_registering_nonsense_is_said_at_the_field(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, name: str
) -> None:
    response = as_olga.post(reverse("register-instance", args=[fleet.shop.pk]), {"name": name})
    assert response.status_code == 409
    assert 'id="name-error"' in response.content.decode()
    assert InstanceID.objects.count() == 2


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


def test_comment(as_arne: Client, as_vera: Client, engines: Any, make_switch: Any) -> None:
    switch = make_switch()
    address = reverse("comment", args=[switch.key])
    text = as_arne.post(address, {"text": "Why <b>today</b>?"}, follow=True).content.decode()
    assert "“Why &lt;b&gt;today&lt;/b&gt;?”" in text
    assert as_arne.post(address, {"text": " "}).status_code == 409
    assert as_vera.post(address, {"text": "Hello"}).status_code == 403
    assert address not in as_vera.get(reverse("switch", args=[switch.key])).content.decode()


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


def test_a_comment_with_a_character_that_no_database_holds(
    as_arne: Client, engines: Any, make_switch: Any
) -> None:
    switch = make_switch()
    assert as_arne.post(reverse("comment", args=[switch.key]), {"text": "a\0b"}).status_code == 302


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


class TestMigration:
    """The form and the approval say what is deleted and when; the page lets operators decide about it."""

    @pytest.fixture
    def migrated(self, finished: Switch) -> Switch:
        from hadash.switching.retirement.services import switch_ended

        finished.kind, finished.retire_after_days = "migration", 9
        finished.save()
        switch_ended(finished)
        return finished

    def test_the_form_and_the_approval_say_what_is_deleted(
        self, as_olga: Client, as_arne: Client, fleet: SimpleNamespace, engines: Any, planned: None
    ) -> None:
        fields = {"appid": fleet.shop.pk, "scope": "appid", "target": "west", "kind_of_switch": "migration"}
        preview = as_olga.get(reverse("request-preview"), {**fields, "retire_after_days": 9}).content.decode()
        assert "1 Topic is deleted on east." in preview
        assert "9 days after it has succeeded" in preview
        as_olga.post(reverse("request-switch"), {**fields, "retire_after_days": 9, "reason": "Newer"})
        switch = Switch.objects.get(kind="migration")
        page = as_arne.get(reverse("switch", args=[switch.key])).content.decode()
        assert "1 Topic is deleted on east." in page
        assert "To approve the migration is to approve that." in page

    def test_a_term_out_of_its_limits_is_refused(
        self, as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: None
    ) -> None:
        fields = {"appid": fleet.shop.pk, "scope": "appid", "target": "west", "kind_of_switch": "migration"}
        answer = as_olga.post(
            reverse("request-switch"), {**fields, "retire_after_days": 900, "reason": "Newer"}
        )
        assert answer.status_code == 409
        assert "less than or equal to 90" in answer.content.decode()
        assert not Switch.objects.exists()

    def test_its_day_stands_on_every_page_that_concerns_it(
        self, as_vera: Client, migrated: Switch, fleet: SimpleNamespace, engines: Any
    ) -> None:
        for address in (
            reverse("overview"),
            reverse("appid", args=[fleet.shop.pk]),
            reverse("switch", args=[migrated.key]),
        ):
            page = as_vera.get(address).content.decode()
            assert "The old Topics on east are removed on" in page, address
            assert "Delete the old Topics" not in page, "a viewer decides nothing"

    def test_operators_put_it_off_keep_or_remove(
        self, as_olga: Client, migrated: Switch, engines: Any
    ) -> None:
        page = reverse("switch", args=[migrated.key])
        assert "Delete the old Topics" in as_olga.get(page).content.decode()
        refused = as_olga.post(reverse("retire", args=[migrated.key]), {"confirmed": "west"})
        assert "Type east to confirm" in refused.content.decode()
        as_olga.post(reverse("postpone", args=[migrated.key]), {"days": "5", "reason": "The quarter ends"})
        assert "Postponed 1 time." in as_olga.get(page).content.decode()
        as_olga.post(reverse("keep", args=[migrated.key]), {"reason": "The auditors want them"})
        text = as_olga.get(page).content.decode()
        assert "olga keeps the old Topics on east: The auditors want them" in text
        assert "Delete the old Topics" not in text
        assert "The old Topics on east" not in as_olga.get(reverse("overview")).content.decode()
