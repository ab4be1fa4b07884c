"""Who has to agree to a switch, and when it may start: in PostgreSQL, without ZooKeeper and Kafka."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.audit.models import Entry
from hadash.inventory.models import Cluster, Pair
from hadash.refusals import Refused
from hadash.switching import checking, policy, requests
from hadash.switching.approvals import decisions, windows
from hadash.switching.approvals.decisions import SWITCHES
from hadash.switching.execution import stage_audit
from hadash.switching.machines.switches import Status
from hadash.switching.models.policies import Blackout, Policy
from hadash.switching.models.switches import StageRecord, Switch
from hadash.switching.plan import Plan

from .waiting import nobody_starts
from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

Window = tuple[Any, Any]


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would move is what was asked for, and nothing blocks it."""
    for module in (requests, decisions):
        monkeypatch.setattr(module, "plan_for", lambda *_: WHOLE)
    monkeypatch.setattr(checking, "check_now", lambda plan: None)


@pytest.fixture
def pair(db: None) -> Pair:
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    return Pair.objects.create(name="main", first=east, second=west, default=east)


@pytest.fixture
def people(db: None) -> dict[str, User]:
    ensure_roles()
    roles = {
        "olga": "operator",
        "arne": "approver",
        "bea": "approver",
        "ada": "administrator",
        "rita": "rescuer",
        "vera": "viewer",
    }
    people = {name: ensure_user(name, "secret-123", role) for name, role in roles.items()}
    both = ensure_user("otto", "secret-123", "operator")
    both.groups.add(people["arne"].groups.get())
    return {**people, "otto": both}


@pytest.fixture
def started(django_capture_on_commit_callbacks: Any) -> list[str]:
    """The keys of the switches that were handed to a worker."""
    return []


@pytest.fixture
def ask(pair: Pair, people: dict[str, User]) -> Callable[..., Switch]:
    def make(user: str = "olga", window: Window | None = None) -> Switch:
        return requests.submit(
            requests.SwitchRequest(people[user], pair, WHOLE.scope, pair.second, "Upgrade"),
            nobody_starts,
            window,
        )

    return make


@pytest.fixture
def approve(
    people: dict[str, User], started: list[str], django_capture_on_commit_callbacks: Any
) -> Callable[..., Switch]:
    def action(user: str, switch: Switch, plan: Plan = WHOLE) -> Switch:
        with django_capture_on_commit_callbacks(execute=True):
            return decisions.approve(people[user], switch, plan.digest, lambda s: started.append(s.key))

    return action


def in_hours(begin: float, end: float) -> Window:
    now = timezone.now()
    return now + timedelta(hours=begin), now + timedelta(hours=end)


def log(switch: Switch) -> list[str]:
    return [str(event) for event in switch.events.all()]


class TestApprovals:
    def test_one_is_enough_where_nobody_said_otherwise(
        self, ask: Any, approve: Any, started: list[str]
    ) -> None:
        switch = ask()
        assert approve("arne", switch).current is Status.RUNNING
        assert started == [switch.key]

    def test_as_many_as_the_policy_wants(
        self, pair: Pair, people: dict[str, User], ask: Any, approve: Any, started: list[str]
    ) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2})
        switch = ask()
        assert approve("arne", switch).current is Status.AWAITING_APPROVAL
        assert started == []
        assert log(switch)[-2:] == ["arne approved it.", "It needs 1 more."]
        assert approve("bea", switch).current is Status.RUNNING
        assert started == [switch.key]

    def test_who_may_not_decide_any_more_does_not_count(
        self, pair: Pair, people: dict[str, User], ask: Any, approve: Any, started: list[str]
    ) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2})
        switch = ask()
        approve("arne", switch)
        people["arne"].groups.clear()
        assert approve("bea", switch).current is Status.AWAITING_APPROVAL
        assert started == []
        assert log(switch)[-1] == "It needs 1 more."

    def test_nobody_counts_twice(self, pair: Pair, people: dict[str, User], ask: Any, approve: Any) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2})
        switch = ask()
        approve("arne", switch)
        with pytest.raises(
            Refused, match=r"You have approved it already; somebody else has to, too \(1 missing\)"
        ):
            approve("arne", switch)
        assert switch.approvals.count() == 1

    def test_nobody_approves_his_own_though_he_may_approve_others(self, ask: Any, approve: Any) -> None:
        with pytest.raises(PermissionDenied, match="somebody else has to decide on it"):
            approve("otto", ask("otto"))

    def test_nor_as_the_second_of_two(
        self, pair: Pair, people: dict[str, User], ask: Any, approve: Any
    ) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2})
        switch = ask("otto")
        approve("arne", switch)
        with pytest.raises(PermissionDenied):
            approve("otto", switch)

    def test_a_policy_that_changes_does_not_change_what_was_requested_before(
        self, pair: Pair, people: dict[str, User], ask: Any, approve: Any
    ) -> None:
        switch = ask()
        policy.set_policy(people["ada"], pair, {"approvals": 3})
        assert approve("arne", switch).current is Status.RUNNING

    def test_one_no_is_enough(self, pair: Pair, people: dict[str, User], ask: Any, approve: Any) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2})
        switch = ask()
        approve("arne", switch)
        assert decisions.decline(people["bea"], switch, "Not today.").current is Status.DECLINED

    def test_an_approval_is_of_one_plan(self, ask: Any, approve: Any) -> None:
        from dataclasses import replace

        with pytest.raises(Refused, match="The plan has changed since you saw it"):
            approve("arne", ask(), replace(WHOLE, topics=("carts",)))

    def test_each_stands_in_the_audit_log(
        self, pair: Pair, people: dict[str, User], ask: Any, approve: Any
    ) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2})
        switch = ask()
        approve("arne", switch)
        approve("bea", switch)
        found = Entry.objects.filter(verb="approve").order_by("number")
        assert [(e.actor_name, e.details["approvals_missing"]) for e in found] == [("arne", 1), ("bea", 0)]


class TestWindow:
    def test_it_waits_for_its_window(self, ask: Any, approve: Any, started: list[str]) -> None:
        switch = approve("arne", ask(window=in_hours(1, 2)))
        assert switch.current is Status.APPROVED
        assert started == []
        assert log(switch)[-1].startswith("It starts at 2")

    def test_it_starts_when_its_window_comes(
        self, ask: Any, approve: Any, started: list[str], django_capture_on_commit_callbacks: Any
    ) -> None:
        switch = approve("arne", ask(window=in_hours(1, 2)))
        assert SWITCHES.begin_due(lambda s: started.append(s.key)) == 0
        Switch.objects.update(start_at=timezone.now() - timedelta(minutes=1))
        with django_capture_on_commit_callbacks(execute=True):
            assert SWITCHES.begin_due(lambda s: started.append(s.key)) == 1
        assert started == [switch.key]
        switch.refresh_from_db()
        assert (switch.current, switch.stage) == (Status.RUNNING, "precheck")
        assert SWITCHES.begin_due(lambda s: started.append(s.key)) == 0

    def test_approved_within_its_window_it_starts_at_once(
        self, ask: Any, approve: Any, started: list[str]
    ) -> None:
        switch = approve("arne", ask(window=in_hours(-1, 1)))
        assert (switch.current, started) == (Status.RUNNING, [switch.key])

    def test_one_that_was_missed_is_dropped(self, ask: Any, approve: Any, started: list[str]) -> None:
        """A beat that was down over the night does not run it in the morning."""
        switch = approve("arne", ask(window=in_hours(1, 2)))
        begin, end = in_hours(-3, -1)
        Switch.objects.update(start_at=begin, start_until=end)
        assert SWITCHES.begin_due(lambda s: started.append(s.key)) == 0
        switch.refresh_from_db()
        assert (switch.current, started) == (Status.EXPIRED, [])
        assert log(switch)[-1] == "Its window has passed, and it was not started: it is dropped."
        assert not switch.open

    def test_a_request_expires_with_its_window(self, ask: Any) -> None:
        window = in_hours(30, 48)
        assert ask(window=window).expires_at == window[1]

    def test_it_can_be_cancelled_until_it_starts(
        self, people: dict[str, User], ask: Any, approve: Any
    ) -> None:
        switch = approve("arne", ask(window=in_hours(1, 2)))
        assert decisions.cancel(people["olga"], switch, "not today").current is Status.CANCELLED

    @pytest.mark.parametrize(
        ("window", "why"),
        [
            ((2, 1), "The end of the window has to be after its beginning."),
            ((-3, -1), "The window is over already."),
            ((24 * 400, 24 * 401), "That is more than a year ahead"),
        ],
    )
    def test_a_window_in_which_nothing_can_start_is_refused(self, ask: Any, window: Window, why: str) -> None:
        with pytest.raises(Refused, match=why):
            ask(window=in_hours(*window))
        assert not Switch.objects.exists()


class TestBlackout:
    @pytest.fixture
    def blackout(self, pair: Pair, people: dict[str, User]) -> Blackout:
        return policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")

    def test_nothing_starts(self, ask: Any, approve: Any, blackout: Blackout, started: list[str]) -> None:
        switch = ask()
        with pytest.raises(Refused, match=r"Nothing of pair main may start before .* UTC: Year-end closing"):
            approve("arne", switch)
        switch.refresh_from_db()
        assert (switch.current, switch.approvals.count(), started) == (Status.AWAITING_APPROVAL, 0, [])

    def test_what_is_due_waits_for_its_end_and_says_so_once(
        self, people: dict[str, User], ask: Any, approve: Any, blackout: Blackout, started: list[str]
    ) -> None:
        switch = approve("arne", ask(window=in_hours(0.01, 2)))
        Switch.objects.update(start_at=timezone.now())
        for _ in range(3):
            assert SWITCHES.begin_due(lambda s: started.append(s.key)) == 0
        assert sum("Year-end closing" in line for line in log(switch)) == 1
        policy.end_blackout(people["ada"], blackout)
        assert SWITCHES.begin_due(lambda s: started.append(s.key)) == 1

    def test_one_of_another_pair_does_not_matter(
        self, people: dict[str, User], ask: Any, approve: Any, pair: Pair
    ) -> None:
        north, south = (Cluster.objects.create(name=n, number=i) for i, n in ((3, "north"), (4, "south")))
        other = Pair.objects.create(name="other", first=north, second=south, default=north)
        policy.add_blackout(people["ada"], other, *in_hours(-1, 1), "Theirs")
        assert approve("arne", ask()).current is Status.RUNNING

    @pytest.mark.parametrize(
        ("times", "reason", "why"),
        [
            ((1, 2), " ", "Say why nothing may start then"),
            ((2, 1), "x", "The end has to be after the beginning."),
            ((-2, -1), "x", "This time is over already."),
            ((24 * 400, 24 * 401), "x", "more than a year ahead"),
        ],
    )
    def test_one_that_makes_no_sense_is_refused(
        self, pair: Pair, people: dict[str, User], times: Window, reason: str, why: str
    ) -> None:
        with pytest.raises(Refused, match=why):
            policy.add_blackout(people["ada"], pair, *in_hours(*times), reason)
        assert not Blackout.objects.exists()


class TestBeginning:
    """Between "it runs" and its first stage there may be hours: no worker, no ZooKeeper."""

    def test_it_may_begin_at_once(self, ask: Any, approve: Any) -> None:
        assert windows.may_begin(approve("arne", ask())) is None

    def test_not_after_its_window(self, ask: Any, approve: Any) -> None:
        switch = approve("arne", ask(window=in_hours(-1, 1)))
        switch.start_until = timezone.now() - timedelta(seconds=1)
        assert str(windows.may_begin(switch)) == "Its window has passed before it could begin."

    def test_not_in_a_blackout(self, pair: Pair, people: dict[str, User], ask: Any, approve: Any) -> None:
        switch = approve("arne", ask())
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        assert "Year-end closing" in str(windows.may_begin(switch))

    def test_not_long_after_it_was_let_run(self, ask: Any, approve: Any) -> None:
        switch = approve("arne", ask())
        switch.started_at = timezone.now() - timedelta(minutes=11)
        assert str(windows.may_begin(switch)).startswith("It could not begin within 600 s")

    def test_approved_in_its_window_and_a_blackout_it_waits_for_its_end(
        self, pair: Pair, people: dict[str, User], ask: Any, approve: Any, started: list[str]
    ) -> None:
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        switch = approve("arne", ask(window=in_hours(-1, 2)))
        assert (switch.current, started) == (Status.APPROVED, [])


class TestStagesInTheAuditLog:
    @pytest.fixture
    def switch(self, ask: Any, approve: Any) -> Switch:
        switch = approve("arne", ask())
        for stage, result in (("precheck", "done"), ("quiesce", "failed"), ("return", "running")):
            StageRecord.objects.create(
                switch=switch,
                stage=stage,
                token=1,
                result=result,
                started_at=timezone.now(),
                ended_at=None if result == "running" else timezone.now(),
                effects=[{"effect": "CopyAcls", "answer": 2}],
            )
        return switch

    def entries(self) -> list[tuple[str, str]]:
        return [
            (e.verb, e.details["stage"])
            for e in Entry.objects.filter(verb__startswith="stage").order_by("number")
        ]

    def test_each_that_has_ended_once(self, switch: Switch) -> None:
        for _ in range(2):
            stage_audit.record_stages(switch)
        assert self.entries() == [("stage done", "precheck"), ("stage failed", "quiesce")]
        details = Entry.objects.get(verb="stage done").details
        assert details["effects"] == [{"effect": "CopyAcls", "answer": 2}]
        assert (details["plan_digest"], details["approved_by"]) == (switch.plan_digest, ["arne"])

    def test_also_when_the_worker_was_lost_before_it_could(self, switch: Switch) -> None:
        stage_audit.record_forgotten_stages()
        assert self.entries() == []  # its worker may still be about to
        StageRecord.objects.exclude(ended_at=None).update(ended_at=timezone.now() - timedelta(hours=1))
        stage_audit.record_forgotten_stages()
        assert self.entries() == [("stage done", "precheck"), ("stage failed", "quiesce")]


class TestPolicy:
    def test_what_is_left_open_is_as_in_the_settings(self, pair: Pair) -> None:
        found = policy.limits_of(pair)
        assert (found.block, found.drain, found.max_lag) == (10, 10, 5000)

    def test_its_limits_hold_for_the_switches_of_its_pair(self, pair: Pair, people: dict[str, User]) -> None:
        policy.set_policy(
            people["ada"], pair, {"block_seconds": 3.5, "max_lag": 0, "verify_hold_seconds": 60.0}
        )
        found = policy.limits_of(pair)
        assert (found.block, found.max_lag, found.verify_hold, found.drain) == (3.5, 0, 60.0, 10)

    def test_who_changed_what_stands_in_the_audit_log(self, pair: Pair, people: dict[str, User]) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2}, "10.0.0.1")
        (entry,) = Entry.objects.all()
        assert (entry.actor_name, entry.verb, entry.subject, entry.address) == (
            "ada",
            "policy",
            "pair main",
            "10.0.0.1",
        )
        assert (entry.details["before"]["approvals"], entry.details["after"]["approvals"]) == (1, 2)

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({"approvals": 0}, "Approvals"),
            ({"approvals": 6}, "Approvals"),
            ({"block_seconds": 0.0}, "Block in effect within"),
            ({"block_seconds": 25.0}, "Block in effect within"),
            ({"verify_seconds": float("nan")}, "Verify at most"),
        ],
    )
    def test_what_is_out_of_bounds_is_refused_and_nothing_changes(
        self, pair: Pair, people: dict[str, User], values: dict[str, Any], field: str
    ) -> None:
        with pytest.raises(Refused, match=field):
            policy.set_policy(people["ada"], pair, {"max_lag": 7, **values})
        assert not Policy.objects.exists()

    @pytest.mark.parametrize("user", ["olga", "arne", "vera"])
    def test_only_administrators_change_it(self, pair: Pair, people: dict[str, User], user: str) -> None:
        with pytest.raises(PermissionDenied, match="You may not change the rules of a pair"):
            policy.set_policy(people[user], pair, {"approvals": 2})
        with pytest.raises(PermissionDenied):
            policy.add_blackout(people[user], pair, *in_hours(1, 2), "x")

    def test_an_administrator_neither_requests_nor_approves(self, ask: Any, approve: Any) -> None:
        with pytest.raises(PermissionDenied):
            ask("ada")
        with pytest.raises(PermissionDenied):
            approve("ada", ask())


class TestComments:
    def test_a_comment_stands_in_the_log_under_its_authors_name(
        self, people: dict[str, User], ask: Any
    ) -> None:
        switch = ask()
        decisions.comment(people["arne"], switch, "  为什么是今天？ ")
        assert log(switch)[-1] == "“为什么是今天？”"
        assert switch.events.last().actor == people["arne"]
        assert Entry.objects.get(verb="comment").details == {"text": "为什么是今天？"}

    @pytest.mark.parametrize(
        ("text", "why"),
        [(" \n ", "Type what you want to say."), ("x" * 2001, "2001 characters; at most 2000 fit")],
    )
    def test_nothing_and_too_much_are_refused(
        self, people: dict[str, User], ask: Any, text: str, why: str
    ) -> None:
        switch = ask()
        before = log(switch)
        with pytest.raises(Refused, match=why):
            decisions.comment(people["arne"], switch, text)
        assert log(switch) == before

    def test_viewers_only_look(self, people: dict[str, User], ask: Any) -> None:
        with pytest.raises(PermissionDenied, match="You may not comment on switches"):
            decisions.comment(people["vera"], ask(), "Hello")
