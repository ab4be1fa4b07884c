"""How a migration ends in these tests, and when its old Topics are due."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from hadash.sentences import say
from hadash.switching.execution import ending as switch_ending
from hadash.switching.machines.switches import Event
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch

DAYS = 10


def end(switch: Switch, event: Event) -> Switch:
    switch_ending.end(switch, event, say("Every client works on %(cluster)s.", cluster="west"))
    return switch


def of(switch: Switch) -> Retirement:
    return Retirement.objects.get(switch=switch)


def make_due(switch: Switch) -> None:
    Retirement.objects.filter(switch=switch).update(due_at=timezone.now() - timedelta(minutes=1))
