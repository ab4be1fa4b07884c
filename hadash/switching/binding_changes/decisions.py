"""What people decide on a requested change of bindings: approve, decline, cancel."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db import transaction

from hadash.changes import Event
from hadash.inventory.models import AppID
from hadash.sentences import Sentence, say
from hadash.switching.approvals.workflow import Start, Workflow
from hadash.switching.binding_changes.requests import look
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.planning import overlaps
from hadash.switching.refusals import PlanChanged


class BindingChangeWorkflow(Workflow[BindingChange]):
    """The workflow of changes. (An approved one cannot be cancelled: a worker may have written it already.)"""

    MODEL = BindingChange
    EVENT = Event

    def may_not_decide(self) -> PermissionDenied:
        return PermissionDenied("You may not decide on changes of bindings.")

    def may_not_cancel(self) -> PermissionDenied:
        return PermissionDenied("You may not cancel changes of bindings.")

    def own_request(self) -> PermissionDenied:
        return PermissionDenied("You requested this change: somebody else has to decide on it.")

    def changed_since_seen(self) -> Sentence:
        return say("What would be written has changed since you saw it. Look at it again.")

    def look_again(self, row: BindingChange) -> None:
        appid = AppID.objects.select_related("pair__default").filter(pair=row.pair, name=row.appid).first()
        if appid is None:
            raise PlanChanged(say("AppID %(appid)s does not exist any more. Decline it.", appid=row.appid))
        found = look(appid, row.wanted)
        if found.blockers or found.edits != row.the_edits:
            raise PlanChanged(
                say("What is bound or used has changed since the request. Look at it again."), *found.blockers
            )

    def lock_beside(self, row: BindingChange) -> None:
        overlaps.lock()

    def check_locked(self, held: BindingChange) -> None:
        """:raises Busy: a switch holds part of it."""
        overlaps.refuse_overlap(held.radius)

    def begin(self, held: BindingChange, start: Start[BindingChange]) -> None:
        """Let a worker write it."""
        transaction.on_commit(lambda: start(held))


BINDING_CHANGES = BindingChangeWorkflow()
approve, decline, cancel = BINDING_CHANGES.approve, BINDING_CHANGES.decline, BINDING_CHANGES.cancel
