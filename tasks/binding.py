"""Tasks of manual changes of bindings: a worker writes them, and another one continues when it was lost."""

from __future__ import annotations

from celery import shared_task

from hadash.switching.binding_changes import applier
from hadash.switching.binding_changes.decisions import BINDING_CHANGES
from hadash.switching.handovers.counting import count
from hadash.switching.handovers.handing_over import hand_over
from hadash.switching.models.handovers import Work
from tasks.single import single


@shared_task(name="binding.apply", ignore_result=True)
def apply_change(pk: int) -> None:
    with single(f"binding change {pk}") as won:
        if won:
            applier.apply(pk)


@shared_task(name="binding.pick_up", ignore_result=True)
def pick_up_changes() -> None:
    """Hand over approved changes that are not written yet."""
    for pk in applier.waiting():
        count(Work.BINDING_CHANGE, applier.why_waiting(pk))
        hand_over(Work.BINDING_CHANGE, pk)


@shared_task(name="binding.expire", ignore_result=True)
def expire_changes() -> None:
    BINDING_CHANGES.expire_undecided()
