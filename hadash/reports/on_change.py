"""Announces the record of a switch when the switch ends, in the same transaction."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_save

from hadash.reports import issues
from hadash.switching.machines.switches import ENDED
from hadash.switching.models.switches import Switch


def connect() -> None:
    """Connect the receiver to Django's signal."""
    post_save.connect(_switch_saved, sender=Switch, dispatch_uid="reports of Switch")


def _switch_saved(
    sender: Any, instance: Switch, update_fields: Any = None, raw: bool = False, **kwargs: Any
) -> None:
    if raw or not (update_fields is None or {"ended_at", "status"} & set(update_fields)):
        return
    # (A switch that needs an operator has only stopped: it ends when it was continued or closed.)
    if instance.current in ENDED and instance.ended_at is not None and instance.started_at is not None:
        issues.announce_switch(instance)
