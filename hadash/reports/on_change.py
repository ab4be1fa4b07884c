"""The record of a switch is made when a switch ends: in the same transaction."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_save

from hadash.reports import schedules
from hadash.switching.machines.switches import ENDED
from hadash.switching.models.switches import Switch


def connect() -> None:
    post_save.connect(_switch_saved, sender=Switch, dispatch_uid="reports of Switch")


def _switch_saved(
    sender: Any, instance: Switch, update_fields: Any = None, raw: bool = False, **kwargs: Any
) -> None:
    if raw or not (update_fields is None or {"ended_at", "status"} & set(update_fields)):
        return
    # (One that needs somebody has stopped, and goes on or is closed: then it has ended.)
    if instance.current in ENDED and instance.ended_at is not None and instance.started_at is not None:
        schedules.announce_switch(instance)
