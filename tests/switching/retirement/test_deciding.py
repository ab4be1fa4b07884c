"""Migrations and what people decide about the old Topics: in PostgreSQL, without ZooKeeper and Kafka."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.inventory.models import Pair
from hadash.presentation import badges, selectors
from hadash.refusals import Refused
from hadash.switching import policy
from hadash.switching.execution import operations
from hadash.switching.machines.retirements import OPEN, Status
from hadash.switching.machines.switches import Event
from hadash.switching.machines.switches import Status as SwitchStatus
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.refusals import Busy
from hadash.switching.retirement import services

from ..test_approval import in_hours, log
from .parts import DAYS, end, make_due, of

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


class TestAsking:
    def test_who_asks_and_approves_reads_what_is_deleted_and_when(self, migrate: Any) -> None:
        assert log(migrate())[-1] == (
            "10 days after it has succeeded, these Topics and the mirror are deleted on east: carts, orders. "
            "Until then the clients can go back."
        )

    def test_the_approval_stands_with_the_term_in_the_audit_log(self, migrated: Switch) -> None:
        for verb in ("request", "approve"):
            assert Entry.objects.get(verb=verb).details["retire_after_days"] == DAYS

    def test_without_a_term_it_is_the_settings(self, migrate: Any, settings: Any) -> None:
        assert migrate(None).retire_after_days == settings.RETIREMENT_DAYS

    @pytest.mark.parametrize("days", [-1, 0, 91])
    def test_the_term_has_limits(self, migrate: Any, days: int) -> None:
        with pytest.raises(Refused, match="The old Topics stay for 1 to 90 days"):
            migrate(days)


class TestItsEnd:
    def test_a_success_gives_the_old_topics_a_day(self, migrated: Switch) -> None:
        held = of(migrated)
        assert held.current is Status.WAITING
        assert migrated.ended_at is not None
        assert held.due_at == migrated.ended_at + timedelta(days=DAYS)
        assert log(migrated)[-1].startswith("The old Topics on east are removed on ")

    @pytest.mark.parametrize("event", [Event.ROLL_BACK, Event.NEED_A_PERSON])
    def test_anything_else_does_not(self, migrate: Any, approve: Any, event: Event) -> None:
        end(approve("arne", migrate()), event)
        assert not Retirement.objects.exists()

    def test_nor_does_another_kind(self, ask: Any, approve: Any) -> None:
        end(approve("arne", ask()), Event.SUCCEED)
        assert not Retirement.objects.exists()

    def test_a_restore_that_succeeds_keeps_them(
        self, migrated: Switch, go_back: Any, people: dict[str, User]
    ) -> None:
        restore = go_back(migrated)
        assert of(migrated).current is Status.WAITING, "it may be declined yet"
        restore.status = SwitchStatus.RUNNING.value
        restore.save()
        end(restore, Event.SUCCEED)
        assert of(migrated).current is Status.KEPT
        assert log(migrated)[-1] == f"Switch {restore.key} went back: the old Topics stay."

    def test_a_restore_that_is_closed_does_too(
        self, migrated: Switch, go_back: Any, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        restore = go_back(migrated)
        restore.status, restore.stage = SwitchStatus.NEEDS_ATTENTION.value, "verify"
        restore.save()
        monkeypatch.setattr(operations, "_where_clients_are", lambda switch: ["east"])
        operations.close_as_it_is(people["olga"], restore, "One client was stopped")
        assert of(migrated).current is Status.KEPT

    def test_when_they_are_gone_there_is_nothing_to_go_back_to(self, migrated: Switch, go_back: Any) -> None:
        Retirement.objects.update(status=Status.DONE.value)
        with pytest.raises(Refused, match="there is nothing to go back to"):
            go_back(migrated)


class TestDeciding:
    def test_putting_off_moves_its_day_and_is_counted(
        self, migrated: Switch, people: dict[str, User]
    ) -> None:
        before = of(migrated).due_at
        for _ in range(2):
            services.postpone(people["olga"], migrated, 5, "The quarter ends")
        held = of(migrated)
        assert (held.due_at, held.postponed, held.decided_by) == (
            before + timedelta(days=10),
            2,
            people["olga"],
        )
        entry = Entry.objects.filter(verb="postpone").latest("number")
        assert (entry.details["days"], entry.details["reason"]) == (5, "The quarter ends")

    def test_one_that_is_overdue_is_put_off_from_now(self, migrated: Switch, people: dict[str, User]) -> None:
        make_due(migrated)
        held = services.postpone(people["olga"], migrated, 5, "x")
        assert held.due_at > timezone.now() + timedelta(days=4, hours=23)

    @pytest.mark.parametrize("days", [0, 91])
    def test_only_within_limits(self, migrated: Switch, people: dict[str, User], days: int) -> None:
        with pytest.raises(Refused, match="postponed by 1 to 90 days"):
            services.postpone(people["olga"], migrated, days, "x")

    def test_keeping_ends_it(self, migrated: Switch, people: dict[str, User], retire: Any) -> None:
        held = services.keep(people["olga"], migrated, "The auditors want them")
        assert held.current is Status.KEPT
        assert str(held.outcome_sentence) == "olga keeps the old Topics on east: The auditors want them"
        for action in (
            lambda: services.keep(people["olga"], migrated, "x"),
            lambda: services.postpone(people["olga"], migrated, 5, "x"),
            lambda: retire(migrated),
        ):
            with pytest.raises(Refused, match="is kept: that cannot be decided any more"):
                action()

    def test_a_reason_is_needed(self, migrated: Switch, people: dict[str, User]) -> None:
        with pytest.raises(Refused, match="Say why"):
            services.postpone(people["olga"], migrated, 5, " ")
        with pytest.raises(Refused, match="Say why"):
            services.keep(people["olga"], migrated, " ")
        assert of(migrated).current is Status.WAITING

    @pytest.mark.parametrize("typed", ["", "west", "East"])
    def test_removing_now_wants_the_old_clusters_name(
        self, migrated: Switch, retire: Any, typed: str
    ) -> None:
        with pytest.raises(Refused, match="Type east to confirm"):
            retire(migrated, typed=typed)

    def test_then_a_worker_gets_it(self, migrated: Switch, retire: Any, removals: list[int]) -> None:
        held = retire(migrated)
        assert (held.current, removals) == (Status.RUNNING, [held.token])

    def test_not_while_a_switch_holds_the_radius(self, migrated: Switch, retire: Any, go_back: Any) -> None:
        restore = go_back(migrated)
        with pytest.raises(Busy, match=f"Switch {restore.key} holds part of this radius"):
            retire(migrated)
        assert of(migrated).current is Status.WAITING

    def test_while_it_runs_no_switch_takes_the_radius(
        self, migrated: Switch, retire: Any, go_back: Any, removals: list[int]
    ) -> None:
        """Else clients would go back to Topics that are being deleted."""
        retire(migrated)
        with pytest.raises(Busy, match=f"old Topics of migration {migrated.key} are removed"):
            go_back(migrated)

    def test_not_in_a_blackout(
        self, migrated: Switch, retire: Any, pair: Pair, people: dict[str, User]
    ) -> None:
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        with pytest.raises(Refused, match="Year-end closing"):
            retire(migrated)

    @pytest.mark.parametrize("user", ["arne", "ada", "vera"])
    def test_only_operators(self, migrated: Switch, people: dict[str, User], retire: Any, user: str) -> None:
        for action in (
            lambda: services.postpone(people[user], migrated, 5, "x"),
            lambda: services.keep(people[user], migrated, "x"),
            lambda: retire(migrated, user=user),
        ):
            with pytest.raises(PermissionDenied):
                action()

    def test_of_a_switch_that_was_no_migration_there_is_nothing_to_decide(
        self, ask: Any, retire: Any
    ) -> None:
        with pytest.raises(Refused, match="No old Topics wait"):
            retire(ask())


class TestByItself:
    def test_not_before_its_day(self, migrated: Switch, begin_due: Any) -> None:
        assert begin_due() == 0
        make_due(migrated)
        assert begin_due() == 1
        assert of(migrated).current is Status.RUNNING
        assert begin_due() == 0

    def test_a_blackout_is_waited_for(
        self, migrated: Switch, begin_due: Any, pair: Pair, people: dict[str, User]
    ) -> None:
        make_due(migrated)
        blackout = policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        assert begin_due() == 0
        policy.end_blackout(people["ada"], blackout)
        assert begin_due() == 1

    def test_an_open_switch_fails_it_and_operators_hear_of_it(
        self, migrated: Switch, begin_due: Any, go_back: Any, people: dict[str, User]
    ) -> None:
        restore = go_back(migrated)
        make_due(migrated)
        assert begin_due() == 0
        assert of(migrated).current is Status.FAILED
        assert migrated in selectors.waiting_for(people["olga"])
        assert migrated not in selectors.waiting_for(people["arne"])
        assert badges.of_waiting(migrated).word == "old Topics not removed"
        restore.status = SwitchStatus.RUNNING.value
        restore.save()
        end(restore, Event.SUCCEED)
        assert of(migrated).current is Status.KEPT, "the clients went back"

    def test_one_whose_worker_is_lost_is_found(
        self, migrated: Switch, retire: Any, pair: Pair, people: dict[str, User]
    ) -> None:
        held = retire(migrated)
        assert services.orphans() == []
        Retirement.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert services.orphans() == [held]
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        assert services.orphans() == [], "not in a blackout"

    def test_only_one_worker_gets_it(self, migrated: Switch, retire: Any) -> None:
        held = retire(migrated)
        assert services.take(held.pk, held.token) is not None
        assert services.take(held.pk, held.token) is None


def test_pages_show_what_is_open(migrated: Switch, people: dict[str, User]) -> None:
    assert selectors.retirements(people["vera"]) == [of(migrated)]
    services.keep(people["olga"], migrated, "x")
    assert of(migrated).current not in OPEN
    assert selectors.retirements(people["vera"]) == []
