"""What people decide on a requested change of a pool: approve, decline, cancel."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db import transaction

from hadash.changes import Event
from hadash.inventory.gateways import zookeeper
from hadash.pools.actions import against
from hadash.pools.live import view_of
from hadash.pools.models import PoolChange
from hadash.sentences import Explained, Sentence, say
from hadash.switching.approvals.workflow import Start, Workflow
from hadash.switching.refusals import EnginesAway, PlanChanged


class PoolChangeWorkflow(Workflow[PoolChange]):
    """The workflow of changes of pools. (An approved one cannot be cancelled: it may have been written already.)"""

    MODEL = PoolChange
    EVENT = Event

    def may_not_decide(self) -> PermissionDenied:
        return PermissionDenied("You may not decide on changes of pools.")

    def may_not_cancel(self) -> PermissionDenied:
        return PermissionDenied("You may not cancel changes of pools.")

    def own_request(self) -> PermissionDenied:
        return PermissionDenied("You requested this change: somebody else has to decide on it.")

    def changed_since_seen(self) -> Sentence:
        return say("What would be written has changed since you saw it. Look at it again.")

    def look_again(self, row: PoolChange) -> None:
        try:
            why = against(row.change, view_of(zookeeper(), row.pool))
        except Explained as error:
            raise EnginesAway(say("%(error)s", error=error)) from None
        if why:
            raise PlanChanged(why)

    def begin(self, held: PoolChange, start: Start[PoolChange]) -> None:
        transaction.on_commit(lambda: start(held))


POOL_CHANGES = PoolChangeWorkflow()
approve, decline, cancel = POOL_CHANGES.approve, POOL_CHANGES.decline, POOL_CHANGES.cancel
