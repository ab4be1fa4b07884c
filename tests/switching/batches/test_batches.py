"""A batch from its request to its end, in PostgreSQL: who agrees to it, what begins when, and what stops it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone, translation

from hadash.audit.models import Entry
from hadash.inventory.models import Pair
from hadash.radius.nodes import AccessEdge
from hadash.refusals import Refused
from hadash.sentences import Sentence
from hadash.switching import policy
from hadash.switching.batches import decisions, plans
from hadash.switching.batches.decisions import BATCHES
from hadash.switching.batches.waves import Line
from hadash.switching.machines.batches import Status
from hadash.switching.models.batches import Batch
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy, PlanChanged

from .parts import World, log, nobody_wakes, shown

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


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


def test_two_requests_at_once_do_not_get_the_same_radius(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one was drawn up before the first one was there."""
    held = plans.holders
    monkeypatch.setattr(plans, "holders", lambda pair: [])
    ask()
    with pytest.raises(Busy):
        ask()
    monkeypatch.setattr(plans, "holders", held)
