"""A batch whose source is lost while it runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.refusals import Refused
from hadash.switching import requests as switching
from hadash.switching.batches import operations
from hadash.switching.machines.batches import Status
from hadash.switching.machines.switches import Kind
from hadash.switching.models.batches import Batch, BatchItem
from hadash.switching.models.switches import Switch
from hadash.switching.refusals import Busy

from .parts import World, log, nobody_wakes, shown

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


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
