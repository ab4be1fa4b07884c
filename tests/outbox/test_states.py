"""Every state × every event: the table, and that nothing else moves."""

from __future__ import annotations

import itertools

import pytest

from hadash.machines import IllegalMove
from hadash.outbox.states import DUE, MACHINE, MOVES, SETTLED, Event, State

PAIRS = list(itertools.product(State, Event))


@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_only_what_the_table_names_moves(state: State, event: Event) -> None:
    if event in MOVES[state]:
        assert MACHINE.after(state, event) is MOVES[state][event]
        assert state in MACHINE.allowing(event)
    else:
        with pytest.raises(IllegalMove, match=event.value):
            MACHINE.after(state, event)
        assert state not in MACHINE.allowing(event)


def test_what_the_server_may_have_is_never_sent_again_by_itself() -> None:
    """From ``handed_over`` a sender comes to it again only if the server has said "later"."""
    by_itself = {
        state: {e: s for e, s in moves.items() if e is not Event.SEND_AGAIN} for state, moves in MOVES.items()
    }
    assert State.UNCERTAIN not in DUE and not set(by_itself[State.UNCERTAIN].values()) & DUE
    assert {e for e, s in by_itself[State.HANDED_OVER].items() if s in DUE} == {Event.DEFER}


def test_what_is_settled_is_sent_again_only_by_a_person() -> None:
    for state in SETTLED:
        assert set(MOVES[state]) <= {Event.SEND_AGAIN, Event.ACCEPT, Event.BOUNCE}


def test_every_state_is_reached() -> None:
    reached = {State.QUEUED}
    for _ in State:
        reached |= {after for state in reached for after in MOVES[state].values()}
    assert reached == set(State)
