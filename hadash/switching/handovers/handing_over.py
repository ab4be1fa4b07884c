"""Hand work over to a worker. It is counted, and never an error for the person who asked for the work, because
beat picks it up.

Tasks are named, not imported: their modules import the callers of this one.
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
    from hadash.governance.models.runs import Run
    from hadash.switching.models.batches import Batch
    from hadash.switching.models.binding_changes import BindingChange
    from hadash.switching.models.retirements import Retirement
    from hadash.switching.models.switches import Switch
    from hadash.switching.models.unreplicated import Unreplicated

log = logging.getLogger(__name__)

#: The task of each kind of work, in the package ``tasks``.
TASKS: dict[Work, str] = {
    Work.STAGE: "switching.run_stage",
    Work.REBUILD: "switching.look_for_unreplicated",
    Work.BATCH: "batches.advance",
    Work.BINDING_CHANGE: "binding.apply",
    Work.RETIREMENT: "retirement.remove",
    Work.RUN: "pipeline.run",
}


def hand_over(work: Work, *arguments: Any) -> bool:
    """Send the task of ``work`` to Redis. Return whether Redis took it; if not, beat's next look finds the work."""
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
    """Hand over a switch that has just been approved, or is run again."""
    hand_over(Work.STAGE, switch.pk, leases.claim_first(switch))


def rebuild(missing: Unreplicated) -> None:
    """Hand over a lost side that is to be rebuilt."""
    hand_over(Work.REBUILD)


def wake(batch: Batch) -> None:
    """Hand over a batch that can be advanced."""
    hand_over(Work.BATCH, batch.key)


def start_change(change: BindingChange) -> None:
    """Hand over a change of bindings that has just been approved."""
    hand_over(Work.BINDING_CHANGE, change.pk)


def start_removal(retirement: Retirement) -> None:
    """Hand over the removal of old Topics. The first worker that takes it uses up its token."""
    hand_over(Work.RETIREMENT, retirement.pk, retirement.token)


def start_run(run: Run) -> None:
    """Hand over a waiting run of a job."""
    hand_over(Work.RUN, run.pk)
