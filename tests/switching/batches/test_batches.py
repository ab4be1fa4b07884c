"""A batch from its request to its end, in PostgreSQL: who agrees to it, what begins when, and what stops it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone, translation

from hadash.audit.models import Entry
from hadash.identity.identity import Identity
from hadash.inventory.models import Pair
from hadash.radius.nodes import AccessEdge
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching import policy
from hadash.switching import requests as switching
from hadash.switching.batches import carrying, decisions, operations, plans
from hadash.switching.batches.decisions import BATCHES
from hadash.switching.batches.waves import Line
from hadash.switching.machines.batches import Status
from hadash.switching.machines.switches import Kind
from hadash.switching.models.batches import Batch, BatchItem
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.policies import Blackout
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy, EnginesAway, PlanChanged

from .parts import World, log, shown

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def nobody_wakes(key: str) -> None:
    pass


class TestAsking:
    def test_everything_on_a_cluster_in_waves_with_a_smaller_first_one(self, ask: Any) -> None:
        batch = ask(first_wave=1)
        assert shown(batch) == [
            (1, "ant", "waiting"),
            (2, "bee", "waiting"),
            (2, "cat", "waiting"),
            (3, "dog", "waiting"),
            (3, "eel", "waiting"),
        ]
        assert log(batch) == ["olga requested the batch (radii: 5, waves: 3)."]

    def test_those_with_the_fewest_clients_come_first(self, world: World, ask: Any) -> None:
        world.uses += [AccessEdge("ant", f"ant-{n}", "consume", "ant.t") for n in range(2, 5)]
        assert [scope for _, scope, _ in shown(ask())][-1] == "ant"

    def test_a_list_stays_in_its_order_and_in_the_waves_that_it_says(self, ask: Any) -> None:
        batch = ask(lines=[Line("eel"), Line("cat", 2), Line("ant", 1), Line("dog")])
        assert [(wave, scope) for wave, scope, _ in shown(batch)] == [
            (1, "ant"),
            (2, "cat"),
            (3, "eel"),
            (3, "dog"),
        ]

    def test_names_that_move_together_are_one_radius_in_the_first_of_their_waves(
        self, world: World, ask: Any
    ) -> None:
        world.uses.append(AccessEdge("bee", "bee-1", "consume", "ant.t"))
        batch = ask(lines=[Line("ant", 3), Line("bee", 2)])
        assert [(wave, scope) for wave, scope, _ in shown(batch)] == [(2, "ant")]

    def test_what_cannot_move_stands_against_it_by_name(self, world: World, ask: Any) -> None:
        world.unmirrored = {"cat.t"}
        with pytest.raises(Refused) as refused:
            ask()
        assert [str(reason) for reason in refused.value.reasons] == [
            "1 of 5 radii cannot move (cat). Repair what blocks them, or leave them out.",
            "No mirror carries cat.t. Create one first.",
        ]

    def test_what_cannot_move_is_left_out_by_choice_and_named_in_what_is_approved(
        self, world: World, ask: Any
    ) -> None:
        world.unmirrored = {"cat.t"}
        batch = ask(leave_out=True)
        assert shown(batch)[-1] == (0, "cat", "dropped")
        assert Entry.objects.get(verb="request").details["left_out"] == ["cat"]
        # With it, something else is approved.
        world.unmirrored = set()
        batch.delete()
        assert ask().digest != batch.digest

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({"parallelism": 0}, "From 1 to 16 switches run at once."),
            ({"parallelism": 17}, "From 1 to 16 switches run at once."),
            ({"wave_size": 0}, "A wave has from 1 to 1000 radii."),
            ({"first_wave": 1001}, "A wave has from 1 to 1000 radii."),
            ({"lines": []}, "Name what is to move, one name a line."),
        ],
    )
    def test_what_makes_no_sense_is_refused_with_what_would(
        self, ask: Any, values: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(Refused, match=sentence):
            ask(**values)

    def test_more_than_anybody_looks_through(self, ask: Any, settings: Any) -> None:
        settings.BATCH_MAX_ITEMS = 4
        with pytest.raises(Refused, match="This is 5 radii, and at most 4 fit one batch"):
            ask()

    def test_what_was_shown_has_changed(self, world: World, pair: Pair, ask: Any) -> None:
        seen = plans.build_batch_plan(plans.Wanted(pair, pair.second, wave_size=2, parallelism=2)).digest
        world.uses.append(AccessEdge("fox", "fox-1", "produce", "fox.t"))
        with pytest.raises(PlanChanged):
            ask(digest=seen)

    def test_who_may_not_request(self, ask: Any) -> None:
        with pytest.raises(PermissionDenied):
            ask("vera")

    def test_a_batch_holds_all_of_its_radii(self, world: World, pair: Pair, ask: Any) -> None:
        batch = ask()
        (radius,) = [item.the_plan() for item in batch.items.all() if str(item.scope) == "cat"]
        holder = overlaps.overlapping(radius)
        assert holder is not None
        assert str(holder.sentence) == (
            f"Batch {batch.key} holds part of this radius: it moves cat. Wait for its end or cancel it."
        )
        with pytest.raises(Refused, match="5 of 5 radii cannot move"):
            ask()

    def test_who_holds_what_is_looked_up_and_not_compared_with_each(
        self, ask: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A thousand with a thousand are a million, and nobody else can ask for anything meanwhile."""
        ask(lines=[Line("cat")])

        def compared(*_: Any) -> bool:
            raise AssertionError("compared")

        monkeypatch.setattr(Plan, "overlaps", compared)
        with pytest.raises(Refused, match=r"1 of 5 radii cannot move \(cat\)"):
            ask()
        assert len(shown(ask(leave_out=True))) == 5

    def test_what_is_kept_reads_in_every_language(self, ask: Any) -> None:
        """Why something was left out is read by others than the one who asked."""
        first = ask(lines=[Line("ant")])
        with translation.override("zh-hans"):
            batch = ask(leave_out=True)
        outcome = str(Sentence.from_json(batch.items.get(wave=0).outcome))
        assert outcome == (
            f"Batch {first.key} holds part of this radius: it moves ant. Wait for its end or cancel it."
        )


class TestDeciding:
    def test_it_runs_with_as_many_approvals_as_the_policy_wants(
        self, pair: Pair, people: dict[str, User], ask: Any, approve: Any, started: list[Switch]
    ) -> None:
        policy.set_policy(people["ada"], pair, {"approvals": 2})
        batch = ask()
        assert approve(batch).current is Status.AWAITING_APPROVAL
        assert started == []
        assert approve(batch, "bea").current is Status.RUNNING
        assert len(started) == 2

    def test_nobody_approves_their_own(self, people: dict[str, User], ask: Any, approve: Any) -> None:
        people["olga"].groups.add(people["arne"].groups.get())
        people["olga"] = User.objects.get(username="olga")
        with pytest.raises(PermissionDenied, match="You requested this batch"):
            approve(ask("olga"), "olga")

    def test_two_accounts_in_one_browser_are_not_four_eyes(self, ask: Any, approve: Any) -> None:
        batch = ask(browser="olgas-laptop")
        with pytest.raises(Refused, match="This browser was used"):
            approve(batch, browser="olgas-laptop")

    def test_what_would_move_now_is_not_what_was_asked_for(
        self, world: World, ask: Any, approve: Any
    ) -> None:
        batch = ask()
        world.uses.append(AccessEdge("cat", "cat-1", "produce", "more"))
        with pytest.raises(PlanChanged, match="has changed since the request, with cat"):
            approve(batch)

    def test_somebody_else_has_approved_it_meanwhile(self, ask: Any, approve: Any) -> None:
        with pytest.raises(PlanChanged, match="The approvals are not those that you have seen"):
            approve(ask(), seen=3)

    def test_declined_and_cancelled_release_what_they_hold(self, people: dict[str, User], ask: Any) -> None:
        assert decisions.decline(people["arne"], ask(), "Not this week").current is Status.DECLINED
        assert decisions.cancel(people["olga"], ask(), "Not today.").current is Status.CANCELLED
        assert ask().current is Status.AWAITING_APPROVAL

    def test_what_nobody_decides_on_expires(self, ask: Any) -> None:
        batch = ask()
        Batch.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        assert BATCHES.expire_undecided() == 1
        batch.refresh_from_db()
        assert batch.current is Status.EXPIRED

    def test_a_window_is_waited_for_and_never_missed_late(self, ask: Any, approve: Any, advance: Any) -> None:
        now = timezone.now()
        batch = approve(ask(window=(now + timedelta(hours=1), now + timedelta(hours=2))))
        assert batch.current is Status.APPROVED
        assert BATCHES.begin_due(nobody_wakes) == 0
        Batch.objects.update(start_at=now - timedelta(minutes=1))
        assert BATCHES.begin_due(nobody_wakes) == 1
        Batch.objects.update(status="approved", start_until=now - timedelta(seconds=1))
        assert BATCHES.begin_due(nobody_wakes) == 0
        batch.refresh_from_db()
        assert batch.current is Status.EXPIRED


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


class TestTheSourceIsLost:
    """While a batch moves everything away from it, of which the first radius has failed."""

    @pytest.fixture
    def batch(self, ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]) -> Batch:
        batch = approve(ask(wave_size=1))
        end(started[0], "rolled_back")
        found: Batch = advance(batch)
        return found

    @pytest.fixture
    def force(self, people: dict[str, User], pair: Pair) -> Any:
        """Ask for a forced switch of what an item would move."""

        def action(item: BatchItem, kind: Kind = Kind.FORCED) -> Switch:
            asked = switching.SwitchRequest(
                people["rita"], pair, item.scope, pair.second, "East burns", kind=kind
            )
            return switching.create_row(
                asked, replace(item.the_plan(), kind=kind), expires_at=timezone.now() + timedelta(hours=1)
            )

        return action

    @pytest.mark.parametrize("position", [1, 2], ids=["failed", "waiting"])
    def test_what_a_stopped_batch_has_still_to_move_does_not_stand_in_the_way_of_a_forced_switch(
        self, batch: Batch, force: Any, position: int
    ) -> None:
        item = batch.items.get(position=position)
        with pytest.raises(Busy, match="Wait for its end, or stop and end it"):
            force(item, Kind.PLANNED)
        assert force(item).kind == "forced"

    def test_what_its_open_switches_move_does(
        self, people: dict[str, User], batch: Batch, force: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        operations.resume(people["olga"], batch, nobody_wakes, without=True, reason="x")
        advance(batch)
        end(started[1], "needs_attention")
        assert advance(batch).current is Status.STOPPED
        with pytest.raises(Busy, match=f"Switch {started[1].key} of bee"):
            force(batch.items.get(position=2))

    def test_a_running_batch_stands_in_its_way_until_somebody_stops_it(
        self, people: dict[str, User], batch: Batch, force: Any
    ) -> None:
        operations.resume(people["olga"], batch, nobody_wakes, without=True, reason="x")
        with pytest.raises(Busy, match="Wait for its end, or stop and end it"):
            force(batch.items.get(position=3))
        operations.stop(people["rita"], batch)
        assert force(batch.items.get(position=3)).kind == "forced"

    def test_one_that_has_not_begun_does_not(self, ask: Any, force: Any) -> None:
        item = ask().items.get(position=1)
        with pytest.raises(Busy, match="Wait for its end or cancel it"):
            force(item, Kind.PLANNED)
        assert force(item).kind == "forced"

    def test_when_the_batch_goes_on_what_was_taken_from_it_fails(
        self, people: dict[str, User], batch: Batch, force: Any, advance: Any, started: list[Switch]
    ) -> None:
        forced = force(batch.items.get(position=2))
        operations.resume(people["olga"], batch, nobody_wakes, without=True, reason="x")
        assert advance(batch).current is Status.STOPPED
        assert shown(batch)[1] == (2, "bee", "failed")
        assert any(f"Switch {forced.key} of bee holds part of this radius" in line for line in log(batch))
        assert len(started) == 1

    def test_also_when_the_forced_switch_has_moved_it_already(
        self,
        people: dict[str, User],
        world: World,
        batch: Batch,
        force: Any,
        advance: Any,
        end: Any,
        started: list[Switch],
    ) -> None:
        end(force(batch.items.get(position=2)))
        world.moved = {"bee"}
        operations.resume(people["olga"], batch, nobody_wakes, without=True, reason="x")
        assert advance(batch).current is Status.STOPPED
        assert shown(batch)[1] == (2, "bee", "failed")
        assert "bee is bound to west already." in log(batch)
        with pytest.raises(Refused, match="bee is bound to west already"):
            operations.resume(people["olga"], batch, nobody_wakes, without=False)
        assert len(started) == 1

    def test_a_rescuer_ends_it(self, people: dict[str, User], batch: Batch) -> None:
        with pytest.raises(PermissionDenied):
            operations.resume(people["rita"], batch, nobody_wakes, without=True, reason="x")
        assert operations.end(people["rita"], batch, "East is lost").current is Status.ENDED


class TestDirecting:
    @pytest.fixture
    def stopped(self, ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]) -> Batch:
        """ant has failed, bee has moved."""
        batch = approve(ask())
        end(started[0], "rolled_back")
        end(started[1])
        found: Batch = advance(batch)
        return found

    def test_what_failed_is_tried_again_as_it_was_approved(
        self, people: dict[str, User], stopped: Batch, advance: Any, started: list[Switch]
    ) -> None:
        operations.resume(people["olga"], stopped, nobody_wakes, without=False)
        assert advance(stopped).current is Status.RUNNING
        assert [str(switch.scope) for switch in started] == ["ant", "bee", "ant"]

    def test_without_what_failed_the_next_wave_begins(
        self, people: dict[str, User], stopped: Batch, advance: Any, started: list[Switch]
    ) -> None:
        with pytest.raises(Refused, match="Say why they are left out"):
            operations.resume(people["olga"], stopped, nobody_wakes, without=True)
        operations.resume(people["olga"], stopped, nobody_wakes, without=True, reason="ant is retired")
        advance(stopped)
        assert [str(switch.scope) for switch in started[2:]] == ["cat", "dog"]
        item = stopped.items.get(position=1)
        assert (item.status, item.outcome["values"]["reason"]) == ("dropped", "ant is retired")

    def test_what_failed_and_would_move_otherwise_now_has_to_be_asked_for_anew(
        self, world: World, people: dict[str, User], stopped: Batch
    ) -> None:
        world.uses.append(AccessEdge("ant", "ant-1", "produce", "more"))
        with pytest.raises(PlanChanged, match="What would move with ant has changed"):
            operations.resume(people["olga"], stopped, nobody_wakes, without=False)

    @pytest.mark.parametrize("without", [False, True])
    def test_a_switch_that_needs_a_person_comes_first(
        self, people: dict[str, User], stopped: Batch, end: Any, started: list[Switch], without: bool
    ) -> None:
        end(started[0], "needs_attention")
        with pytest.raises(Refused, match="Let its stage run again, or close it, first"):
            operations.resume(people["olga"], stopped, nobody_wakes, without=without, reason="x")

    def test_when_its_switch_goes_well_in_the_end_nothing_is_tried_again(
        self, people: dict[str, User], stopped: Batch, end: Any, advance: Any, started: list[Switch]
    ) -> None:
        end(started[0], "running")
        assert shown(advance(stopped))[0] == (1, "ant", "running")
        end(started[0])
        advance(stopped)
        operations.resume(people["olga"], stopped, nobody_wakes, without=False)
        advance(stopped)
        assert [str(switch.scope) for switch in started] == ["ant", "bee", "cat", "dog"]

    def test_ended_the_rest_stays_and_is_free_again(
        self, people: dict[str, User], stopped: Batch, ask: Any
    ) -> None:
        with pytest.raises(Refused, match="Say why you end it"):
            operations.end(people["olga"], stopped, " ")
        ended = operations.end(people["olga"], stopped, "Enough for tonight")
        assert ended.current is Status.ENDED
        assert [status for _, _, status in shown(ended)] == [
            "failed",
            "done",
            "dropped",
            "dropped",
            "dropped",
        ]
        assert overlaps.overlapping(ended.items.get(position=3).the_plan()) is None

    def test_anybody_who_has_a_part_in_it_stops_it(
        self, people: dict[str, User], ask: Any, approve: Any, advance: Any, end: Any, started: list[Switch]
    ) -> None:
        batch = approve(ask(wave_size=1))
        operations.stop(people["arne"], batch)
        end(started[0])
        assert advance(batch).current is Status.STOPPED
        assert len(started) == 1
        operations.resume(people["olga"], batch, nobody_wakes, without=False)
        advance(batch)
        assert len(started) == 2

    @pytest.mark.parametrize("name", ["arne", "vera", "ada"])
    def test_only_operators_say_how_it_goes_on(
        self, people: dict[str, User], stopped: Batch, name: str
    ) -> None:
        with pytest.raises(PermissionDenied):
            operations.resume(people[name], stopped, nobody_wakes, without=False)
        with pytest.raises(PermissionDenied):
            operations.end(people[name], stopped, "x")

    def test_every_act_is_in_the_audit_log(self, people: dict[str, User], stopped: Batch) -> None:
        operations.resume(people["olga"], stopped, nobody_wakes, without=True, reason="x")
        operations.stop(people["olga"], stopped)
        operations.end(people["olga"], stopped, "x")
        of_batch = Entry.objects.filter(subject__startswith=f"batch {stopped.key}").order_by("number")
        assert [entry.verb for entry in of_batch] == ["request", "approve", "stop", "resume", "stop", "end"]


def test_two_requests_at_once_do_not_get_the_same_radius(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one was drawn up before the first one was there."""
    held = plans.holders
    monkeypatch.setattr(plans, "holders", lambda pair: [])
    ask()
    with pytest.raises(Busy):
        ask()
    monkeypatch.setattr(plans, "holders", held)
