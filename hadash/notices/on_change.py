"""Announces saved switches, batches, changes of bindings and of pools, and approvals, in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models.signals import post_save

from hadash.accounts.roles import DECIDE, people_who
from hadash.changes import Status as ChangeStatus
from hadash.notices.announcing import announce
from hadash.notices.kinds import NoticeKind
from hadash.pools.models import PoolApproval, PoolChange
from hadash.sentences import Sentence, say
from hadash.switching.machines.batches import Status as BatchStatus
from hadash.switching.machines.switches import Status
from hadash.switching.models.batches import Batch, BatchApproval
from hadash.switching.models.binding_changes import BindingApproval, BindingChange
from hadash.switching.models.switches import Approval, Switch

#: The kind of a notice, and the function that makes its sentence.
Made = tuple[NoticeKind, Callable[[Any], Sentence]]


def _told(switch: Switch) -> dict[str, str]:
    return {"scope": str(switch.scope), "source": switch.source.name, "target": switch.target.name}


def _of_batch(batch: Batch) -> dict[str, str]:
    return {"key": batch.key, "target": batch.target.name}


_HAS_ENDED: Made = (
    NoticeKind.SWITCH_ENDED,
    lambda switch: say("The switch of %(scope)s from %(source)s to %(target)s has ended.", **_told(switch)),
)

_OF_SWITCH: dict[Any, Made] = {
    Status.AWAITING_APPROVAL: (
        NoticeKind.APPROVAL_ASKED,
        lambda switch: say(
            "%(person)s asks for a switch of %(scope)s from %(source)s to %(target)s: %(reason)s",
            **_told(switch),
            person=str(switch.requested_by),
            reason=switch.reason,
        ),
    ),
    Status.DECLINED: (
        NoticeKind.APPROVAL_DECLINED,
        lambda switch: say(
            "%(person)s has declined the switch of %(scope)s: %(note)s",
            **_told(switch),
            person=str(switch.decided_by),
            note=switch.decision_note,
        ),
    ),
    Status.RUNNING: (
        NoticeKind.SWITCH_BEGAN,
        lambda switch: say(
            "The switch of %(scope)s from %(source)s to %(target)s has begun.", **_told(switch)
        ),
    ),
    Status.PAUSED: (
        NoticeKind.SWITCH_WAITS,
        lambda switch: say(
            "The switch of %(scope)s is paused until somebody resumes it: all is ready.", **_told(switch)
        ),
    ),
    Status.NEEDS_ATTENTION: (
        NoticeKind.SWITCH_NEEDS_SOMEBODY,
        lambda switch: say("The switch of %(scope)s needs somebody.", **_told(switch)),
    ),
    Status.SUCCEEDED: _HAS_ENDED,
    Status.ROLLED_BACK: _HAS_ENDED,
    Status.EXPIRED: _HAS_ENDED,
    Status.CLOSED: _HAS_ENDED,
    Status.CANCELLED: (
        NoticeKind.SWITCH_ENDED,
        lambda switch: say(
            "The switch of %(scope)s from %(source)s to %(target)s was cancelled before it began.",
            **_told(switch),
        ),
    ),
}

_OF_A_BATCH: dict[Any, Made] = {
    BatchStatus.AWAITING_APPROVAL: (
        NoticeKind.APPROVAL_ASKED,
        lambda batch: say(
            "%(person)s asks for batch %(key)s to %(target)s: %(reason)s",
            **_of_batch(batch),
            person=str(batch.requested_by),
            reason=batch.reason,
        ),
    ),
    BatchStatus.DECLINED: (
        NoticeKind.APPROVAL_DECLINED,
        lambda batch: say(
            "%(person)s has declined batch %(key)s: %(note)s",
            **_of_batch(batch),
            person=str(batch.decided_by),
            note=batch.decision_note,
        ),
    ),
    BatchStatus.EXPIRED: (
        NoticeKind.SWITCH_ENDED,
        lambda batch: say("Batch %(key)s to %(target)s has expired: nobody approved it.", **_of_batch(batch)),
    ),
    BatchStatus.CANCELLED: (
        NoticeKind.SWITCH_ENDED,
        lambda batch: say("Batch %(key)s to %(target)s was cancelled before it began.", **_of_batch(batch)),
    ),
    BatchStatus.STOPPED: (
        NoticeKind.SWITCH_NEEDS_SOMEBODY,
        lambda batch: say("Batch %(key)s to %(target)s has stopped.", **_of_batch(batch)),
    ),
    BatchStatus.FINISHED: (
        NoticeKind.SWITCH_ENDED,
        lambda batch: say("Batch %(key)s to %(target)s is finished.", **_of_batch(batch)),
    ),
    BatchStatus.ENDED: (
        NoticeKind.SWITCH_ENDED,
        lambda batch: say("Batch %(key)s to %(target)s has ended early.", **_of_batch(batch)),
    ),
}

_OF_CHANGE: dict[Any, Made] = {
    ChangeStatus.AWAITING_APPROVAL: (
        NoticeKind.APPROVAL_ASKED,
        lambda change: say(
            "%(person)s asks for a change of bindings of %(appid)s: %(reason)s",
            appid=change.appid,
            person=str(change.requested_by),
            reason=change.reason,
        ),
    ),
    ChangeStatus.DECLINED: (
        NoticeKind.APPROVAL_DECLINED,
        lambda change: say(
            "%(person)s has declined the change of bindings of %(appid)s: %(note)s",
            appid=change.appid,
            person=str(change.decided_by),
            note=change.decision_note,
        ),
    ),
    ChangeStatus.EXPIRED: (
        NoticeKind.SWITCH_ENDED,
        lambda change: say(
            "The change of bindings of %(appid)s has expired: nobody approved it.", appid=change.appid
        ),
    ),
    ChangeStatus.CANCELLED: (
        NoticeKind.SWITCH_ENDED,
        lambda change: say("The change of bindings of %(appid)s was cancelled.", appid=change.appid),
    ),
    ChangeStatus.APPLIED: (
        NoticeKind.SWITCH_ENDED,
        lambda change: say("The change of bindings of %(appid)s is in effect.", appid=change.appid),
    ),
    ChangeStatus.FAILED: (
        NoticeKind.SWITCH_NEEDS_SOMEBODY,
        lambda change: say("The change of bindings of %(appid)s has failed.", appid=change.appid),
    ),
}


#: (A change that needs nobody's approval is written before its page is answered: only its failure is told.)
_OF_POOL_CHANGE: dict[Any, Made] = {
    ChangeStatus.AWAITING_APPROVAL: (
        NoticeKind.APPROVAL_ASKED,
        lambda change: say(
            "%(person)s asks for a change of pool %(pool)s: %(what)s %(reason)s",
            **_of_pool_change(change),
            person=str(change.requested_by),
            reason=change.reason,
        ),
    ),
    ChangeStatus.DECLINED: (
        NoticeKind.APPROVAL_DECLINED,
        lambda change: say(
            "%(person)s has declined the change of pool %(pool)s: %(note)s",
            pool=change.pool,
            person=str(change.decided_by),
            note=change.decision_note,
        ),
    ),
    ChangeStatus.EXPIRED: (
        NoticeKind.SWITCH_ENDED,
        lambda change: say(
            "The change of pool %(pool)s has expired, nobody approved it: %(what)s", **_of_pool_change(change)
        ),
    ),
    ChangeStatus.CANCELLED: (
        NoticeKind.SWITCH_ENDED,
        lambda change: say("The change of pool %(pool)s was cancelled: %(what)s", **_of_pool_change(change)),
    ),
    ChangeStatus.FAILED: (
        NoticeKind.SWITCH_NEEDS_SOMEBODY,
        lambda change: say("The change of pool %(pool)s has failed: %(what)s", **_of_pool_change(change)),
    ),
}


def _of_pool_change(change: PoolChange) -> dict[str, Any]:
    return {"pool": change.pool, "what": change.sentence}


@dataclass(frozen=True, slots=True)
class _Announced:
    """The notices about one kind of request.

    :param made: the notices by status.
    :param times: distinguishes repeated changes to the same status: a switch may need an operator twice.
    """

    made: Mapping[Any, Made]
    times: Callable[[Any], str] = lambda held: ""

    def saved(
        self, sender: Any, instance: Any, update_fields: Any = None, raw: bool = False, **_: Any
    ) -> None:
        made = self.made.get(instance.current)
        if raw or made is None or not (update_fields is None or "status" in update_fields):
            return
        kind, sentence = made
        actor = {
            NoticeKind.APPROVAL_ASKED: instance.requested_by,
            NoticeKind.APPROVAL_DECLINED: instance.decided_by,
        }.get(kind)
        announce(
            kind,
            f"{instance.key}:{instance.status}{self.times(instance)}",
            sentence(instance),
            instance.get_absolute_url(),
            instance.pair,
            _involved(instance),
            actor,
            _outcome(instance),
        )


#: Without a decision these end what people have been asked for: they hear that they need not decide any more.
_NEEDS_NO_DECISION = frozenset({Status.CANCELLED.value, Status.EXPIRED.value})


def _involved(held: Any) -> list[Any]:
    """Return who takes part in a request: who made it, who has approved or declined it, and, when it has ended without
    a decision, who was asked for one.
    """
    found = [
        held.requested_by,
        held.decided_by,
        *(given.user for given in held.approvals.select_related("user")),
    ]
    if held.status in _NEEDS_NO_DECISION and held.decided_by_id is None:
        found += people_who(DECIDE, held.pair)
    return found


def _outcome(held: Any) -> Sentence | None:
    return held.outcome_sentence if isinstance(held, Switch) and held.outcome else None


_ANNOUNCED: dict[Any, _Announced] = {
    # (A switch begins once, however often it is paused and resumed.)
    Switch: _Announced(
        _OF_SWITCH, times=lambda switch: "" if switch.current is Status.RUNNING else f":{switch.token}"
    ),
    Batch: _Announced(_OF_A_BATCH, times=lambda batch: f":{batch.looked_at or ''}"),
    BindingChange: _Announced(_OF_CHANGE),
    PoolChange: _Announced(_OF_POOL_CHANGE),
}


def _approved(field: str, sentence: Callable[[Any, str], Sentence]) -> Callable[..., None]:
    """Return the receiver that announces an approval.

    :param field: the field of the approval with its request.
    """

    def receive(sender: Any, instance: Any, created: bool = False, raw: bool = False, **_: Any) -> None:
        if not created or raw:
            return
        held, user = getattr(instance, field), instance.user
        key = f"{held.key}:{instance.user_id}"
        told = sentence(held, str(user))
        announce(
            NoticeKind.APPROVAL_GIVEN,
            key,
            told,
            held.get_absolute_url(),
            held.pair,
            [held.requested_by],
            user,
        )

    return receive


_APPROVED: dict[Any, Callable[..., None]] = {
    Approval: _approved(
        "switch",
        lambda switch, person: say(
            "%(person)s has approved the switch of %(scope)s.", person=person, scope=str(switch.scope)
        ),
    ),
    BatchApproval: _approved(
        "batch",
        lambda batch, person: say(
            "%(person)s has approved batch %(key)s to %(target)s.", person=person, **_of_batch(batch)
        ),
    ),
    BindingApproval: _approved(
        "change",
        lambda change, person: say(
            "%(person)s has approved the change of bindings of %(appid)s.", person=person, appid=change.appid
        ),
    ),
    PoolApproval: _approved(
        "change",
        lambda change, person: say(
            "%(person)s has approved the change of pool %(pool)s: %(what)s",
            **_of_pool_change(change),
            person=person,
        ),
    ),
}


def connect() -> None:
    """Connect the receivers to Django's signals."""
    receivers = {model: each.saved for model, each in _ANNOUNCED.items()} | _APPROVED
    for model, receiver in receivers.items():
        # (A weakly referenced bound method would be garbage collected at once.)
        uid = f"notices of {model.__name__}"
        post_save.connect(receiver, sender=model, dispatch_uid=uid, weak=False)
