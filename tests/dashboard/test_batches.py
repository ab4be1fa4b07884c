"""The pages of batches: asking with a preview, the page of one in each state, and everything that people do to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from support.html import squeezed
from switching.batches.parts import World

from dashboard.parts import NASTY, signed_in
from hadash.accounts.roles import ensure_user
from hadash.sentences import say
from hadash.switching.handovers import handing_over
from hadash.switching.models.batches import Batch
from hadash.switching.models.switches import Switch

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Five AppIDs that share nothing, instead of ZooKeeper and Kafka."""
    made = World()
    made.take_over(monkeypatch)
    return made


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the batches that were handed to the workers."""

    keys: list[str] = []
    monkeypatch.setattr(handing_over, "wake", lambda batch: keys.append(batch.key))
    return keys


def fail(batch: Batch, position: int = 1) -> None:
    batch.items.filter(position=position).update(
        status="failed", outcome=say("Mirror %(mirror)s is not running.", mirror="shop").to_json()
    )


class TestAsking:
    @pytest.fixture
    def form(self, fleet: SimpleNamespace) -> dict[str, str]:
        return {"way": f"{fleet.pair.pk}:west", "wave_size": "2", "reason": "Leaving east"}

    def test_the_preview_shows_waves_and_changes_nothing(
        self, as_olga: Client, engines: Any, world: World, form: dict[str, str]
    ) -> None:
        page = as_olga.post(
            "/batches/new/", {**form, "action": "preview", "first_wave": "1"}
        ).content.decode()
        assert "5 radii" in page
        assert "in 3 waves" in page
        assert [name for name in ("ant", "bee", "cat", "dog", "eel") if f"<b>{name}</b>" in page] == [
            "ant", "bee", "cat", "dog", "eel"
        ]  # fmt: skip
        assert Batch.objects.count() == 0

    def test_what_was_shown_is_asked_for(
        self, as_olga: Client, engines: Any, world: World, form: dict[str, str]
    ) -> None:
        shown = as_olga.post("/batches/new/", {**form, "action": "preview"}).context["drawn"].digest
        answer = as_olga.post("/batches/new/", {**form, "action": "request", "digest": shown})
        batch = Batch.objects.get()
        assert (answer.status_code, answer["Location"]) == (302, f"/batches/{batch.key}/")
        assert batch.digest == shown

    def test_when_it_has_changed_the_new_preview_is_shown(
        self, as_olga: Client, engines: Any, world: World, form: dict[str, str]
    ) -> None:
        answer = as_olga.post("/batches/new/", {**form, "action": "request", "digest": "of something else"})
        assert answer.status_code == 409
        assert "What would move has changed since you saw it" in answer.content.decode()
        assert answer.context["drawn"].digest in answer.content.decode()

    def test_what_stands_against_it_is_listed_and_it_cannot_be_asked_for(
        self, as_olga: Client, engines: Any, world: World, form: dict[str, str]
    ) -> None:
        world.unmirrored = {"cat.t"}
        page = as_olga.post("/batches/new/", {**form, "action": "preview"}).content.decode()
        assert "No mirror carries cat.t. Create one first." in page
        assert 'value="request"' not in page
        page = as_olga.post(
            "/batches/new/", {**form, "action": "preview", "leave_out": "on"}
        ).content.decode()
        assert "1 radius is left out." in page
        assert 'value="request"' in page

    def test_a_list_with_a_mistake_says_in_which_line(
        self, as_olga: Client, engines: Any, world: World, form: dict[str, str]
    ) -> None:
        typed = {**form, "action": "preview", "what": "list", "list": f"ant\n{NASTY}; x"}
        answer = as_olga.post("/batches/new/", typed)
        page = answer.content.decode()
        assert answer.status_code == 409
        assert "Line 2: write a name" in page
        assert NASTY not in page

    def test_a_pasted_list(self, as_olga: Client, engines: Any, world: World, form: dict[str, str]) -> None:
        typed = {
            **form,
            "action": "preview",
            "what": "list",
            "names": "topics",
            "list": "cat.t; 2\r\nant.t; 1",
        }
        rows = as_olga.post("/batches/new/", typed).context["drawn"].rows
        assert [(row.wave, str(row.plan.scope)) for row in rows] == [(1, "Topic ant.t"), (2, "Topic cat.t")]

    @pytest.mark.parametrize(
        ("field", "value", "sentence"),
        [
            ("way", "", "Choose from where to where."),
            ("way", "999:west", "Choose from where to where."),
            ("wave_size", "many", "Type a number."),
            ("wave_size", "0", "greater than or equal to 1"),
            ("start", "window", "Say from when to when it may start."),
        ],
    )
    def test_what_cannot_be_is_told_at_its_field(
        self, as_olga: Client, engines: Any, form: dict[str, str], field: str, value: str, sentence: str
    ) -> None:
        answer = as_olga.post("/batches/new/", {**form, field: value})
        assert answer.status_code == 409
        assert sentence in answer.content.decode()


class TestThePage:
    def test_it_is_listed_with_its_progress(self, as_vera: Client, make_batch: Any) -> None:
        batch = make_batch("running")
        batch.items.filter(position=1).update(status="done")
        page = as_vera.get("/batches/").content.decode()
        assert f"/batches/{batch.key}/" in page
        assert "1 / 4" in squeezed(page)

    def test_what_is_approved_stands_there_with_what_is_left_out(
        self, as_arne: Client, make_batch: Any
    ) -> None:
        batch = make_batch()
        item = batch.items.get(position=4)
        item.wave, item.status, item.outcome = (
            0,
            "dropped",
            say("No mirror carries %(topics)s. Create one first.", topics=["x"]).to_json(),
        )
        item.save()
        page = as_arne.get(f"/batches/{batch.key}/").content.decode()
        assert "1 radius is left out" in page
        assert "No mirror carries x. Create one first." in page
        assert f'value="{batch.digest}"' in page

    def test_the_approver_sees_which_appids_move_together(self, as_arne: Client, make_batch: Any) -> None:
        batch = make_batch()
        item = batch.items.get(position=1)
        item.plan = {**item.plan, "identities": ["audit", "shop+web"]}
        item.save()
        assert "audit, shop</span>" in as_arne.get(f"/batches/{batch.key}/").content.decode()

    def test_whoever_asked_sees_who_decides(self, as_olga: Client, make_batch: Any) -> None:
        page = as_olga.get(f"/batches/{make_batch().key}/").content.decode()
        assert "somebody else decides on it: Arne Approver" in page
        assert "Approve and run" not in page

    def test_a_running_one_begins_with_the_wave_that_is_on_its_way(
        self, as_vera: Client, make_batch: Any
    ) -> None:
        batch = make_batch("running")
        batch.items.filter(wave=1).update(status="done")
        shown = as_vera.get(f"/batches/{batch.key}/").context["page"].object_list
        assert [item.position for item in shown] == [3, 4]
        every = as_vera.get(f"/batches/{batch.key}/?wave=all").context["page"].object_list
        assert [item.position for item in every] == [1, 2, 3, 4]

    def test_hundreds_come_in_pages(self, as_vera: Client, make_batch: Any) -> None:
        batch = make_batch("approved", 120)
        second = as_vera.get(f"/batches/{batch.key}/?wave=all&page=2").context["page"]
        assert (second.paginator.count, [item.position for item in second][:2]) == (120, [26, 27])

    def test_the_live_part_is_loaded_anew_only_when_the_state_has_changed(
        self, as_vera: Client, make_batch: Any
    ) -> None:
        batch = make_batch("running")
        address = f"/batches/{batch.key}/?seen=running-0"
        answer = as_vera.get(address, headers={"HX-Request": "true"})
        assert "HX-Refresh" not in answer
        assert b"<!doctype" not in answer.content
        Batch.objects.update(status="stopped")
        assert as_vera.get(address, headers={"HX-Request": "true"})["HX-Refresh"] == "true"

    def test_its_switch_names_it(
        self, as_vera: Client, make_batch: Any, make_switch: Any, engines: Any
    ) -> None:
        batch, switch = make_batch("running"), make_switch("running", stage="precheck")
        batch.items.filter(position=3).update(status="running", switch=switch)
        assert f"batch {batch.key}, wave 2" in as_vera.get(f"/switches/{switch.key}/").content.decode()
        assert switch.key in as_vera.get(f"/batches/{batch.key}/?wave=2").content.decode()

    def test_what_somebody_may_not_see_is_not_there(self, people: Any, make_batch: Any) -> None:
        from django.contrib.auth.models import User

        nobody = signed_in(User.objects.create_user("nobu"))
        assert nobody.get(f"/batches/{make_batch().key}/").status_code == 404


class TestInboxes:
    def test_it_waits_for_who_may_decide_and_not_for_who_asked(
        self, as_arne: Client, as_olga: Client, make_batch: Any
    ) -> None:
        key = make_batch().key
        assert key in as_arne.get("/switches/?inbox=waiting").content.decode()
        assert key not in as_olga.get("/switches/?inbox=waiting").content.decode()
        assert key in as_olga.get("/switches/?inbox=mine").content.decode()
        assert as_arne.get("/batches/").context["nav"]["waiting"] == 1

    def test_a_stopped_one_waits_for_operators(
        self, as_arne: Client, as_olga: Client, make_batch: Any
    ) -> None:
        key = make_batch("stopped").key
        assert key in as_olga.get("/switches/?inbox=waiting").content.decode()
        assert key not in as_arne.get("/switches/?inbox=waiting").content.decode()

    def test_the_overview_shows_what_runs(self, as_vera: Client, engines: Any, make_batch: Any) -> None:
        assert f"/batches/{make_batch('running').key}/" in as_vera.get("/").content.decode()


class TestActs:
    def test_approve_and_run(
        self, as_arne: Client, engines: Any, make_batch: Any, woken: list[str], monkeypatch: pytest.MonkeyPatch,
        django_capture_on_commit_callbacks: Any,
    ) -> None:  # fmt: skip
        monkeypatch.setattr("hadash.switching.batches.decisions.changed", lambda batch: [])
        batch = make_batch()
        with django_capture_on_commit_callbacks(execute=True):
            as_arne.post(f"/batches/{batch.key}/approve/", {"digest": batch.digest, "approvals": "0"})
        batch.refresh_from_db()
        assert (batch.status, woken) == ("running", [batch.key])

    def test_a_refusal_is_shown_on_the_page(self, as_arne: Client, engines: Any, make_batch: Any) -> None:
        answer = as_arne.post(f"/batches/{make_batch().key}/approve/", {"digest": "of something else"})
        assert answer.status_code == 409
        assert "What would move has changed since you saw it" in answer.content.decode()

    def test_a_stopped_one_goes_on_without_what_failed(
        self, as_olga: Client, make_batch: Any, woken: list[str], django_capture_on_commit_callbacks: Any
    ) -> None:
        batch = make_batch("stopped", outcome=say("Stopped.").to_json())
        fail(batch)
        page = as_olga.get(f"/batches/{batch.key}/").content.decode()
        assert "Mirror shop is not running." in page
        with django_capture_on_commit_callbacks(execute=True):
            as_olga.post(f"/batches/{batch.key}/resume/", {"without": "on", "reason": "It is retired"})
        batch.refresh_from_db()
        assert (batch.status, batch.items.get(position=1).status) == ("running", "dropped")
        assert woken == [batch.key]

    def test_what_was_typed_is_not_lost_with_a_refusal(self, as_olga: Client, make_batch: Any) -> None:
        answer = as_olga.post(f"/batches/{make_batch('running').key}/end/", {"reason": "Enough for tonight"})
        assert answer.status_code == 409
        assert "This batch is running: it cannot be changed that way any more." in answer.content.decode()

    def test_a_rescuer_can_end_a_stopped_one_and_no_more(self, people: Any, make_batch: Any) -> None:
        """The source may be lost, and what the batch holds stands in the way."""
        batch = make_batch("stopped", outcome=say("Stopped.").to_json())
        rita = signed_in(ensure_user("rita", "secret-123", "rescuer"))
        page = rita.get(f"/batches/{batch.key}/").content.decode()
        assert "One of these decides how it continues: Olga Operator." in page
        assert f'action="/batches/{batch.key}/end/"' in page
        assert f'action="/batches/{batch.key}/resume/"' not in page
        rita.post(f"/batches/{batch.key}/end/", {"reason": "East is lost"})
        batch.refresh_from_db()
        assert batch.status == "ended"

    def test_who_may_not_is_told_who_may(self, as_arne: Client, make_batch: Any) -> None:
        answer = as_arne.post(f"/batches/{make_batch('stopped').key}/resume/")
        assert answer.status_code == 403
        assert "Olga Operator" in answer.content.decode()


def test_in_chinese(people: SimpleNamespace, make_batch: Any) -> None:
    page = signed_in(people.arne, "zh-hans").get(f"/batches/{make_batch().key}/").content.decode()
    assert "4 个关联范围" in page
    assert "批准的内容" in page


def test_a_switch_of_several_things_can_be_asked_back(
    as_olga: Client, engines: Any, make_switch: Any, plan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No field of the form says what it moved: the request carries it."""
    from dataclasses import replace

    from hadash.dashboard.views import request_previews
    from hadash.radius.scope import Scope, ScopeKind
    from hadash.switching.planning.radius import PlanProposal

    scope = Scope(ScopeKind.SEVERAL, roots=("appid:audit", "appid:shop"))
    moved = replace(plan, scope=scope)
    switch: Switch = make_switch(
        "succeeded", appid="", asked=scope.to_json(), plan=moved.to_json(), outcome=say("It works.").to_json()
    )
    back = as_olga.get(f"/switches/{switch.key}/").context["back"]
    asked: list[Scope] = []
    monkeypatch.setattr(
        request_previews,
        "proposal_for",
        lambda pair, scope, target, kind: asked.append(scope) or PlanProposal(moved),
    )
    form = as_olga.get(f"/switches/request/?{back}").content.decode()
    assert 'name="roots" value="appid:audit\nappid:shop"' in form
    preview = as_olga.get(f"/switches/request/preview/?{back}").content.decode()
    assert asked == [scope]
    assert "audit, shop" in preview


def test_the_list_can_be_had_as_csv(as_olga: Client, make_batch: Any) -> None:
    batch = make_batch()
    answer = as_olga.get("/batches/", {"format": "csv"})
    lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert lines[0].startswith("key,pair,source,target,status,")
    assert lines[1].startswith(f"{batch.key},main,")
    assert 'href="?format=csv"' in as_olga.get("/batches/").content.decode()
