"""How states look: look and icon of every state stand here and nowhere else. Words come from the models.

There are five looks: fine, waiting, bad, unknown (hatched) and off (ended, neither good nor bad). None of them is
blue or orange: those two hues say which cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from hadash.bindings.model import BindingState, GatewayMember
from hadash.governance.catalogue import Severity
from hadash.governance.models import Finding, Run
from hadash.inventory import differences, workers
from hadash.inventory.models import Cluster, Worker
from hadash.mirroring.models import Mirror
from hadash.outbox.models import STATE_LABELS
from hadash.outbox.states import State as DeliveryState
from hadash.presentation.labels import SEVERITY_WORDS
from hadash.switching.machines import batches
from hadash.switching.machines.binding_changes import Status as ChangeStatus
from hadash.switching.machines.retirements import Status as RetirementStatus
from hadash.switching.machines.switches import Status
from hadash.switching.models.batches import Batch, BatchItem
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import StageRecord, Switch

#: Looks that are missed before what was seen last counts as unknown.
_LOOKS_MISSED = 4


@dataclass(frozen=True, slots=True)
class State:
    """``look`` is a CSS class, ``icon`` the id of a symbol in ``parts/icons.html``."""

    look: str
    icon: str
    word: str


STATUS_LOOKS: dict[Status, tuple[str, str]] = {
    Status.AWAITING_APPROVAL: ("waiting", "waiting"),
    Status.APPROVED: ("waiting", "waiting"),
    Status.PAUSED: ("waiting", "waiting"),
    Status.RUNNING: ("waiting", "running"),
    Status.SUCCEEDED: ("fine", "fine"),
    Status.ROLLED_BACK: ("off", "back"),
    Status.NEEDS_ATTENTION: ("bad", "bad"),
    Status.DECLINED: ("off", "off"),
    Status.CANCELLED: ("off", "off"),
    Status.EXPIRED: ("off", "off"),
    Status.CLOSED: ("off", "off"),
}

RETIREMENT_LOOKS: dict[RetirementStatus, tuple[str, str]] = {
    RetirementStatus.WAITING: ("waiting", "waiting"),
    RetirementStatus.RUNNING: ("waiting", "running"),
    RetirementStatus.DONE: ("fine", "fine"),
    RetirementStatus.KEPT: ("off", "off"),
    RetirementStatus.FAILED: ("bad", "bad"),
}

CHANGE_LOOKS: dict[ChangeStatus, tuple[str, str]] = {
    ChangeStatus.AWAITING_APPROVAL: ("waiting", "waiting"),
    ChangeStatus.APPROVED: ("waiting", "running"),
    ChangeStatus.APPLIED: ("fine", "fine"),
    ChangeStatus.FAILED: ("bad", "bad"),
    ChangeStatus.DECLINED: ("off", "off"),
    ChangeStatus.CANCELLED: ("off", "off"),
    ChangeStatus.EXPIRED: ("off", "off"),
}

RUN_LOOKS: dict[Run.State, tuple[str, str]] = {
    Run.State.WAITING: ("waiting", "waiting"),
    Run.State.RUNNING: ("waiting", "running"),
    Run.State.PUBLISHED: ("fine", "fine"),
    Run.State.FAILED: ("bad", "bad"),
}

SEVERITY_LOOKS: dict[Severity, tuple[str, str]] = {
    Severity.HIGH: ("bad", "bad"),
    Severity.MEDIUM: ("waiting", "unknown"),
    Severity.LOW: ("off", "pending"),
}

BATCH_LOOKS: dict[batches.Status, tuple[str, str]] = {
    batches.Status.AWAITING_APPROVAL: ("waiting", "waiting"),
    batches.Status.APPROVED: ("waiting", "waiting"),
    batches.Status.RUNNING: ("waiting", "running"),
    batches.Status.STOPPED: ("bad", "bad"),
    batches.Status.FINISHED: ("fine", "fine"),
    batches.Status.ENDED: ("off", "interrupted"),
    batches.Status.DECLINED: ("off", "off"),
    batches.Status.CANCELLED: ("off", "off"),
    batches.Status.EXPIRED: ("off", "off"),
}

ITEM_LOOKS: dict[batches.ItemStatus, tuple[str, str]] = {
    batches.ItemStatus.WAITING: ("off", "pending"),
    batches.ItemStatus.RUNNING: ("waiting", "running"),
    batches.ItemStatus.DONE: ("fine", "fine"),
    batches.ItemStatus.FAILED: ("bad", "bad"),
    batches.ItemStatus.DROPPED: ("off", "off"),
}

RESULT_LOOKS: dict[str, tuple[str, str]] = {
    "": ("off", "pending"),
    StageRecord.Result.RUNNING: ("waiting", "running"),
    StageRecord.Result.DONE: ("fine", "fine"),
    StageRecord.Result.FAILED: ("bad", "bad"),
    StageRecord.Result.INTERRUPTED: ("off", "interrupted"),
}

MIRROR_LOOKS: dict[str, tuple[str, str]] = {
    Mirror.State.RUNNING: ("fine", "fine"),
    Mirror.State.STOPPED: ("bad", "bad"),
    Mirror.State.FAILED: ("bad", "bad"),
    Mirror.State.UNKNOWN: ("unknown", "unknown"),
    Mirror.State.TURNING: ("waiting", "running"),
}

#: Not the model's own words: a switch that is running and a mirror that is running are two words in Chinese.
MIRROR_WORDS: dict[str, Any] = {
    Mirror.State.RUNNING: pgettext_lazy("mirror", "running"),
    Mirror.State.STOPPED: pgettext_lazy("mirror", "stopped"),
    Mirror.State.FAILED: pgettext_lazy("mirror", "failed"),
    Mirror.State.UNKNOWN: pgettext_lazy("mirror", "unknown"),
    Mirror.State.TURNING: pgettext_lazy("mirror", "turning round"),
}

#: The states of a connector's task, as Connect names them, and hadash's word for one that it could not ask about.
TASK_LOOKS: dict[str, tuple[str, str, Any]] = {
    "RUNNING": ("fine", "fine", pgettext_lazy("task", "running")),
    "PAUSED": ("waiting", "waiting", pgettext_lazy("task", "paused")),
    "STOPPED": ("bad", "bad", pgettext_lazy("task", "stopped")),
    "FAILED": ("bad", "bad", pgettext_lazy("task", "failed")),
    "UNASSIGNED": ("waiting", "waiting", pgettext_lazy("task", "on no worker")),
    "RESTARTING": ("waiting", "running", pgettext_lazy("task", "restarting")),
    "UNKNOWN": ("unknown", "unknown", pgettext_lazy("task", "not known")),
}

BINDING_LOOKS: dict[BindingState, tuple[str, str]] = {
    BindingState.FORWARD: ("fine", "fine"),
    BindingState.GATHER: ("waiting", "waiting"),
    BindingState.SETTLE: ("waiting", "waiting"),
    BindingState.BLOCK: ("waiting", "waiting"),
}

#: What nobody has declared waits for somebody who does; what was never seen is no fault by itself.
DECLARATION_LOOKS: dict[differences.State, tuple[str, str]] = {
    differences.State.UNDECLARED: ("waiting", "waiting"),
    differences.State.UNSEEN: ("off", "pending"),
    differences.State.AGREED: ("fine", "fine"),
}


def of_status(switch: Switch) -> State:
    return State(*STATUS_LOOKS[switch.current], str(switch.get_status_display()))


def of_waiting(switch: Switch) -> State:
    """Of a switch that waits for somebody, why it does: one that has succeeded waits because of its old Topics."""
    if switch.the_kind.spec.removes_old_topics and switch.current is Status.SUCCEEDED:
        return State("bad", "bad", _("old Topics not removed"))
    return of_status(switch)


def of_retirement(retirement: Retirement) -> State:
    return State(*RETIREMENT_LOOKS[retirement.current], str(retirement.get_status_display()))


def of_change(change: BindingChange) -> State:
    return State(*CHANGE_LOOKS[change.current], str(change.get_status_display()))


def status_words() -> dict[str, State]:
    """Every status with its look, for filters."""
    return {value: State(*STATUS_LOOKS[Status(value)], str(label)) for value, label in Switch.STATUS_LABELS}


def of_batch(batch: Batch) -> State:
    return State(*BATCH_LOOKS[batch.current], str(batch.get_status_display()))


def of_item(status: batches.ItemStatus) -> State:
    """Of one radius of a batch, or of a whole wave."""
    return State(*ITEM_LOOKS[status], str(dict(BatchItem.STATUS_LABELS)[status.value]))


def of_result(result: str, over: bool = False) -> State:
    """``""`` is a stage that has not begun. :param over: the switch has ended: what has not begun never will."""
    word = StageRecord.Result(result).label if result else _("not run") if over else _("waiting")
    return State(*RESULT_LOOKS[result], str(word))


def _limit(every: float) -> timedelta:
    """How long what was seen counts, of what is looked at so often (seconds)."""
    return timedelta(seconds=max(10.0, _LOOKS_MISSED * every))


def _old(looked_at: datetime | None, every: float) -> bool:
    return looked_at is None or timezone.now() - looked_at > _limit(every)


def mirrors_seen_since() -> datetime:
    """Mirrors that were looked at before are not known."""
    return timezone.now() - _limit(settings.LAG_SAMPLE_SECONDS)


def mirror_holds(state: str, is_seen: bool) -> bool | None:
    """Whether all is well with a mirror, as :func:`of_mirror` shows it; ``None`` when nobody knows.

    :param is_seen: whether it was looked at since :func:`mirrors_seen_since`.
    """
    look = MIRROR_LOOKS[state][0] if is_seen else "unknown"
    return None if look == "unknown" else look == "fine"


def of_mirror(mirror: Mirror) -> State:
    """What was seen too long ago is unknown, whatever it was."""
    if mirror.looked_at is None:
        return State("unknown", "unknown", _("not looked at yet"))
    if _old(mirror.looked_at, settings.LAG_SAMPLE_SECONDS):
        return State("unknown", "unknown", _("not looked at lately"))
    return State(*MIRROR_LOOKS[mirror.state], str(MIRROR_WORDS[mirror.state]))


def of_task(value: str) -> State:
    """A state that this version does not know is shown as Connect says it."""
    look, icon, word = TASK_LOOKS.get(value, ("unknown", "unknown", value))
    return State(look, icon, str(word))


def of_worker(worker: Worker, now: datetime) -> State:
    if workers.is_there(worker, now):
        return State("fine", "fine", _("is there"))
    return State("bad", "bad", _("says nothing any more"))


def of_cluster(cluster: Cluster) -> State:
    if cluster.generated:
        return State("unknown", "unknown", _("generated"))
    if cluster.looked_at is None:
        return State("unknown", "unknown", _("not looked at yet"))
    if _old(cluster.looked_at, settings.CLUSTER_LOOK_SECONDS):
        return State("unknown", "unknown", _("not looked at lately"))
    if cluster.fault:
        return State("bad", "bad", _("does not answer"))
    return State("fine", "fine", _("answers"))


def of_gateway(member: GatewayMember, epoch: int | None) -> State:
    if member.excluded:
        return State("off", "off", _("excluded"))
    if not member.live:
        return State("bad", "bad", _("does not answer"))
    if epoch is not None and member.report.is_ahead_of(epoch):
        return State("bad", "bad", _("knows changes that ZooKeeper has lost"))
    if epoch is not None and not member.report.has(epoch):
        return State("waiting", "waiting", _("applying"))
    return State("fine", "fine", _("in effect"))


def of_binding(state: BindingState) -> State:
    words: dict[BindingState, Any] = {
        BindingState.FORWARD: _("forwards"),
        BindingState.GATHER: _("gathers"),
        BindingState.SETTLE: _("settles"),
        BindingState.BLOCK: _("blocked"),
    }
    return State(*BINDING_LOOKS[state], words[state])


def of_declaration(state: differences.State) -> State:
    """Of a relation that was declared, seen, or both."""
    words: dict[differences.State, Any] = {
        differences.State.UNDECLARED: _("seen, not declared"),
        differences.State.UNSEEN: _("declared, never seen"),
        differences.State.AGREED: _("declared and seen"),
    }
    return State(*DECLARATION_LOOKS[state], words[state])


def of_run(run: Run) -> State:
    return State(*RUN_LOOKS[Run.State(run.state)], str(Run.State(run.state).label))


def of_severity(severity: Severity) -> State:
    return State(*SEVERITY_LOOKS[severity], str(SEVERITY_WORDS[severity]))


def of_finding(finding: Finding, accepted: bool) -> State:
    """Open, accepted by somebody, or resolved."""
    if finding.state == Finding.State.RESOLVED:
        return State("fine", "fine", str(Finding.State.RESOLVED.label))
    if accepted:
        return State("off", "fine", pgettext("finding", "accepted"))
    return State("bad", "bad", str(Finding.State.OPEN.label))


#: Looks of deliveries.
DELIVERY_LOOKS: dict[DeliveryState, tuple[str, str]] = {
    DeliveryState.QUEUED: ("waiting", "waiting"),
    DeliveryState.SENDING: ("waiting", "running"),
    DeliveryState.HANDED_OVER: ("waiting", "running"),
    DeliveryState.ACCEPTED: ("fine", "fine"),
    DeliveryState.DEFERRED: ("waiting", "waiting"),
    DeliveryState.FAILED: ("bad", "bad"),
    DeliveryState.UNCERTAIN: ("unknown", "unknown"),
    DeliveryState.BOUNCED: ("bad", "bad"),
    DeliveryState.CANCELLED: ("off", "off"),
}


def of_delivery(state: DeliveryState) -> State:
    return State(*DELIVERY_LOOKS[state], str(STATE_LABELS[state]))
