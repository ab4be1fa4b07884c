"""What people decide on a requested batch: approve, decline, cancel."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from hadash.sentences import Sentence, say
from hadash.switching.approvals.workflow import Start, WindowedWorkflow
from hadash.switching.batches import transitions
from hadash.switching.batches.plans import changed
from hadash.switching.machines.batches import Event
from hadash.switching.models.batches import Batch
from hadash.switching.refusals import PlanChanged

#: The most radii that a refusal names.
_NAMED = 5


class BatchWorkflow(WindowedWorkflow[Batch]):
    """The workflow of batches."""

    MODEL = Batch
    EVENT = Event

    def own_request(self) -> PermissionDenied:
        return PermissionDenied("You requested this batch: somebody else has to decide on it.")

    def changed_since_seen(self) -> Sentence:
        return say("What would move has changed since you saw it. Look at it again.")

    def look_again(self, row: Batch) -> None:
        others = changed(row)
        if others:
            raise PlanChanged(
                say(
                    "What would move has changed since the request, with %(names)s. Decline it and request it again.",
                    names=[str(item.scope) for item in others[:_NAMED]],
                )
            )

    def run(self, held: Batch, start: Start[Batch]) -> None:
        transitions.run(held, start)


BATCHES = BatchWorkflow()
approve, decline, cancel = BATCHES.approve, BATCHES.decline, BATCHES.cancel
