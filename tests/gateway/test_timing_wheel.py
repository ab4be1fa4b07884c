"""The timing wheel: everything is due in its time, never early, whatever else is added, moved or cancelled."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hadash.gateway.waiting.timing_wheel import Entry, TimingWheel

TICK, SIZE = 0.01, 4  # a small ring, so that a second of test time needs four wheels


def nothing() -> None:
    pass


def entry(wheel: TimingWheel, at: float) -> Entry:
    made = Entry(nothing)
    wheel.add(made, at)
    return made


def test_an_entry_is_due_at_the_end_of_its_tick() -> None:
    wheel = TimingWheel(TICK, SIZE, 100.0)
    due = entry(wheel, 100.015)
    assert wheel.advance(100.0199) == []
    assert wheel.advance(100.0201) == [due]
    assert not due.pending


def test_what_is_far_away_moves_down_the_wheels() -> None:
    wheel = TimingWheel(TICK, SIZE, 0.0)
    far = entry(wheel, 0.999)  # beyond the reach of the third wheel
    seen = []
    while (due := wheel.next_due()) is not None:
        seen.append(round(due, 3))
        expired = wheel.advance(due + 1e-9)
    assert expired == [far]
    assert seen == [0.64, 0.96, 1.0]


def test_it_need_not_come_by_when_nothing_is_due() -> None:
    wheel = TimingWheel(TICK, SIZE, 0.0)
    assert wheel.next_due() is None
    late = entry(wheel, 0.035)
    assert wheel.next_due() == 0.04
    assert wheel.advance(3600.0) == [late]
    again = entry(wheel, 3600.015)
    assert wheel.advance(3600.021) == [again]


def test_an_entry_in_the_past_is_due_at_the_next_tick() -> None:
    wheel = TimingWheel(TICK, SIZE, 50.0)
    past = entry(wheel, 10.0)
    assert wheel.advance(50.0) == []
    assert wheel.advance(50.011) == [past]


def test_a_cancelled_entry_is_never_due_and_cancelling_twice_is_harmless() -> None:
    wheel = TimingWheel(TICK, SIZE, 0.0)
    cancelled, kept = entry(wheel, 0.02), entry(wheel, 0.02)
    cancelled.cancel()
    cancelled.cancel()
    assert wheel.advance(1.0) == [kept]


def test_adding_an_entry_again_moves_it() -> None:
    wheel = TimingWheel(TICK, SIZE, 0.0)
    moved = entry(wheel, 0.02)
    wheel.add(moved, 0.1)
    assert wheel.advance(0.05) == []
    assert wheel.advance(0.12) == [moved]


class Wheel(RuleBasedStateMachine):
    """Beside the simplest timer there is: a table of what is due when."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.wheel = TimingWheel(TICK, SIZE, self.now)
        self.due: dict[Entry, float] = {}

    @rule(delay=st.floats(-0.1, 12.0))
    def add(self, delay: float) -> None:
        # What has passed when it is added is due at the next tick.
        self.due[entry(self.wheel, self.now + delay)] = self.now + max(delay, 0.0)

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.due:
            chosen = data.draw(st.sampled_from(list(self.due)))
            chosen.cancel()
            del self.due[chosen]

    @rule(seconds=st.floats(0.0, 3.0))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for expired in self.wheel.advance(self.now):
            assert self.due.pop(expired) <= self.now
        overdue = [at for at in self.due.values() if at < self.now - 2 * TICK]
        assert overdue == []

    @invariant()
    def what_is_pending_is_known_to_be_due(self) -> None:
        assert all(entry.pending for entry in self.due)
        if self.due:
            due = self.wheel.next_due()
            assert due is not None
            assert due <= max(min(self.due.values()), self.now) + 2 * TICK


TestWheel = Wheel.TestCase
TestWheel.settings = settings(max_examples=100, stateful_step_count=40)


@given(st.lists(st.floats(0.0, 5.0), max_size=30))
def test_entries_are_due_in_the_order_of_their_ticks(delays: list[float]) -> None:
    wheel = TimingWheel(TICK, SIZE, 0.0)
    for delay in delays:
        entry(wheel, delay)
    ticks = [expired.due for expired in wheel.advance(10.0)]
    assert ticks == sorted(ticks)
    assert len(ticks) == len(delays)
