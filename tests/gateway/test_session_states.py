"""The states of a client's session: the whole of each table, spelled out, and what holds of every way through it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import pytest

from hadash.gateway.session.acks0 import Acks0
from hadash.gateway.session.states import (
    CLIENT,
    CLOSING,
    GONE,
    LINE,
    SERVICE,
    ClientState,
    Event,
    Heard,
    Line,
    Service,
    Step,
)
from hadash.machines import IllegalMove, Machine

#: Read a row as: "in this state, each of these leads to …"; what a row does not name changes nothing.
LINES = {
    Line.HANDSHAKE: "connected: open, lost: lost",
    Line.OPEN: "client left: half-closed, lost: lost",
    Line.HALF_CLOSED: "lost: lost",
    Line.LOST: "",
}
SERVICES = {
    Service.WAITING: "sign in: signing in, hang up: hung up, cut: cut",
    Service.SIGNING_IN: "serve: served, hang up: hung up, cut: cut",
    Service.SERVED: "finish: finishing, leave: leaving, hang up: hung up, cut: cut",
    # It can still be asked to leave: its broker may not have answered everything that has its answer here.
    Service.FINISHING: "leave: leaving, hang up: hung up, cut: cut",
    # Never back to finishing: what it wrote is followed until the broker has answered it.
    Service.LEAVING: "hang up: hung up, cut: cut",
    Service.HUNG_UP: "cut: cut",
    Service.CUT: "",
}
CLIENTS = {
    ClientState.NEW: "begin: served, rename: renamed, leave: leaving",
    # What was handled was handled under its name: it has no other one any more.
    ClientState.SERVED: "leave: leaving",
    ClientState.RENAMED: "",
    ClientState.LEAVING: "end: ended",
    ClientState.ENDED: "",
}

TABLES: list[tuple[Machine[Any, Any], type[StrEnum], dict[Any, str]]] = [
    (LINE, Heard, LINES),
    (SERVICE, Event, SERVICES),
    (CLIENT, Step, CLIENTS),
]


def _cells() -> Iterator[Any]:
    for machine, events, rows in TABLES:
        for state, row in rows.items():
            leads = dict(cell.split(": ") for cell in row.split(", ") if cell)
            for event in events:
                yield pytest.param(machine, state, event, leads.get(event), id=f"{state}, {event}")


@pytest.mark.parametrize(("machine", "state", "event", "after"), _cells())
def test_every_event_in_every_state(
    machine: Machine[Any, Any], state: StrEnum, event: StrEnum, after: str | None
) -> None:
    assert machine.allows(state, event) is (after is not None)
    if after is None:
        with pytest.raises(IllegalMove):
            machine.after(state, event)
    else:
        assert machine.after(state, event) == after


@pytest.mark.parametrize(("machine", "events", "rows"), TABLES, ids=["line", "service", "client"])
def test_the_tables_name_every_state(
    machine: Machine[Any, Any], events: type[StrEnum], rows: dict[Any, str]
) -> None:
    assert list(machine.moves) == list(rows) == list(type(next(iter(rows))))


def _ways(machine: Machine[Any, Any], events: type[StrEnum], length: int) -> Iterator[list[Any]]:
    """The states that each sequence of ``length`` events leads through, as the Gateway moves: what is not
    allowed is left out.
    """
    first = next(iter(machine.moves))
    for sequence in itertools.product(events, repeat=length):
        states = [first]
        for event in sequence:
            if machine.allows(states[-1], event):
                states.append(machine.after(states[-1], event))
        yield states


def test_what_is_not_handled_any_more_is_never_handled_again() -> None:
    ends = 0
    for states in _ways(SERVICE, Event, 6):
        closing = [state in CLOSING for state in states]
        assert closing == sorted(closing)
        ends += closing[-1]
    assert ends > 1000, "and most ways come to an end"


def test_who_has_hung_up_never_comes_back() -> None:
    for states in _ways(LINE, Heard, 5):
        gone = [state in GONE for state in states]
        assert gone == sorted(gone)


def test_every_state_of_a_connection_can_be_cut_at_once() -> None:
    assert SERVICE.allowing(Event.CUT) == set(Service) - {Service.CUT}


def test_no_way_goes_round() -> None:
    """Each of the three lives ends: there is no state that is come back to."""
    for machine, events, _ in TABLES:
        for states in _ways(machine, events, 5):
            assert len(states) == len(set(states))


def test_a_client_ends_by_leaving_only() -> None:
    for states in _ways(CLIENT, Step, 5):
        if states[-1] is ClientState.ENDED:
            assert states[-2] is ClientState.LEAVING


def test_writes_without_answers_are_under_way_until_their_proof_is_asked_for() -> None:
    acks0 = Acks0()
    assert (acks0.on_the_way, acks0.proofs) == (False, 0)
    acks0.written()
    acks0.written()
    assert acks0.on_the_way
    acks0.asked()
    assert (acks0.on_the_way, acks0.proofs) == (False, 1)
    acks0.proved()
    assert acks0.proofs == 0


def test_writes_behind_a_proof_need_one_of_their_own() -> None:
    """Two blocks, one soon after the other: the answer to the first proof is none to the second."""
    acks0 = Acks0()
    acks0.written()
    acks0.asked()
    acks0.written()
    acks0.asked()
    acks0.proved()
    assert (acks0.on_the_way, acks0.proofs) == (False, 1), "the second one is still under way"
