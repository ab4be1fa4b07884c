"""Retirements listen for the end of switches."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from hadash.switching import signals
from hadash.switching.models.switches import Switch
from hadash.switching.retirement import services


@receiver(signals.switch_ended)
def switch_ended(sender: type[Switch], switch: Switch, **kwargs: Any) -> None:
    services.switch_ended(switch)
