"""Badges: how states are shown. Models define words and looks beside their states (``SHOWN``); those of packages that
know no Django, and those of Kafka Connect, are defined here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from hadash.auditors.proofs import Proof
from hadash.bindings.model import BindingState, GatewayMember
from hadash.full_audits.machine import Status as FullAuditStatus
from hadash.full_audits.models import FullAudit
from hadash.governance.catalogue import Severity
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory import differences, looks, workers
from hadash.inventory.models import Cluster, Worker
from hadash.mirroring.models import Mirror
from hadash.presentation.labels import SEVERITY_WORDS
from hadash.shown import Look, Shown
from hadash.stateful import Stateful
from hadash.switching.machines.switches import Status
from hadash.switching.models.switches import StageRecord, Switch


@dataclass(frozen=True, slots=True)
class State:
    """A state as a badge. ``look`` is a CSS class, ``icon`` the id of a symbol in ``parts/icons.html``."""

    look: str
    icon: str
    word: str

    @property
    def is_fine(self) -> bool:
        """Whether all is well. (What is unknown is not.)"""
        return self.look == Look.FINE

    @property
    def holds(self) -> bool | None:
        """Whether all is well; ``None`` when that is unknown."""
        return None if self.look == Look.UNKNOWN else self.is_fine


_DIFFERS = Shown(gettext_lazy("differs"), Look.BAD, "bad")

#: What an audit proves.
PROOFS: dict[Proof, Shown] = {
    Proof.EQUAL: Shown(gettext_lazy("proved equal"), Look.FINE, "fine"),
    Proof.UNDER_WAY: Shown(gettext_lazy("being compared"), Look.WAITING, "running"),
    Proof.UNKNOWN: Shown(gettext_lazy("not proved"), Look.UNKNOWN, "unknown"),
    Proof.DIFFERENT: _DIFFERS,
}

#: The states of a connector's task, as Connect names them, and ``UNKNOWN`` for a task that hadash could not ask about.
TASKS: dict[str, Shown] = {
    "RUNNING": Shown(pgettext_lazy("task", "running"), Look.FINE, "fine"),
    "PAUSED": Shown(pgettext_lazy("task", "paused"), Look.WAITING, "waiting"),
    "STOPPED": Shown(pgettext_lazy("task", "stopped"), Look.BAD, "bad"),
    "FAILED": Shown(pgettext_lazy("task", "failed"), Look.BAD, "bad"),
    "UNASSIGNED": Shown(pgettext_lazy("task", "on no worker"), Look.WAITING, "waiting"),
    "RESTARTING": Shown(pgettext_lazy("task", "restarting"), Look.WAITING, "running"),
    "UNKNOWN": Shown(pgettext_lazy("task", "not known"), Look.UNKNOWN, "unknown"),
}

BINDINGS: dict[BindingState, Shown] = {
    BindingState.FORWARD: Shown(gettext_lazy("forwards"), Look.FINE, "fine"),
    BindingState.HOLD_HEARTBEATS: Shown(gettext_lazy("holds heartbeats"), Look.WAITING, "waiting"),
    BindingState.QUIESCE: Shown(gettext_lazy("quiesces"), Look.WAITING, "waiting"),
    BindingState.BLOCK: Shown(gettext_lazy("blocked"), Look.WAITING, "waiting"),
}

#: An undeclared relation waits for a person to declare it; a declared one that was never seen is no fault.
DECLARATIONS: dict[differences.State, Shown] = {
    differences.State.UNDECLARED: Shown(gettext_lazy("seen, not declared"), Look.WAITING, "waiting"),
    differences.State.UNSEEN: Shown(gettext_lazy("declared, never seen"), Look.OFF, "pending"),
    differences.State.AGREED: Shown(gettext_lazy("declared and seen"), Look.FINE, "fine"),
}

#: What a person does about each of them.
DECLARATION_REMEDIES: dict[differences.State, Any] = {
    differences.State.UNDECLARED: gettext_lazy("declare it, or find out who it is"),
    differences.State.UNSEEN: gettext_lazy("counts in plans all the same"),
    differences.State.AGREED: gettext_lazy("as it should be"),
}

SEVERITIES: dict[Severity, Shown] = {
    Severity.HIGH: Shown(SEVERITY_WORDS[Severity.HIGH], Look.BAD, "bad"),
    Severity.MEDIUM: Shown(SEVERITY_WORDS[Severity.MEDIUM], Look.WAITING, "unknown"),
    Severity.LOW: Shown(SEVERITY_WORDS[Severity.LOW], Look.OFF, "pending"),
}


def of(shown: Shown) -> State:
    """Return the badge of a shown state."""
    return State(shown.look, shown.icon, str(shown.label))


def of_row(row: Stateful) -> State:
    """Return the badge of a row's status."""
    return of(row.shown)


def all_of(shown: Mapping[Any, Shown]) -> dict[str, State]:
    """Return all states of a kind by their values, for filters."""
    return {value.value: of(each) for value, each in shown.items()}


def of_waiting(switch: Switch) -> State:
    """Return why a switch waits for a person: a migration that has succeeded waits because of its old Topics."""
    if switch.the_kind.spec.removes_old_topics and switch.current is Status.SUCCEEDED:
        return State(Look.BAD, "bad", _("old Topics not removed"))
    return of_row(switch)


def of_result(result: str, over: bool = False) -> State:
    """Return the badge of a stage's result.

    :param result: empty for a stage that has not begun.
    :param over: whether the switch has ended: a stage that has not begun then never will.
    """
    if not result:
        return State(Look.OFF, "pending", _("not run") if over else _("waiting"))
    return of(StageRecord.SHOWN[StageRecord.Result(result)])


def mirrors_seen_since() -> datetime:
    """Return the time since which a look at a mirror counts; the state of others is unknown."""
    return looks.seen_since(settings.LAG_SAMPLE_SECONDS)


def mirror_holds(state: str, is_seen: bool) -> bool | None:
    """Whether all is well with a mirror, as :func:`of_mirror` shows it; ``None`` when that is unknown.

    :param is_seen: whether it was looked at since :func:`mirrors_seen_since`.
    """
    look = Mirror.SHOWN[Mirror.State(state)].look if is_seen else Look.UNKNOWN
    return None if look == Look.UNKNOWN else look == Look.FINE


def of_mirror(mirror: Mirror) -> State:
    """Return the badge of a mirror: unknown when the last look was too long ago, whatever it found."""
    if mirror.looked_at is None:
        return State(Look.UNKNOWN, "unknown", _("not looked at yet"))
    if looks.is_old(mirror.looked_at, settings.LAG_SAMPLE_SECONDS):
        return State(Look.UNKNOWN, "unknown", _("not looked at lately"))
    return of(Mirror.SHOWN[Mirror.State(mirror.state)])


def is_seen(mirror: Mirror) -> bool:
    """Whether somebody has looked at a mirror lately: otherwise its state is unknown."""
    return mirror.looked_at is not None and not looks.is_old(mirror.looked_at, settings.LAG_SAMPLE_SECONDS)


def of_proof(proof: Proof) -> State:
    """Return the badge of what an audit proves."""
    return of(PROOFS[proof])


def of_task(value: str) -> State:
    """Return the badge of a connector's task; a state that hadash does not know is shown as Connect names it."""
    return of(TASKS.get(value) or Shown(value, Look.UNKNOWN, "unknown"))


def of_worker(worker: Worker, now: datetime) -> State:
    if workers.is_there(worker, now):
        return State(Look.FINE, "fine", _("is there"))
    return State(Look.BAD, "bad", _("says nothing any more"))


def of_cluster(cluster: Cluster) -> State:
    """Return the badge of a cluster: unknown when the last look was too long ago."""
    if cluster.generated:
        return State(Look.UNKNOWN, "unknown", _("generated"))
    if cluster.looked_at is None:
        return State(Look.UNKNOWN, "unknown", _("not looked at yet"))
    if looks.is_old(cluster.looked_at, settings.CLUSTER_LOOK_SECONDS):
        return State(Look.UNKNOWN, "unknown", _("not looked at lately"))
    if cluster.fault:
        return State(Look.BAD, "bad", _("does not answer"))
    return State(Look.FINE, "fine", _("answers"))


def of_gateway(member: GatewayMember, epoch: int | None) -> State:
    """Return the badge of a Gateway.

    :param epoch: the newest epoch; ``None`` when it is not known.
    """
    if member.excluded:
        return State(Look.OFF, "off", _("excluded"))
    if not member.live:
        return State(Look.BAD, "bad", _("does not answer"))
    if epoch is not None and member.report.is_ahead_of(epoch):
        return State(Look.BAD, "bad", _("knows changes that ZooKeeper has lost"))
    if epoch is not None and not member.report.has(epoch):
        return State(Look.WAITING, "waiting", _("applying"))
    return State(Look.FINE, "fine", _("in effect"))


def of_binding(state: BindingState) -> State:
    return of(BINDINGS[state])


def of_declaration(state: differences.State) -> State:
    """Return the badge of a relation that was declared, seen, or both."""
    return of(DECLARATIONS[state])


def of_run(run: Run) -> State:
    return of(Run.SHOWN[run.current])


def of_full_audit(audit: FullAudit) -> State:
    """The badge of a full audit: one that is done may have found that both sides differ."""
    if audit.current is FullAuditStatus.DONE and audit.different:
        return of(_DIFFERS)
    return of(PROOFS[Proof.UNKNOWN] if audit.without_place else audit.shown)


def of_severity(severity: Severity) -> State:
    return of(SEVERITIES[severity])


def of_finding(finding: Finding, accepted: bool) -> State:
    """Return the badge of a finding: open, accepted, or resolved."""
    state = Finding.State(finding.state)
    if accepted and state is Finding.State.OPEN:
        return State(Look.OFF, "fine", pgettext("finding", "accepted"))
    return of(Finding.SHOWN[state])
