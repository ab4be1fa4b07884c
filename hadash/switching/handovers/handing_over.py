"""Handing work to a worker: counted, and never an error for the person who asked for the work, because beat
picks it up.

The tasks are named and not imported: what they are made of lies above whoever hands work over.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from celery import current_app
from kombu.exceptions import OperationalError

from hadash.switching.execution import leases
from hadash.switching.handovers.counting import count
from hadash.switching.models.handovers import Way, Work

if TYPE_CHECKING:
    from hadash.governance.models import Run
    from hadash.switching.models.batches import Batch
    from hadash.switching.models.binding_changes import BindingChange
    from hadash.switching.models.retirements import Retirement
    from hadash.switching.models.switches import Switch
    from hadash.switching.models.tails import Tail

log = logging.getLogger(__name__)

#: The task of each kind of work, in the package ``tasks``.
TASKS: dict[Work, str] = {
    Work.STAGE: "switching.run_stage",
    Work.REBUILD: "switching.look_for_tails",
    Work.BATCH: "batches.advance",
    Work.BINDING_CHANGE: "binding.apply",
    Work.RETIREMENT: "retirement.remove",
    Work.RUN: "pipeline.run",
}


def hand_over(work: Work, *arguments: Any) -> bool:
    """Give the task of ``work`` to Redis; whether Redis took it. If not, beat's next look finds the work."""
    task = TASKS[work]
    try:
        current_app.send_task(task, arguments)
    except OperationalError:
        log.exception("%s%r could not be handed to a worker; beat picks it up", task, arguments)
        count(work, Way.REFUSED)
        return False
    count(work, Way.HANDED_OVER)
    return True


def start_switch(switch: Switch) -> None:
    """A switch that has just been approved, or is run again."""
    hand_over(Work.STAGE, switch.pk, leases.claim_first(switch))


def rebuild(tail: Tail) -> None:
    """A lost side that is to be rebuilt."""
    hand_over(Work.REBUILD)


def wake(batch: Batch) -> None:
    """A batch that can be moved on."""
    hand_over(Work.BATCH, batch.key)


def start_change(change: BindingChange) -> None:
    """A change of bindings that has just been approved."""
    hand_over(Work.BINDING_CHANGE, change.pk)


def start_removal(retirement: Retirement) -> None:
    """Old Topics that are to be removed now. The first worker that takes it uses its token up."""
    hand_over(Work.RETIREMENT, retirement.pk, retirement.token)


def start_run(run: Run) -> None:
    """A run of a job that waits."""
    hand_over(Work.RUN, run.pk)
