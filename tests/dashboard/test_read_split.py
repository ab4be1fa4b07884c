"""A read split on the pages: asked for, looked at by who approves it, running, and done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.identity.identity import Identity
from hadash.inventory.gateways import GatewaySilent
from hadash.presentation import live, radius
from hadash.presentation.labels import stage_purpose
from hadash.radius.scope import Scope
from hadash.sentences import say
from hadash.switching import checking
from hadash.switching import requests as switch_requests
from hadash.switching.checking import check_now
from hadash.switching.machines.switches import Kind, Stage
from hadash.switching.models.switches import StageRecord, Switch
from hadash.switching.plan import Plan

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

READER = Identity("shop", "购物车")


@pytest.fixture
def split() -> Plan:
    """One reader and its group go to the mirror on west."""
    scope = Scope.of(READER)
    return Plan(
        "main", scope, "east", "west", (READER,), ("carts",), ("readers",), ("shop",), kind=Kind.READ_SPLIT
    )


@pytest.fixture
def home(split: Plan) -> Plan:
    return replace(split, source="west", target="east")


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, split: Plan) -> list[Kind]:
    """Planning without ZooKeeper and Kafka; the kinds for which it was done."""
    from hadash.dashboard.views import request_previews
    from hadash.switching.planning.radius import PlanProposal

    kinds: list[Kind] = []

    def draw(pair: Any, scope: Any, target: Any, kind: Kind) -> PlanProposal:
        kinds.append(kind)
        return PlanProposal(replace(split, kind=kind))

    monkeypatch.setattr(request_previews, "proposal_for", draw)
    monkeypatch.setattr(switch_requests, "plan_for", lambda *asked: draw(*asked).plan)
    monkeypatch.setattr(checking, "check_now", lambda plan: None)
    return kinds


@pytest.fixture
def make_split(make_switch: Callable[..., Switch], split: Plan) -> Callable[..., Switch]:
    def make(status: str = "awaiting_approval", plan: Plan = split, **values: Any) -> Switch:
        return make_switch(
            status,
            **{
                "kind": Kind.READ_SPLIT.value,
                "asked": plan.scope.to_json(),
                "instance_id": READER.instance_id,
                "plan": plan.to_json(),
                "plan_digest": plan.digest,
                **values,
            },
        )

    return make


@pytest.fixture
def done(make_split: Callable[..., Switch], people: SimpleNamespace) -> Switch:
    """It went well: its readers waited for 0.4 s."""
    start = timezone.now() - timedelta(minutes=5)
    switch = make_split(
        "succeeded",
        decided_by=people.arne,
        decided_at=start,
        started_at=start,
        ended_at=start + timedelta(seconds=9),
        stage="verify",
        outcome=say(
            "Every reader works on %(cluster)s (%(count)s in all); writes go on where they were.",
            count=1,
            cluster="west",
        ).to_json(),
    )
    at = start
    for stage, seconds in zip(Kind.READ_SPLIT.spec.way, (1, 3, 0.1, 0.2, 0.1, 4), strict=True):
        end = at + timedelta(seconds=seconds)
        StageRecord.objects.create(
            switch=switch, stage=stage.value, token=1, result="done", started_at=at, ended_at=end
        )
        at = end
    return switch


def text_of(client: Client, switch: Switch) -> str:
    return client.get(reverse("switch", args=[switch.key])).content.decode()


def test_it_is_asked_for_in_the_form(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: list[Kind]
) -> None:
    form = as_olga.get(reverse("request-switch"), {"appid": fleet.shop.pk}).content.decode()
    assert 'name="kind_of_switch" value="read-split"' in form
    answer = as_olga.post(
        reverse("request-switch"),
        {
            "appid": fleet.shop.pk,
            "scope": "instance",
            "instance": "购物车",
            "kind_of_switch": "read-split",
            "reason": "Load off carts",
        },
        follow=True,
    )
    switch = Switch.objects.get()
    assert (switch.the_kind, switch.the_plan().kind) == (Kind.READ_SPLIT, Kind.READ_SPLIT)
    assert switch.status == "awaiting_approval"
    assert set(planned[-2:]) == {Kind.READ_SPLIT}, "planned as what it is, also when it is asked for"
    assert "Somebody else has to approve it." in answer.content.decode()


def test_while_a_gateway_does_not_answer_it_is_not_asked_for(
    as_olga: Client,
    fleet: SimpleNamespace,
    engines: Any,
    planned: list[Kind],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether somebody reads without a group only the Gateways know."""

    def silent(effects: Any, command: Any) -> Any:
        raise GatewaySilent("Gateway gw-1 does not answer at http://gw-1/clients (timed out).")

    monkeypatch.setattr(checking, "check_now", check_now)
    monkeypatch.setattr(checking.CommandHandler, "carry_out", silent)
    answer = as_olga.post(
        reverse("request-switch"),
        {
            "appid": fleet.shop.pk,
            "scope": "instance",
            "instance": "购物车",
            "kind_of_switch": "read-split",
            "reason": "Load off carts",
        },
    )
    assert answer.status_code == 409
    said = "Gateway gw-1 does not answer at http://gw-1/clients (timed out). Ask again when it answers."
    assert said in answer.content.decode()
    assert not Switch.objects.exists()


def test_the_preview_says_what_readers_get_and_that_nobody_else_waits(
    as_olga: Client, fleet: SimpleNamespace, engines: Any, planned: list[Kind]
) -> None:
    asked = {"appid": fleet.shop.pk, "scope": "instance", "instance": "购物车"}
    text = as_olga.get(reverse("request-preview"), {**asked, "kind_of_switch": "read-split"}).content.decode()
    assert "Readers see records up to the mirror's lag later: on west they read the copy." in text
    assert "Nobody's writes wait." in text
    assert "those on west go on, those on east stay as they are" in text
    assert "Records only the source has" not in text
    text = as_olga.get(reverse("request-preview"), asked).content.decode()
    assert "Readers wait" not in text


def test_whoever_approves_it_reads_the_same(as_arne: Client, engines: Any, make_split: Any) -> None:
    text = text_of(as_arne, make_split())
    assert "read split" in text
    assert "Only consumers move. Writes and the mirror stay as they are." in text
    assert "on west they read the copy" in text


def test_its_stages_are_its_own(as_vera: Client, engines: Any, make_split: Any) -> None:
    text = text_of(as_vera, make_split("running", stage="precheck", started_at=timezone.now()))
    assert "catch up" in text
    assert "The readers&#x27; fetches and commits wait; writes go on." in text
    assert "The mirror turns round" not in text


def test_when_it_is_done(as_olga: Client, engines: Any, done: Switch) -> None:
    text = text_of(as_olga, done)
    assert "Readers waited" in text
    assert "0.40 s" in text
    assert "writes stayed where they were" in text
    assert "RTO" not in text, "nobody's writes were refused"
    assert "Bring the readers home" in text
    assert "kind_of_switch=read-split" in text
    assert "target=east" in text


def test_when_they_came_home(as_olga: Client, engines: Any, done: Switch, home: Plan) -> None:
    Switch.objects.filter(pk=done.pk).update(
        plan=home.to_json(), source=done.target_id, target=done.source_id
    )
    text = text_of(as_olga, done)
    assert "Send the readers back" in text
    assert "lag later" not in text, "at home there is no mirror between"


def test_whether_they_read_from_a_mirror(fleet: SimpleNamespace, split: Plan, home: Plan) -> None:
    """The mirror copies from east: on west its readers have the copy."""
    assert radius.reads_from_mirrors(split)
    assert not radius.reads_from_mirrors(home)


def test_what_it_takes_is_measured_by_its_own_kind(finished: Switch, done: Switch) -> None:
    assert radius.expected_pause(finished.pair) == pytest.approx(0.3)
    assert radius.expected_pause(finished.pair, Kind.REHEARSAL) == pytest.approx(0.3)
    assert radius.expected_pause(finished.pair, Kind.READ_SPLIT) == pytest.approx(0.4)


def test_before_the_first_one_a_healthy_stack_says_what_it_takes(finished: Switch) -> None:
    blocked = [Stage.BLOCK, Stage.CATCH_UP, Stage.FORWARD]
    expected = sum(live.STAGES[stage].expected_seconds for stage in blocked)
    assert radius.expected_pause(finished.pair, Kind.READ_SPLIT) == pytest.approx(expected)


def test_its_longest_pause_is_that_of_reading() -> None:
    samples = [{"at": i / 2, "clusters": {"east": [5, 0 if 4 <= i < 8 else 5]}} for i in range(12)]
    assert live.longest_pause(samples) == 0
    assert live.longest_pause(samples, reading=True) == pytest.approx(2.0)


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_has_a_purpose_for_every_kind(stage: Stage) -> None:
    for kind in Kind:
        assert stage_purpose(stage, kind)
