"""Counts ended stages, ended switches and decided requests when their rows are saved: the code that switches
knows nothing of metrics.

A row whose transaction is rolled back afterwards is counted all the same; a graph tolerates that error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models.signals import post_save

from hadash.monitoring.metrics import APPROVAL_SECONDS, STAGE_SECONDS, SWITCHES_ENDED
from hadash.switching.machines.switches import ENDED, Kind, Status
from hadash.switching.models.batches import BatchApproval
from hadash.switching.models.binding_changes import BindingApproval
from hadash.switching.models.switches import Approval, StageRecord, Switch


def connect() -> None:
    """Connect the receivers, and make the counters exist from the start."""
    # A counter that only appears with its first event has no increase in Prometheus: the event would be missed.
    for kind in Kind:
        for status in (*ENDED, Status.NEEDS_ATTENTION):
            SWITCHES_ENDED.labels(kind.value, status.value)
    for model, receiver in _RECEIVERS.items():
        post_save.connect(receiver, sender=model, dispatch_uid=f"monitoring of {model.__name__}")


def _kept(field: str, update_fields: Any) -> bool:
    return update_fields is None or field in update_fields


def _stage(instance: StageRecord, update_fields: Any = None, **_: Any) -> None:
    if instance.seconds is not None and _kept("result", update_fields):
        labels = instance.stage, instance.switch.kind, instance.result
        STAGE_SECONDS.labels(*labels).observe(instance.seconds)


def _switch(instance: Switch, update_fields: Any = None, **_: Any) -> None:
    is_over = instance.current in ENDED or instance.current is Status.NEEDS_ATTENTION
    if is_over and _kept("status", update_fields):
        SWITCHES_ENDED.labels(instance.kind, instance.status).inc()


def _approval(what: str, field: str) -> Callable[..., None]:
    """Return a receiver for approvals.

    :param field: the approval's field that holds the request it is about.
    """

    def receive(instance: Any, created: bool = False, **_: Any) -> None:
        if created:
            waited = instance.at - getattr(instance, field).requested_at
            APPROVAL_SECONDS.labels(what).observe(waited.total_seconds())

    return receive


_RECEIVERS: dict[Any, Callable[..., None]] = {
    StageRecord: _stage,
    Switch: _switch,
    Approval: _approval("switch", "switch"),
    BatchApproval: _approval("batch", "batch"),
    BindingApproval: _approval("binding change", "change"),
}
