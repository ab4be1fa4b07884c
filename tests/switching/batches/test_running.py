"""A batch that runs: what starts, what is held up, what stops it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from hadash.identity.identity import Identity
from hadash.inventory.models import Pair
from hadash.radius.nodes import AccessEdge
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching import policy
from hadash.switching.batches import carrying, operations
from hadash.switching.machines.batches import Status
from hadash.switching.models.batches import Batch
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.policies import Blackout
from hadash.switching.models.switches import Switch
from hadash.switching.refusals import EnginesAway

from .parts import World, log, nobody_wakes, shown

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


class TestRunning:
    def test_wave_after_wave_and_no_more_at_once_than_said(
        self, ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        batch = approve(ask(wave_size=3))
        assert [str(switch.scope) for switch in started] == ["ant", "bee"]
        end(started[0])
        advance(batch)
        assert [str(switch.scope) for switch in started] == ["ant", "bee", "cat"]
        end(started[1])
        advance(batch)
        assert len(started) == 3, "the second wave waits for the last one of the first"
        end(started[2])
        advance(batch)
        assert [str(switch.scope) for switch in started[3:]] == ["dog", "eel"]
        for switch in started[3:]:
            end(switch)
        assert advance(batch).current is Status.FINISHED
        assert str(batch.events.last()) == "All of it has moved (5 in all)."

    def test_each_switch_is_approved_by_those_who_approved_the_batch(
        self, pair: Pair, people: dict[str, User], ask: Any, approve: Any, started: list[Switch]
    ) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2})
        batch = ask()
        approve(batch)
        approve(batch, "bea")
        switch = Switch.objects.get(pk=started[0].pk)
        assert sorted(a.user.username for a in switch.approvals.all()) == ["arne", "bea"]
        assert (switch.requested_by, switch.decided_by) == (people["olga"], people["bea"])
        assert switch.batch_item.batch == batch

    def test_told_twice_or_by_two_workers_nothing_is_started_twice(
        self, ask: Any, approve: Any, advance: Any, started: list[Switch]
    ) -> None:
        batch = approve(ask())
        for _ in range(3):
            advance(batch)
        assert len(started) == 2

    def test_the_first_failure_stops_it_and_the_others_end(
        self, ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        batch = approve(ask(wave_size=3))
        end(started[0], "rolled_back")
        assert advance(batch).current is Status.STOPPED
        assert str(batch.events.last()) == (
            "Stopped: ant (wave 1) failed. Nothing new starts until somebody decides how to continue."
        )
        end(started[1])
        advance(batch)
        assert [status for _, _, status in shown(batch)] == [
            "failed",
            "done",
            "waiting",
            "waiting",
            "waiting",
        ]
        assert len(started) == 2

    def test_what_would_move_otherwise_than_approved_is_not_moved(
        self, world: World, ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        batch = approve(ask(wave_size=1))
        world.uses.append(AccessEdge("bee", "bee-1", "produce", "more"))
        end(started[0])
        assert advance(batch).current is Status.STOPPED
        assert shown(batch)[1] == (2, "bee", "failed")
        assert "has changed since the batch was approved" in str(batch.events.all()[4])
        assert len(started) == 1

    def test_an_unexpected_error_stops_it_with_what_it_says(
        self, ask: Any, approve: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any) -> None:
            raise ZeroDivisionError("a bug")

        monkeypatch.setattr(carrying, "plan_for", broken)
        batch = approve(ask())
        assert batch.current is Status.STOPPED
        assert "Unexpected error (ZeroDivisionError): a bug" in log(batch)

    def test_in_a_blackout_nothing_new_starts_and_afterwards_it_goes_on(
        self, pair: Pair, ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        batch = approve(ask(wave_size=1))
        now = timezone.now()
        blackout = Blackout.objects.create(
            pair=pair, begins=now, ends=now + timedelta(hours=1), reason="Year's end"
        )
        end(started[0])
        assert advance(advance(batch)).current is Status.RUNNING
        assert len(started) == 1
        assert sum("Year's end" in line for line in log(batch)) == 1
        blackout.delete()
        advance(batch)
        assert len(started) == 2

    def test_it_stops_when_its_window_has_passed(
        self, people: dict[str, User], ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        now = timezone.now()
        batch = approve(ask(wave_size=1, window=(now - timedelta(hours=1), now + timedelta(hours=1))))
        Batch.objects.update(start_until=now - timedelta(seconds=1))
        end(started[0])
        assert advance(batch).current is Status.STOPPED
        assert "its window has passed" in str(batch.events.last())
        with pytest.raises(Refused, match="others approved it for then"):
            operations.resume(people["olga"], batch, nobody_wakes, without=False)
        assert len(started) == 1

    def test_its_switches_do_not_begin_after_its_window(
        self, ask: Any, approve: Any, started: list[Switch]
    ) -> None:
        now = timezone.now()
        until = now + timedelta(hours=1)
        approve(ask(wave_size=1, window=(now - timedelta(hours=1), until)))
        assert [switch.start_until for switch in started] == [until]

    def test_what_no_worker_has_looked_at_for_long_is_not_run_late(
        self, ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        batch = approve(ask(wave_size=1))
        end(started[0])
        Batch.objects.update(looked_at=timezone.now() - timedelta(hours=1))
        assert advance(batch).current is Status.STOPPED
        assert "no worker has looked at it for 3600 s" in str(batch.events.last())

    def test_a_radius_that_somebody_else_has_taken_meanwhile(
        self, pair: Pair, ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        """(By an emergency, say, of before the batch was asked for: the batch itself holds it.)"""
        batch = approve(ask(wave_size=1))
        item = batch.items.get(position=2)
        switch = Switch.objects.get(pk=started[0].pk)
        switch.pk, switch.key, switch.appid, switch.asked, switch.plan = (
            None,
            "other",
            "bee",
            item.asked,
            item.plan,
        )
        switch.save()
        end(started[0])
        assert advance(batch).current is Status.STOPPED
        assert any("Switch other of bee holds part of this radius" in line for line in log(batch))


class TestHeldUp:
    """Its turn has come, and at this moment it cannot begin."""

    @pytest.fixture
    def away(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """As long as there is something in it, ZooKeeper does not answer."""
        said: list[str] = []
        answers = carrying.plan_for

        def plan_for(*asked: Any) -> Any:
            if said:
                raise EnginesAway(say("%(error)s", error=said[0]))
            return answers(*asked)

        monkeypatch.setattr(carrying, "plan_for", plan_for)
        return said

    def test_servers_that_do_not_answer_are_waited_for_and_it_is_said_once(
        self, ask: Any, approve: Any, advance: Any, started: list[Switch], away: list[str]
    ) -> None:
        away.append("ZooKeeper elects a leader")
        batch = approve(ask())
        for _ in range(3):
            assert advance(batch).current is Status.RUNNING
        assert [status for _, _, status in shown(batch)] == ["waiting"] * 5
        assert log(batch)[-3:] == [
            "Wave 1 begins (2 in all).",
            "ZooKeeper elects a leader",
            "ant (wave 1) cannot begin at this moment. It is tried again, for at most 120 s.",
        ]
        away.clear()
        advance(batch)
        assert [str(switch.scope) for switch in started] == ["ant", "bee"]
        assert batch.items.get(position=1).held_up_since is None

    def test_but_not_for_ever(
        self, people: dict[str, User], ask: Any, approve: Any, advance: Any, settings: Any, away: list[str]
    ) -> None:
        away.append("ZooKeeper is away")
        batch = approve(ask())
        batch.items.filter(position=1).update(
            held_up_since=timezone.now() - timedelta(seconds=settings.BATCH_PATIENCE_SECONDS + 1)
        )
        assert advance(batch).current is Status.STOPPED
        assert shown(batch)[0] == (1, "ant", "failed")
        assert "ZooKeeper is away" in log(batch)[-2]

    def test_when_a_person_lets_it_go_on_it_is_tried_as_long_again(
        self, people: dict[str, User], ask: Any, approve: Any, advance: Any, away: list[str]
    ) -> None:
        away.append("ZooKeeper is away")
        batch = approve(ask())
        operations.stop(people["olga"], batch)
        batch.items.update(held_up_since=timezone.now() - timedelta(hours=1))
        operations.resume(people["olga"], batch, nobody_wakes, without=False)
        assert advance(batch).current is Status.RUNNING

    def test_bindings_that_are_being_written_are_waited_for(
        self, people: dict[str, User], pair: Pair, ask: Any, approve: Any, advance: Any, started: list[Switch]
    ) -> None:
        batch = ask(wave_size=1)
        change = BindingChange.objects.create(
            pair=pair,
            appid="ant",
            edits={Identity("ant").key: "east"},
            digest="x",
            reason="By hand",
            status="approved",
            requested_by=people["olga"],
            expires_at=timezone.now() + timedelta(hours=1),
        )
        approve(batch)
        assert (started, shown(batch)[0]) == ([], (1, "ant", "waiting"))
        assert any("is being written. Try again in a moment." in line for line in log(batch))
        change.delete()
        advance(batch)
        assert [str(switch.scope) for switch in started] == ["ant"]
