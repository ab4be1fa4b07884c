"""State machines as tables: status × event → the status after it. Pure.

Every kind of row with a life cycle has one :class:`Machine`, and its rows change their status through it only:
see :class:`hadash.stateful.Stateful`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Generic, TypeVar

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


class IllegalMove(Exception):
    """An event that the status does not allow. Nothing was changed."""


class Machine(Generic[S, E]):
    """All statuses of one kind of row, and the events that lead from one to the next.

    :param noun: what a row is called in error messages: "a switch".
    :param moves: for every status, the events that it allows and the status after each. Any other event is
        refused, and the status stays.
    :param starts: the statuses with which a new row may begin.
    """

    def __init__(self, noun: str, moves: Mapping[S, Mapping[E, S]], starts: Collection[S]) -> None:
        self.noun = noun
        self.moves = moves
        self.starts = frozenset(starts)
        #: Statuses that can still change; all others are final.
        self.open = frozenset(status for status, ways in moves.items() if ways)
        self.ended = frozenset(moves) - self.open

    def begin(self, status: S) -> str:
        """The value of the status of a new row. :raises IllegalMove: no row begins with it."""
        if status not in self.starts:
            raise IllegalMove(f"{self.noun} cannot begin as {status.replace('_', ' ')}.")
        return status.value

    def after(self, status: S, event: E) -> S:
        """The status after ``event``. :raises IllegalMove: the table does not allow it."""
        try:
            return self.moves[status][event]
        except KeyError:
            raise IllegalMove(f"{self.noun} that is {status.replace('_', ' ')} cannot {event}.") from None

    def allows(self, status: S, event: E) -> bool:
        return event in self.moves[status]

    def allowing(self, event: E) -> frozenset[S]:
        """The statuses that allow ``event``."""
        return frozenset(status for status, ways in self.moves.items() if event in ways)


def decisions(statuses: type[S], events: type[E]) -> dict[E, S]:
    """Return what can happen to a request that waits for approval: the same for everything that people ask for and
    others decide on.

    :param statuses: one is ``approved``, one ``declined``, one ``cancelled``, one ``expired``.
    :param events: one is ``approve``, one ``decline``, one ``cancel``, one ``expire``.
    """
    return {
        events("approve"): statuses("approved"),
        events("decline"): statuses("declined"),
        events("cancel"): statuses("cancelled"),
        events("expire"): statuses("expired"),
    }
