"""The tables of a batch, and what it does next whatever happens to its items."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hadash.machines import IllegalMove
from hadash.switching.machines import switches as machines_switches
from hadash.switching.machines.batches import (
    AHEAD,
    ITEM_MACHINE,
    ITEM_MOVES,
    MACHINE,
    MOVES,
    OPEN,
    OVER,
    Event,
    Item,
    ItemEvent,
    ItemStatus,
    Next,
    Status,
    event_of,
    next_steps,
)

WAITING, RUNNING, DONE, FAILED, DROPPED = ItemStatus

#: Every move that there is. Written out: a change of a table is a decision, not an accident.
ALLOWED = {
    ("awaiting_approval", "approve", "approved"),
    ("awaiting_approval", "decline", "declined"),
    ("awaiting_approval", "cancel", "cancelled"),
    ("awaiting_approval", "expire", "expired"),
    ("approved", "run", "running"),
    ("approved", "cancel", "cancelled"),
    ("approved", "expire", "expired"),
    ("running", "stop", "stopped"),
    ("running", "finish", "finished"),
    ("stopped", "resume", "running"),
    ("stopped", "end", "ended"),
}
ALLOWED_OF_ITEMS = {
    ("waiting", "start", "running"),
    ("waiting", "fail", "failed"),
    ("waiting", "drop", "dropped"),
    ("running", "succeed", "done"),
    ("running", "fail", "failed"),
    ("failed", "resume", "running"),
    ("failed", "succeed", "done"),
    ("failed", "again", "waiting"),
    ("failed", "drop", "dropped"),
}


def after_seeing(item: ItemStatus, switch: machines_switches.Status) -> ItemStatus:
    """The item's status when its switch has been seen."""
    event = event_of(item, switch)
    return item if event is None else ITEM_MACHINE.after(item, event)


@pytest.mark.parametrize(
    ("table", "allowed"), [(MOVES, ALLOWED), (ITEM_MOVES, ALLOWED_OF_ITEMS)], ids=["batch", "item"]
)
def test_these_moves_and_no_others(table: Any, allowed: set[tuple[str, str, str]]) -> None:
    assert {(one, event, other) for one, moves in table.items() for event, other in moves.items()} == allowed


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("event", Event)
def test_what_is_not_in_the_table_is_refused(status: Status, event: Event) -> None:
    if event in MOVES[status]:
        assert MACHINE.after(status, event) is MOVES[status][event]
    else:
        with pytest.raises(IllegalMove):
            MACHINE.after(status, event)


def test_a_batch_that_is_over_moves_no_more() -> None:
    assert all(not MOVES[status] for status in OVER)
    assert all(MOVES[status] for status in OPEN)


def items(*statuses: ItemStatus, wave: int = 1, after: int = 0) -> list[Item]:
    return [Item(wave, after + place, status) for place, status in enumerate(statuses, start=1)]


class TestWhatComesNext:
    def test_no_more_than_the_limit_at_once_and_in_order(self) -> None:
        wave = items(DONE, RUNNING, WAITING, WAITING, WAITING)
        assert next_steps(Status.RUNNING, wave, 3) == Next(start=(3, 4))
        assert next_steps(Status.RUNNING, wave, 1) == Next()

    def test_the_next_wave_waits_for_all_of_the_one_before(self) -> None:
        second = items(WAITING, wave=2, after=2)
        assert next_steps(Status.RUNNING, [*items(DONE, RUNNING), *second], 9) == Next()
        assert next_steps(Status.RUNNING, [*items(DONE, DROPPED), *second], 9) == Next(start=(3,))

    def test_the_first_failure_stops_it(self) -> None:
        assert next_steps(Status.RUNNING, items(RUNNING, FAILED, WAITING), 9) == Next(event=Event.STOP)

    def test_it_is_finished_when_nothing_is_ahead(self) -> None:
        assert next_steps(Status.RUNNING, items(DONE, DROPPED), 9) == Next(event=Event.FINISH)

    @pytest.mark.parametrize("status", set(Status) - {Status.RUNNING})
    def test_only_a_running_batch_does_anything(self, status: Status) -> None:
        assert next_steps(status, items(WAITING, FAILED), 9) == Next()


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        ("running", RUNNING),
        ("paused", RUNNING),
        ("succeeded", DONE),
        ("rolled_back", FAILED),
        ("needs_attention", FAILED),
        ("closed", FAILED),
        ("cancelled", FAILED),
        ("expired", FAILED),
    ],
)
def test_what_becomes_of_an_item_when_its_switch_is_seen(switch: str, expected: ItemStatus) -> None:
    assert after_seeing(RUNNING, machines_switches.Status(switch)) is expected


def test_a_switch_that_a_person_lets_run_again_takes_its_item_along() -> None:
    again = after_seeing(FAILED, machines_switches.Status.RUNNING)
    assert (again, after_seeing(again, machines_switches.Status.SUCCEEDED)) == (RUNNING, DONE)


@pytest.mark.parametrize("status", [WAITING, DONE, DROPPED])
@pytest.mark.parametrize("switch", machines_switches.Status)
def test_what_waits_or_has_settled_stays(status: ItemStatus, switch: machines_switches.Status) -> None:
    assert after_seeing(status, switch) is status


class AnyBatch(RuleBasedStateMachine):
    """Random outcomes, in any order, told once, twice or late, by processes that forget everything between
    two steps.
    """

    @initialize(waves=st.lists(st.integers(1, 4), min_size=1, max_size=8), limit=st.integers(1, 3))
    def begin(self, waves: list[int], limit: int) -> None:
        self.limit = limit
        self.status = Status.RUNNING
        self.items = {place: Item(wave, place, WAITING) for place, wave in enumerate(sorted(waves), start=1)}
        #: By item: the statuses of all switches that were made for it, the newest last.
        self.switches: dict[int, list[machines_switches.Status]] = {place: [] for place in self.items}

    def put(self, place: int, status: ItemStatus) -> None:
        self.items[place] = Item(self.items[place].wave, place, status)

    @rule()
    def advance(self) -> None:
        """What a worker does, as often as it is told to."""
        for place, switches in self.switches.items():
            if switches:
                self.put(place, after_seeing(self.items[place].status, switches[-1]))
        steps = next_steps(self.status, self.items.values(), self.limit)
        for place in steps.start:
            assert self.items[place].status is WAITING, "an item is never started twice"
            earlier = [item for item in self.items.values() if item.wave < self.items[place].wave]
            assert not any(item.status in AHEAD for item in earlier), "the wave before has settled"
            self.switches[place].append(machines_switches.Status.RUNNING)
            self.put(place, ITEM_MACHINE.after(WAITING, ItemEvent.START))
        if steps.start:
            running = [item for item in self.items.values() if item.status is RUNNING]
            assert len(running) <= self.limit
        if steps.event is not None:
            self.status = MACHINE.after(self.status, steps.event)

    @rule(data=st.data())
    def something_happens_to_a_switch(self, data: st.DataObject) -> None:
        """What the tables of a switch allow."""
        possible = [
            (place, after)
            for place, switches in self.switches.items()
            if switches
            for after in machines_switches.MOVES[switches[-1]].values()
        ]
        if possible:
            place, after = data.draw(st.sampled_from(possible))
            self.switches[place][-1] = after

    @rule()
    def an_item_is_refused(self) -> None:
        steps = next_steps(self.status, self.items.values(), self.limit)
        for place in steps.start[:1]:
            self.put(place, ITEM_MACHINE.after(WAITING, ItemEvent.FAIL))

    @precondition(lambda self: self.status is Status.STOPPED)
    @rule(event=st.sampled_from([ItemEvent.AGAIN, ItemEvent.DROP]))
    def a_person_lets_it_go_on(self, event: ItemEvent) -> None:
        for place, item in self.items.items():
            ended = not self.switches[place] or self.switches[place][-1] in machines_switches.ENDED
            if item.status is FAILED and ended:
                self.put(place, ITEM_MACHINE.after(FAILED, event))
        self.status = MACHINE.after(self.status, Event.RESUME)

    @precondition(lambda self: self.status is Status.RUNNING)
    @rule()
    def a_person_stops_it(self) -> None:
        self.status = MACHINE.after(self.status, Event.STOP)

    @precondition(lambda self: self.status is Status.STOPPED)
    @rule()
    def a_person_ends_it(self) -> None:
        self.status = MACHINE.after(self.status, Event.END)

    @invariant()
    def each_item_has_one_open_switch_at_most(self) -> None:
        for switches in getattr(self, "switches", {}).values():
            assert all(status in machines_switches.ENDED for status in switches[:-1])

    def teardown(self) -> None:
        """However it stands: when all switches have ended, it ends, or a person is asked."""
        if not hasattr(self, "items"):
            return
        for _ in range(3 * len(self.items) + 3):
            for switches in self.switches.values():
                if switches and switches[-1] not in machines_switches.ENDED:
                    switches[-1] = machines_switches.Status.SUCCEEDED
            self.advance()
        assert self.status in OVER | {Status.STOPPED}


TestAnyBatch = AnyBatch.TestCase
TestAnyBatch.settings = settings(max_examples=60, stateful_step_count=40)
