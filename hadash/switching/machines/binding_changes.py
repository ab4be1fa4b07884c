"""The moves of a change of bindings. Pure. ``docs/states.md`` shows them, drawn by ``docs/draw_states.py``."""

from __future__ import annotations

from hadash.changes import MOVES, Event, Status
from hadash.machines import Machine

MACHINE = Machine[Status, Event]("A change", MOVES, starts=(Status.AWAITING_APPROVAL,))
#: Statuses that can still change.
OPEN = MACHINE.open
