"""What is announced when a switch, a batch, a change of bindings or an approval is saved: in the same transaction."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_save
from django.urls import reverse

from hadash.notices.announcing import announce
from hadash.notices.kinds import NoticeKind
from hadash.sentences import Sentence, say
from hadash.switching.batches.machine import Status as BatchStatus
from hadash.switching.batches.models import Batch
from hadash.switching.by_hand.machine import Status as ChangeStatus
from hadash.switching.by_hand.models import BindingApproval, BindingChange
from hadash.switching.machine import Status
from hadash.switching.models import Approval, Switch

#: A switch's status → what is announced.
_OF_SWITCH: dict[Status, NoticeKind] = {
    Status.AWAITING_APPROVAL: NoticeKind.APPROVAL_ASKED,
    Status.DECLINED: NoticeKind.APPROVAL_DECLINED,
    Status.RUNNING: NoticeKind.SWITCH_BEGAN,
    Status.PAUSED: NoticeKind.SWITCH_WAITS,
    Status.SUCCEEDED: NoticeKind.SWITCH_ENDED,
    Status.ROLLED_BACK: NoticeKind.SWITCH_ENDED,
    Status.EXPIRED: NoticeKind.SWITCH_ENDED,
    Status.CLOSED: NoticeKind.SWITCH_ENDED,
    Status.NEEDS_ATTENTION: NoticeKind.SWITCH_NEEDS_SOMEBODY,
}


def connect() -> None:
    for model, receiver in (
        (Switch, _switch_saved),
        (Batch, _batch_saved),
        (BindingChange, _change_saved),
        (Approval, _approved),
        (BindingApproval, _change_approved),
    ):
        post_save.connect(receiver, sender=model, dispatch_uid=f"notices of {model.__name__}")


def _status_was_saved(update_fields: Any) -> bool:
    return update_fields is None or "status" in update_fields


def _switch_saved(
    sender: Any, instance: Switch, update_fields: Any = None, raw: bool = False, **kwargs: Any
) -> None:
    if raw or not _status_was_saved(update_fields):
        return
    switch = instance
    kind = _OF_SWITCH.get(switch.current)
    if kind is None:
        return
    # (What comes again is another thing each time: a switch may need somebody twice.)
    key = f"{switch.key}:{switch.status}:{switch.token}"
    announce(
        kind,
        key,
        _of_switch(kind, switch),
        switch.get_absolute_url(),
        switch.pair,
        _involved(switch),
        _actor(kind, switch),
        switch.outcome_sentence if switch.outcome else None,
    )


def _of_switch(kind: NoticeKind, switch: Switch) -> Sentence:
    told = {"scope": str(switch.scope), "source": switch.source.name, "target": switch.target.name}
    match kind:
        case NoticeKind.APPROVAL_ASKED:
            return say(
                "%(person)s asks for a switch of %(scope)s from %(source)s to %(target)s: %(reason)s",
                **told,
                person=str(switch.requested_by),
                reason=switch.reason,
            )
        case NoticeKind.APPROVAL_DECLINED:
            return say(
                "%(person)s has declined the switch of %(scope)s: %(note)s",
                **told,
                person=str(switch.decided_by),
                note=switch.decision_note,
            )
        case NoticeKind.SWITCH_BEGAN:
            return say("The switch of %(scope)s from %(source)s to %(target)s has begun.", **told)
        case NoticeKind.SWITCH_WAITS:
            return say("The switch of %(scope)s waits for a go: all is ready.", **told)
        case NoticeKind.SWITCH_NEEDS_SOMEBODY:
            return say("The switch of %(scope)s needs somebody.", **told)
        case _:
            return say("The switch of %(scope)s from %(source)s to %(target)s has ended.", **told)


def _involved(held: Any) -> list[Any]:
    return [held.requested_by, held.decided_by]


def _actor(kind: NoticeKind, held: Any) -> Any:
    if kind is NoticeKind.APPROVAL_ASKED:
        return held.requested_by
    return held.decided_by if kind is NoticeKind.APPROVAL_DECLINED else None


def _batch_saved(
    sender: Any, instance: Batch, update_fields: Any = None, raw: bool = False, **kwargs: Any
) -> None:
    if raw or not _status_was_saved(update_fields):
        return
    batch = instance
    told = {"key": batch.key, "target": batch.target.name}
    made = {
        BatchStatus.AWAITING_APPROVAL: (
            NoticeKind.APPROVAL_ASKED,
            say(
                "%(person)s asks for batch %(key)s to %(target)s: %(reason)s",
                **told,
                person=str(batch.requested_by),
                reason=batch.reason,
            ),
        ),
        BatchStatus.DECLINED: (
            NoticeKind.APPROVAL_DECLINED,
            say(
                "%(person)s has declined batch %(key)s: %(note)s",
                **told,
                person=str(batch.decided_by),
                note=batch.decision_note,
            ),
        ),
        BatchStatus.STOPPED: (
            NoticeKind.SWITCH_NEEDS_SOMEBODY,
            say("Batch %(key)s to %(target)s has stopped.", **told),
        ),
        BatchStatus.FINISHED: (
            NoticeKind.SWITCH_ENDED,
            say("Batch %(key)s to %(target)s is finished.", **told),
        ),
        BatchStatus.ENDED: (
            NoticeKind.SWITCH_ENDED,
            say("Batch %(key)s to %(target)s has ended early.", **told),
        ),
    }.get(batch.current)
    if made is not None:
        kind, sentence = made
        key = f"{batch.key}:{batch.status}:{batch.looked_at or ''}"
        announce(
            kind, key, sentence, batch.get_absolute_url(), batch.pair, _involved(batch), _actor(kind, batch)
        )


def _change_saved(
    sender: Any, instance: BindingChange, update_fields: Any = None, raw: bool = False, **kwargs: Any
) -> None:
    if raw or not _status_was_saved(update_fields):
        return
    change = instance
    told = {"appid": change.appid}
    made = {
        ChangeStatus.AWAITING_APPROVAL: (
            NoticeKind.APPROVAL_ASKED,
            say(
                "%(person)s asks for a change of bindings of %(appid)s: %(reason)s",
                **told,
                person=str(change.requested_by),
                reason=change.reason,
            ),
        ),
        ChangeStatus.DECLINED: (
            NoticeKind.APPROVAL_DECLINED,
            say(
                "%(person)s has declined the change of bindings of %(appid)s: %(note)s",
                **told,
                person=str(change.decided_by),
                note=change.decision_note,
            ),
        ),
        ChangeStatus.FAILED: (
            NoticeKind.SWITCH_NEEDS_SOMEBODY,
            say("The change of bindings of %(appid)s has failed.", **told),
        ),
    }.get(change.current)
    if made is not None:
        kind, sentence = made
        announce(
            kind,
            f"{change.key}:{change.status}",
            sentence,
            reverse("binding-change", args=[change.key]),
            change.pair,
            _involved(change),
            _actor(kind, change),
        )


def _approved(
    sender: Any, instance: Approval, created: bool = False, raw: bool = False, **kwargs: Any
) -> None:
    if not created or raw:
        return
    switch = instance.switch
    sentence = say(
        "%(person)s has approved the switch of %(scope)s.", person=str(instance.user), scope=str(switch.scope)
    )
    announce(
        NoticeKind.APPROVAL_GIVEN,
        f"{switch.key}:{instance.user_id}",
        sentence,
        switch.get_absolute_url(),
        switch.pair,
        [switch.requested_by],
        instance.user,
    )


def _change_approved(
    sender: Any, instance: BindingApproval, created: bool = False, raw: bool = False, **kwargs: Any
) -> None:
    if not created or raw:
        return
    change = instance.change
    sentence = say(
        "%(person)s has approved the change of bindings of %(appid)s.",
        person=str(instance.user),
        appid=change.appid,
    )
    announce(
        NoticeKind.APPROVAL_GIVEN,
        f"{change.key}:{instance.user_id}",
        sentence,
        reverse("binding-change", args=[change.key]),
        change.pair,
        [change.requested_by],
        instance.user,
    )
