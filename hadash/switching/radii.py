"""Who holds which radius: open switches, and a retirement while it removes something. Two that overlap never go on together."""

from __future__ import annotations

from django.db import connection

from hadash.switching.machine import OPEN
from hadash.switching.models import Switch
from hadash.switching.plan import Plan
from hadash.switching.retirement.machine import Status
from hadash.switching.retirement.models import Retirement

#: One lock in the database for everything that decides whether two radii overlap: requests are rare and short.
_RADIUS_LOCK = 0x68616461


def lock() -> None:
    """Until the end of the transaction nobody else takes a radius."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_RADIUS_LOCK])


def overlapping(plan: Plan) -> Switch | None:
    """An open switch that touches the same Topics, groups or identities."""
    for switch in Switch.objects.filter(pair__name=plan.pair, status__in=[s.value for s in OPEN]):
        if plan.overlaps(switch.the_plan()):
            return switch
    return None


def retiring(plan: Plan) -> Retirement | None:
    """A retirement that removes at this moment what ``plan`` would move."""
    running = Retirement.objects.filter(switch__pair__name=plan.pair, status=Status.RUNNING.value)
    for retirement in running.select_related("switch"):
        if plan.overlaps(retirement.switch.the_plan()):
            return retirement
    return None
