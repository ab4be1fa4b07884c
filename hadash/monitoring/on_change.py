"""Counts what becomes of switches and requests when their rows are kept: the code that switches knows nothing
of figures.

What is rolled back afterwards was counted all the same; a figure for a graph may be wrong by that.
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
    # A counter that appears with its first event looks to Prometheus as if nothing had happened.
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
    """:param field: of an approval, the request that it is about."""

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
