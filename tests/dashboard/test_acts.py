"""What people do with a switch that runs or has ended, and with an AppID; who is denied is told who may."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from kazoo.client import KazooClient

from dashboard.parts import signed_in
from hadash.audit.models import Entry
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import BindingStore, Edit
from hadash.inventory.models import InstanceID
from hadash.sentences import Sentence
from hadash.switching.execution import operations
from hadash.switching.models.switches import Switch

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


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


def test_comment(as_arne: Client, as_vera: Client, engines: Any, make_switch: Any) -> None:
    switch = make_switch()
    address = reverse("comment", args=[switch.key])
    text = as_arne.post(address, {"text": "Why <b>today</b>?"}, follow=True).content.decode()
    assert "“Why &lt;b&gt;today&lt;/b&gt;?”" in text
    assert as_arne.post(address, {"text": " "}).status_code == 409
    assert as_vera.post(address, {"text": "Hello"}).status_code == 403
    assert address not in as_vera.get(reverse("switch", args=[switch.key])).content.decode()


def test_a_comment_with_a_character_that_no_database_holds(
    as_arne: Client, engines: Any, make_switch: Any
) -> None:
    switch = make_switch()
    assert as_arne.post(reverse("comment", args=[switch.key]), {"text": "a\0b"}).status_code == 302


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
