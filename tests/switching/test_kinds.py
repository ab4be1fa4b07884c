"""Rehearsals, emergencies, and switches that are paused: in PostgreSQL, without ZooKeeper and Kafka."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.inventory.models import Pair
from hadash.presentation import selectors
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching import policy, requests
from hadash.switching.approvals import decisions, windows
from hadash.switching.approvals.decisions import SWITCHES
from hadash.switching.execution import operations
from hadash.switching.execution.executor import Attempt, _Execution
from hadash.switching.machines.switches import Kind, Stage, Status
from hadash.switching.models.batches import Batch, BatchItem
from hadash.switching.models.switches import StageRecord, Switch

from .test_approval import approve, ask, in_hours, log, pair, people, planned, started
from .waiting import nobody_starts
from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def asked(pair: Pair, people: dict[str, User]) -> Callable[..., requests.SwitchRequest]:
    """What somebody asks for: everything of ``shop`` to ``west``."""

    def make(user: str, kind: Kind = Kind.PLANNED) -> requests.SwitchRequest:
        reason = "The old cluster burns"
        return requests.SwitchRequest(people[user], pair, WHOLE.scope, pair.second, reason, kind=kind)

    return make


@pytest.fixture
def at_once(started: list[str], django_capture_on_commit_callbacks: Any) -> Callable[..., Switch]:
    """Ask for what runs at once."""

    def action(asked: requests.SwitchRequest, confirmed: str = "") -> Switch:
        with django_capture_on_commit_callbacks(execute=True):
            return requests.submit(asked, lambda s: started.append(s.key), confirmed=confirmed)

    return action


def ended(switch: Switch, status: Status = Status.SUCCEEDED) -> Switch:
    switch.status, switch.ended_at = status.value, timezone.now()
    switch.save()
    return switch


class TestRehearsal:
    def test_it_runs_at_once_and_nobody_approves_it(
        self, asked: Any, at_once: Any, started: list[str]
    ) -> None:
        switch = at_once(asked("olga", Kind.REHEARSAL))
        assert (switch.the_kind, switch.current, started) == (Kind.REHEARSAL, Status.RUNNING, [switch.key])
        assert Entry.objects.get(verb="request").details["kind"] == "rehearsal"

    def test_also_in_a_blackout(self, asked: Any, at_once: Any, pair: Pair, people: Any) -> None:
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        assert windows.may_begin(at_once(asked("olga", Kind.REHEARSAL))) is None

    def test_not_while_another_switch_holds_it(self, ask: Any, asked: Any, at_once: Any) -> None:
        ask()
        with pytest.raises(Refused, match="holds part of this radius"):
            at_once(asked("olga", Kind.REHEARSAL))

    def test_not_by_everybody(self, asked: Any, at_once: Any) -> None:
        with pytest.raises(PermissionDenied):
            at_once(asked("vera", Kind.REHEARSAL))


class TestEmergency:
    def test_it_runs_at_once_and_is_reviewed_by_somebody_else(
        self, asked: Any, at_once: Any, started: list[str], people: dict[str, User], pair: Pair
    ) -> None:
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        switch = at_once(asked("otto", Kind.EMERGENCY), "west")
        assert (switch.the_kind, switch.current, started) == (Kind.EMERGENCY, Status.RUNNING, [switch.key])
        assert windows.may_begin(switch) is None
        assert not switch.to_be_reviewed, "it runs"
        ended(switch)
        assert list(selectors.waiting_for(people["arne"])) == [switch]
        assert list(selectors.waiting_for(people["otto"])) == [], (
            "nobody reviews their own, whatever else they may"
        )
        with pytest.raises(PermissionDenied):
            decisions.review(people["otto"], switch, "All fine")
        with pytest.raises(Refused, match="Say what you found"):
            decisions.review(people["arne"], switch, " ")
        reviewed = decisions.review(people["arne"], switch, "It was right to do so")
        assert (reviewed.reviewed_by, reviewed.to_be_reviewed) == (people["arne"], False)
        assert list(selectors.waiting_for(people["arne"])) == []
        with pytest.raises(Refused, match="not to be reviewed"):
            decisions.review(people["bea"], switch, "Me too")
        assert Entry.objects.filter(verb="review").count() == 1

    def test_two_accounts_in_one_browser_are_not_two_people(
        self, asked: Any, at_once: Any, people: dict[str, User]
    ) -> None:
        switch = at_once(asked("otto", Kind.EMERGENCY), "west")
        ended(switch)
        Switch.objects.filter(pk=switch.pk).update(requested_in="a")
        with pytest.raises(Refused, match="with another account"):
            decisions.review(people["arne"], switch, "All fine", browser="a")
        assert decisions.review(people["arne"], switch, "All fine", browser="b").reviewed_by == people["arne"]

    @pytest.mark.parametrize("typed", ["", "east", "West "])
    def test_it_wants_the_target_once_more(self, asked: Any, at_once: Any, typed: str) -> None:
        with pytest.raises(Refused, match="Type west to confirm"):
            at_once(asked("olga", Kind.EMERGENCY), typed)
        assert not Switch.objects.exists()

    @pytest.mark.parametrize("user", ["arne", "ada", "vera"])
    def test_only_operators(self, asked: Any, at_once: Any, user: str) -> None:
        with pytest.raises(PermissionDenied):
            at_once(asked(user, Kind.EMERGENCY), "west")

    def test_what_ran_with_an_approval_is_not_reviewed(self, ask: Any, approve: Any, people: Any) -> None:
        switch = ended(approve("arne", ask()))
        with pytest.raises(Refused, match="not to be reviewed"):
            decisions.review(people["bea"], switch, "x")


class TestReadSplit:
    def test_somebody_else_has_to_approve_it(self, asked: Any, approve: Any, started: list[str]) -> None:
        switch = requests.submit(asked("olga", Kind.READ_SPLIT), nobody_starts)
        assert (switch.the_kind, switch.current, started) == (Kind.READ_SPLIT, Status.AWAITING_APPROVAL, [])
        assert approve("arne", switch).current is Status.RUNNING
        assert started == [switch.key]
        assert not ended(switch).to_be_reviewed

    def test_it_begins_in_no_blackout(self, asked: Any, approve: Any, pair: Pair, people: Any) -> None:
        switch = approve("arne", requests.submit(asked("olga", Kind.READ_SPLIT), nobody_starts))
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        assert "Year-end closing" in str(windows.may_begin(switch))

    def test_it_can_be_paused(self, asked: Any, approve: Any) -> None:
        switch = approve(
            "arne", requests.submit(asked("olga", Kind.READ_SPLIT), nobody_starts, pause_after_precheck=True)
        )
        assert finish_precheck(switch).current is Status.PAUSED

    def test_the_next_stage_is_one_of_its_own_way(self, asked: Any, approve: Any) -> None:
        switch = approve("arne", requests.submit(asked("olga", Kind.READ_SPLIT), nobody_starts))
        assert finish_precheck(switch).stage == "quiesce"
        execution = _Execution(switch, switch.token)
        assert execution._following(switch, succeeded=True) == (Stage.BLOCK, True)
        execution.stage = Stage.BLOCK
        assert execution._following(switch, succeeded=True) == (Stage.CATCH_UP, True), "readers wait: at once"


class TestGo:
    @pytest.fixture
    def paused(self, asked: Any, approve: Any, started: list[str]) -> Switch:
        """A switch whose checks hold, and that is paused."""
        made = requests.submit(asked("olga"), nobody_starts, pause_after_precheck=True)
        switch = approve("arne", made)
        started.clear()
        return finish_precheck(switch)

    @pytest.mark.parametrize("when", ["before it begins", "while it checks"])
    def test_somebody_can_ask_for_it_until_clients_wait(
        self, asked: Any, approve: Any, people: dict[str, User], when: str
    ) -> None:
        switch = approve("arne", requests.submit(asked("olga"), nobody_starts))
        if when == "before it begins":
            Switch.objects.filter(pk=switch.pk).update(status=Status.APPROVED.value)
            switch.refresh_from_db()
        assert operations.may_pause(people["arne"], switch) and not operations.may_pause(
            people["vera"], switch
        )
        with pytest.raises(PermissionDenied):
            operations.pause(people["vera"], switch)
        operations.pause(people["arne"], switch)
        operations.pause(people["arne"], switch)  # (a second press)
        assert Entry.objects.filter(verb="pause").count() == 1
        Switch.objects.filter(pk=switch.pk).update(status=Status.RUNNING.value)
        switch.refresh_from_db()
        assert finish_precheck(switch).current is Status.PAUSED

    def test_not_while_clients_wait(self, asked: Any, approve: Any, people: dict[str, User]) -> None:
        switch = approve("arne", requests.submit(asked("olga"), nobody_starts))
        for stage, why in (
            (Stage.QUIESCE, "Abort it to return them"),
            (Stage.VERIFY, "only one that has not moved"),
        ):
            Switch.objects.filter(pk=switch.pk).update(stage=stage.value)
            switch.refresh_from_db()
            assert not operations.may_pause(people["arne"], switch)
            with pytest.raises(Refused, match=why):
                operations.pause(people["arne"], switch)

    def test_one_that_was_resumed_can_be_asked_again(self, paused: Switch, people: dict[str, User]) -> None:
        operations.resume(people["olga"], paused, nobody_starts)
        paused.refresh_from_db()
        resumed_at = paused.resumed_at
        operations.pause(people["olga"], paused)
        paused.refresh_from_db()
        assert paused.pause_after_precheck
        assert paused.resumed_at == resumed_at, (
            "since when it was let run is what decides whether it may begin"
        )

    def test_one_of_a_batch_is_stopped_with_it(
        self, asked: Any, approve: Any, people: dict[str, User], pair: Pair
    ) -> None:
        switch = approve("arne", requests.submit(asked("olga"), nobody_starts))
        batch = Batch.objects.create(
            key="b1", pair=pair, target=switch.target, requested_by=people["olga"],
            expires_at=timezone.now(), source=switch.source, parallelism=1,
        )  # fmt: skip
        BatchItem.objects.create(
            batch=batch,
            wave=1,
            position=1,
            asked=switch.asked,
            plan=switch.plan,
            plan_digest="",
            switch=switch,
        )
        with pytest.raises(Refused, match="Stop the batch"):
            operations.pause(people["arne"], Switch.objects.get(pk=switch.pk))

    def test_it_waits_when_all_checks_hold(self, paused: Switch, people: Any) -> None:
        assert paused.current is Status.PAUSED
        assert "All is ready. It is paused: somebody has to resume it until" in log(paused)[-1]
        assert list(selectors.waiting_for(people["olga"])) == [paused]

    def test_it_goes_on_with_its_checks(
        self, paused: Switch, people: Any, started: list[str], django_capture_on_commit_callbacks: Any
    ) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            held = operations.resume(people["olga"], paused, lambda s: started.append(s.key))
        assert (held.current, held.stage, started) == (Status.RUNNING, "precheck", [held.key])
        assert finish_precheck(held).stage == "quiesce", "it does not ask twice"

    def test_it_can_be_cancelled(self, paused: Switch, people: Any) -> None:
        held = decisions.cancel(people["olga"], paused, "Not today.")
        assert held.current is Status.CANCELLED
        assert str(held.outcome_sentence) == (
            "olga cancelled it: Not today. No client was moved; ACLs and quotas that its precheck copied stay."
        )

    def test_it_is_dropped_when_nobody_resumes_it(self, paused: Switch, settings: Any) -> None:
        assert SWITCHES.drop_paused() == 0
        settings.SWITCH_RESUME_SECONDS = -1
        assert SWITCHES.drop_paused() == 1
        paused.refresh_from_db()
        assert paused.current is Status.EXPIRED

    def test_a_go_that_comes_too_late_is_refused_also_when_nothing_has_dropped_it(
        self, paused: Switch, people: Any, settings: Any
    ) -> None:
        settings.SWITCH_RESUME_SECONDS = -1
        with pytest.raises(Refused, match="for as long as it may"):
            operations.resume(people["olga"], paused, lambda s: None)
        paused.refresh_from_db()
        assert paused.current is Status.PAUSED

    def test_only_what_waits_goes_on(self, ask: Any, people: Any) -> None:
        with pytest.raises(Refused, match="cannot be changed that way"):
            operations.resume(people["olga"], ask(), lambda s: None)

    def test_not_by_everybody(self, paused: Switch, people: Any) -> None:
        with pytest.raises(PermissionDenied):
            operations.resume(people["vera"], paused, lambda s: None)


def finish_precheck(switch: Switch) -> Switch:
    """The executor has carried the precheck out, and it went well."""
    execution = _Execution(switch, switch.token)
    execution.stage = Stage.PRECHECK
    execution.record = StageRecord.objects.create(
        switch=switch, stage="precheck", token=switch.token, started_at=timezone.now() - timedelta(seconds=1)
    )
    execution._finish(Attempt(True, say("All checks hold.")))
    switch.refresh_from_db()
    return switch


def test_a_forced_switch_is_never_paused(asked: Any) -> None:
    """Its source is lost, and others have agreed: what a form still says of a pause does not count."""
    made = requests.submit(
        asked("rita", Kind.FORCED), nobody_starts, confirmed="east", pause_after_precheck=True
    )
    assert not made.pause_after_precheck
