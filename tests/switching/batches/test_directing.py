"""What people do with a batch that runs: stop, resume, end."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from hadash.audit.models import Entry
from hadash.radius.nodes import AccessEdge
from hadash.refusals import Refused
from hadash.switching.batches import operations
from hadash.switching.machines.batches import Status
from hadash.switching.models.batches import Batch
from hadash.switching.models.switches import Switch
from hadash.switching.planning import overlaps
from hadash.switching.refusals import PlanChanged

from .parts import World, nobody_wakes, shown

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


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
