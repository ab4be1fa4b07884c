"""The moves of a change of a pool. Pure. ``docs/states.md`` shows them, drawn by ``docs/draw_states.py``."""

from __future__ import annotations

from hadash.changes import MOVES, Event, Status
from hadash.machines import Machine

#: One that needs nobody's approval begins as approved.
MACHINE = Machine[Status, Event](
    "A change of a pool", MOVES, starts=(Status.AWAITING_APPROVAL, Status.APPROVED)
)
