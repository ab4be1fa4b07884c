"""A switch over the API, from the plan to its end, with codes that say what happened."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.bindings.errors import StoreUnavailable, UnknownOutcome
from hadash.bindings.model import Binding
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching import checking, requests
from hadash.switching.checking import check_now
from hadash.switching.execution.handlers.registry import HANDLERS
from hadash.switching.handovers import handing_over
from hadash.switching.machines.switches import Kind
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.refusals import EnginesAway
from hadash.switching.stages import commands as do

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_the_plan_says_what_moves_and_why(
    program: Callable[..., Any], fleet: Any, planned: None, plan: Plan, wanted: dict[str, Any]
) -> None:
    answer = program("vera").post("plans/", {k: wanted[k] for k in ("pair", "scope", "target")})
    assert answer.status_code == 200
    draft = answer.json()
    assert draft["plan_digest"] == plan.digest
    assert draft["plan"]["topics"] == ["carts"]
    assert (draft["checks"], draft["blockers"]) == ("hold", [])
    assert [(m["name"], m["why"], m["chain"]) for m in draft["members"]] == [
        ("shop", "asked for", ["shop"]),
        ("carts", "shop writes to it", ["shop", "carts"]),
    ]
    assert draft["records_at_risk"] == 7
    assert not Switch.objects.exists()


def test_from_the_request_to_its_run(
    program: Callable[..., Any],
    fleet: Any,
    planned: None,
    plan: Plan,
    wanted: dict[str, Any],
    started: list[str],
    django_capture_on_commit_callbacks: Any,
) -> None:
    olga, arne = program("olga"), program("arne")
    asked = olga.post("switches/", {**wanted, "plan_digest": plan.digest})
    assert asked.status_code == 201
    key = asked.json()["key"]
    assert [s["key"] for s in arne.get("switches/?inbox=waiting").json()["results"]] == [key]
    assert olga.get("switches/?inbox=waiting").json()["results"] == []
    assert [s["key"] for s in olga.get("switches/?inbox=mine").json()["results"]] == [key]

    own = olga.post(f"switches/{key}/approve/", {"plan_digest": plan.digest})
    assert own.status_code == 403
    stale = arne.post(f"switches/{key}/approve/", {"plan_digest": "something else"})
    assert (stale.status_code, stale["Content-Type"]) == (412, "application/problem+json")
    misled = arne.post(f"switches/{key}/approve/", {"plan_digest": plan.digest, "approvals": 1})
    assert misled.status_code == 412
    with django_capture_on_commit_callbacks(execute=True):
        approved = arne.post(f"switches/{key}/approve/", {"plan_digest": plan.digest, "approvals": 0})
    assert approved.status_code == 202
    assert approved.json()["status"] == "running"
    assert [a["by"] for a in approved.json()["approvals"]] == ["arne"]
    assert started == [key]
    again = arne.post(f"switches/{key}/approve/", {"plan_digest": plan.digest})
    assert again.status_code == 409

    assert olga.post(f"switches/{key}/comment/", {"text": "我看着"}).status_code == 202
    assert olga.post(f"switches/{key}/abort/").status_code == 202
    lines = [line["sentence"] for line in arne.get(f"switches/{key}/log/").json()]
    assert lines == [
        "olga requested the switch.",
        "arne approved it.",
        "“我看着”",
        "olga asked to abort.",
    ]
    last = arne.get(f"switches/{key}/log/").json()[-1]["id"]
    assert arne.get(f"switches/{key}/log/?after={last}").json() == []
    assert [e.verb for e in Entry.objects.order_by("number") if "token" not in e.verb] == [
        "request",
        "approve",
        "comment",
        "abort",
    ]


def test_an_approval_is_answered_as_it_was_however_fast_the_workers_are(
    program: Callable[..., Any],
    planned: None,
    plan: Plan,
    started: list[str],
    make_switch: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hadash.switching.approvals import decisions

    approve = decisions.approve

    def and_it_ends_at_once(*args: Any, **kwargs: Any) -> Switch:
        held = approve(*args, **kwargs)
        Switch.objects.filter(pk=held.pk).update(status="succeeded", ended_at=timezone.now())
        return held

    monkeypatch.setattr(decisions, "approve", and_it_ends_at_once)
    answer = program("arne").post(f"switches/{make_switch().key}/approve/", {"plan_digest": plan.digest})
    assert (answer.status_code, answer.json()["status"]) == (202, "running")


def test_a_read_split_is_planned_approved_and_scheduled_as_what_it_is(
    program: Callable[..., Any],
    fleet: Any,
    plan: Plan,
    planned: None,
    wanted: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "hadash.api.views.switches.proposal_for", lambda *asked: PlanProposal(replace(plan, kind=asked[3]))
    )
    asked = {k: wanted[k] for k in ("pair", "scope", "target")} | {"kind": "read-split"}
    assert program("vera").post("plans/", asked).json()["kind"] == "read-split"
    now = timezone.now()
    window = {
        "start_at": (now + timedelta(hours=1)).isoformat(),
        "start_until": (now + timedelta(hours=2)).isoformat(),
    }
    made = program("olga").post(
        "switches/", {**wanted, **window, "kind": "read-split", "pause_after_precheck": True}
    )
    assert (made.status_code, made.json()["kind"], made.json()["status"]) == (
        201,
        "read-split",
        "awaiting_approval",
    )
    for kind in ("rehearsal", "emergency"):
        refused = program("olga").post("switches/", {**wanted, **window, "kind": kind})
        assert (refused.status_code, list(refused.json()["errors"])) == (400, ["start_at"])


def test_a_reason_is_needed_to_decline(program: Any, make_switch: Any) -> None:
    switch = make_switch()
    empty = program("arne").post(f"switches/{switch.key}/decline/", {"reason": "  "})
    assert (empty.status_code, list(empty.json()["errors"])) == (400, ["reason"])
    declined = program("arne").post(f"switches/{switch.key}/decline/", {"reason": "Not on a Friday"})
    assert (declined.status_code, declined.json()["decision_note"]) == (200, "Not on a Friday")


def test_busy(program: Any, planned: None, make_switch: Any, wanted: dict[str, Any]) -> None:
    held = make_switch()
    answer = program("olga").post("switches/", wanted)
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:hadash:problem:busy")
    assert held.key in answer.json()["detail"]


def test_another_plan_than_the_one_that_was_shown(
    program: Any, fleet: Any, planned: None, wanted: dict[str, Any]
) -> None:
    answer = program("olga").post("switches/", {**wanted, "plan_digest": "0" * 32})
    assert answer.status_code == 412
    assert not Switch.objects.exists()


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (Refused(say("No mirror carries it."), say("And more.")), 409, "refused"),
        (EnginesAway(say("ZooKeeper does not answer.")), 503, "no-answer"),
        (StoreUnavailable("ZooKeeper does not answer."), 503, "no-answer"),
        (UnknownOutcome("The reply was lost."), 503, "unknown-outcome"),
    ],
)
def test_what_the_services_say(
    program: Any,
    fleet: Any,
    planned: None,
    wanted: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    code: int,
    kind: str,
) -> None:
    """And the plan of the same moment says it, too: it is never without blockers."""

    def fail(plan: Plan) -> None:
        raise error

    monkeypatch.setattr(checking, "check_now", fail)
    olga = program("olga")
    if isinstance(error, Refused):
        draft = olga.post("plans/", {k: wanted[k] for k in ("pair", "scope", "target")}).json()
        assert draft["blockers"][-len(error.reasons) :] == [str(reason) for reason in error.reasons]
        assert draft["checks"] == ("unknown" if isinstance(error, EnginesAway) else "failed")
    answer = olga.post("switches/", wanted)
    body = answer.json()
    assert (answer.status_code, body["status"], body["type"]) == (code, code, f"urn:hadash:problem:{kind}")
    assert body["detail"] == str(error)
    assert len(body["reasons"]) == len(getattr(error, "reasons", [1]))


def test_checks_that_take_too_long_are_not_known_to_hold(
    program: Any,
    fleet: Any,
    planned: None,
    wanted: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    """Neither for a plan nor for a request."""
    settings.SWITCH_CHECK_SECONDS = 0
    monkeypatch.setattr(checking, "check_now", check_now)
    olga = program("olga")
    draft = olga.post("plans/", {k: wanted[k] for k in ("pair", "scope", "target")}).json()
    late = "The checks had not begun after 0 s: this server is busy. Ask again."
    assert (draft["checks"], draft["blockers"][-1]) == ("unknown", late)
    answer = olga.post("switches/", wanted)
    assert (answer.status_code, answer.json()["detail"]) == (503, late)
    assert not Switch.objects.exists()


def test_checks_that_take_too_long_say_what_took_longest(
    program: Any, fleet: Any, planned: None, wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0)

    def answer_late(hand: Any, command: do.CheckCluster) -> None:
        clock.now += 31

    monkeypatch.setattr(checking, "check_now", check_now)
    monkeypatch.setattr(checking, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setitem(HANDLERS, do.CheckCluster, answer_late)
    answer = program("olga").post("switches/", wanted)
    assert answer.status_code == 503
    assert re.fullmatch(
        r"The checks had not ended after 30 s\. What took longest: the brokers of a cluster \(.* s\)\. Ask again\.",
        answer.json()["detail"],
    )
    assert not Switch.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"reason": ""}, "reason"),
        ({"scope": {"kind": "appid"}}, "scope.appid"),
        ({"scope": {"kind": "instance", "appid": "shop"}}, "scope.instance_id"),
        ({"scope": {"kind": "topics"}}, "scope.topics"),
        ({"scope": {"kind": "pair", "appid": "shop"}}, "scope.appid"),
        ({"scope": {"kind": "planet"}}, "scope.kind"),
        ({"scope": {"kind": "appid", "appid": "a\0b"}}, "scope.appid"),
        ({"start_at": "2030-01-01T00:00:00Z"}, "start_until"),
        ({"start_at": "tomorrow", "start_until": "later"}, "start_at"),
    ],
)
def test_what_is_not_as_described(
    program: Any, fleet: Any, planned: None, wanted: dict[str, Any], change: dict[str, Any], field: str
) -> None:
    answer = program("olga").post("switches/", wanted | change)
    assert answer.status_code == 400
    assert field in answer.json()["errors"]
    assert not Switch.objects.exists()


def test_filters(program: Any, make_switch: Any, people: SimpleNamespace) -> None:
    first = make_switch("succeeded", ended_at=timezone.now())
    other = make_switch()
    vera = program("vera")

    def keys(query: str) -> set[str]:
        return {s["key"] for s in vera.get(f"switches/?{query}").json()["results"]}

    assert keys("") == {first.key, other.key}
    assert keys("status=succeeded") == {first.key}
    assert keys("appid=shop&topic=carts&pair=main") == {first.key, other.key}
    assert keys("topic=stock") == keys("pair=none") == set()
    assert vera.get("switches/?status=dancing").status_code == 400
    page = vera.get("switches/?page_size=1").json()
    assert (page["count"], len(page["results"])) == (2, 1)
    assert vera.get("switches/?page=9").status_code == 404


def test_in_the_language_that_is_asked_for(program: Any, make_switch: Any) -> None:
    switch = make_switch()
    answer = program("olga").post(
        f"switches/{switch.key}/approve/", {"plan_digest": "x"}, **{"Accept_Language": "zh-hans"}
    )
    assert answer.json()["title"] == "没有权限"


def test_services_are_the_same_for_pages_and_programs() -> None:
    from hadash.api.views import switches as api
    from hadash.dashboard.views import switches as pages

    assert api.decisions is pages.decisions
    assert api.operations is pages.operations


class TestRestore:
    @pytest.fixture(autouse=True)
    def _there(self, monkeypatch: pytest.MonkeyPatch, planned: None) -> None:
        from hadash.switching.recovery import restoring

        monkeypatch.setattr(
            restoring, "bound_to", lambda pair, plan: {i: Binding("west") for i in plan.identities}
        )

    def test_it_names_the_switch_that_it_goes_back_from(
        self, program: Callable[..., Any], finished: Switch, wanted: dict[str, Any]
    ) -> None:
        olga = program("olga")
        before = olga.get(f"switches/{finished.key}/").json()
        body = {**wanted, "scope": before["scope_back"], "target": "east", "kind": "restore"}
        assert olga.post("switches/", body).json()["errors"] == {"restores": ["Needed for this kind."]}
        answer = olga.post("switches/", {**body, "restores": finished.key})
        assert answer.status_code == 201, answer.content
        assert answer.json()["restores"] == finished.key
        assert olga.get(f"switches/{finished.key}/").json()["restored_by"] == [answer.json()["key"]]

    def test_a_plan_of_it_has_the_objections_of_a_request_for_it(
        self,
        program: Callable[..., Any],
        finished: Switch,
        wanted: dict[str, Any],
        plan: Plan,
        monkeypatch: Any,
    ) -> None:
        from hadash.api.views import switches
        from hadash.switching.recovery import restoring

        back = replace(plan, kind=Kind.RESTORE, source="west", target="east")
        monkeypatch.setattr(switches, "proposal_for", lambda *_: PlanProposal(back))
        olga = program("olga")
        scope = olga.get(f"switches/{finished.key}/").json()["scope_back"]
        asked = {
            "pair": wanted["pair"],
            "scope": scope,
            "target": "east",
            "kind": "restore",
            "restores": finished.key,
        }
        held = olga.post("plans/", asked).json()
        assert (held["checks"], held["blockers"]) == ("hold", [])

        monkeypatch.setattr(
            restoring, "bound_to", lambda pair, plan: {i: Binding("east") for i in plan.identities}
        )
        planned = olga.post("plans/", asked).json()
        requested = olga.post("switches/", {**wanted, **asked})
        assert requested.status_code == 409
        assert (planned["checks"], planned["blockers"]) == ("not made", requested.json()["reasons"])
        without = {name: value for name, value in asked.items() if name != "restores"}
        assert olga.post("plans/", without).json()["blockers"] == ["Say which switch it goes back from."]
        assert olga.post("plans/", {**asked, "kind": "planned"}).json()["errors"] == {
            "restores": ["Not for this kind."]
        }

    def test_of_another_kind_or_an_unknown_switch_it_is_refused(
        self, program: Callable[..., Any], finished: Switch, wanted: dict[str, Any]
    ) -> None:
        olga = program("olga")
        answer = olga.post("switches/", {**wanted, "restores": finished.key})
        assert answer.json()["errors"] == {"restores": ["Not for this kind."]}
        answer = olga.post("switches/", {**wanted, "kind": "restore", "restores": "nothing"})
        assert answer.status_code == 404


class TestMigration:
    @pytest.fixture
    def migrated(self, finished: Switch) -> Switch:
        from hadash.switching.retirement.services import switch_ended

        finished.kind, finished.retire_after_days = "migration", 9
        finished.save()
        switch_ended(finished)
        return finished

    def test_its_term_is_asked_for_and_shown(
        self, program: Callable[..., Any], planned: None, fleet: Any, wanted: dict[str, Any]
    ) -> None:
        olga = program("olga")
        body = {**wanted, "kind": "migration", "retire_after_days": 9}
        made = olga.post("switches/", body).json()
        assert (made["kind"], made["retire_after_days"], made["retirement"]) == ("migration", 9, None)
        for wrong in (0, 91):
            answer = olga.post("switches/", {**body, "retire_after_days": wrong})
            assert (answer.status_code, list(answer.json()["errors"])) == (400, ["retire_after_days"])
        answer = olga.post("switches/", {**wanted, "retire_after_days": 9})
        assert answer.json()["errors"] == {"retire_after_days": ["Not for this kind."]}

    def test_what_becomes_of_the_old_topics(self, program: Callable[..., Any], migrated: Switch) -> None:
        olga, key = program("olga"), migrated.key
        assert olga.get(f"switches/{key}/").json()["retirement"]["status"] == "waiting"
        postpone = olga.post(
            f"switches/{key}/postpone/", {"days": 5, "reason": "x"}, Idempotency_Key="a"
        ).json()
        again = olga.post(f"switches/{key}/postpone/", {"days": 5, "reason": "x"}, Idempotency_Key="a").json()
        assert postpone["retirement"]["postponed"] == again["retirement"]["postponed"] == 1
        assert olga.post(f"switches/{key}/retire/", {"confirm": "west"}).status_code == 409
        kept = olga.post(f"switches/{key}/keep/", {"reason": "The auditors want them"})
        assert kept.json()["retirement"]["status"] == "kept"
        assert kept.json()["retirement"]["decided_by"] == "olga"
        assert olga.post(f"switches/{key}/keep/", {"reason": "x"}).status_code == 409

    def test_removing_it_now(
        self,
        program: Callable[..., Any],
        migrated: Switch,
        monkeypatch: pytest.MonkeyPatch,
        django_capture_on_commit_callbacks: Any,
    ) -> None:

        handed: list[str] = []
        monkeypatch.setattr(handing_over, "start_removal", lambda held: handed.append(held.switch.key))
        with django_capture_on_commit_callbacks(execute=True):
            answer = program("olga").post(f"switches/{migrated.key}/retire/", {"confirm": "east"})
        assert answer.status_code == 202, "workers go on with it"
        assert answer.json()["retirement"]["status"] == "running"
        assert handed == [migrated.key]
