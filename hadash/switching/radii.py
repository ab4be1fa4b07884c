"""Who holds which radius: open switches, a retirement while it removes something, a change of bindings by hand while it is
written. Two that overlap never go on together."""

from __future__ import annotations

from django.db import connection

from hadash.sentences import say
from hadash.switching.by_hand.machine import Status as ChangeStatus
from hadash.switching.by_hand.models import BindingChange
from hadash.switching.machine import OPEN
from hadash.switching.models import Switch
from hadash.switching.plan import Plan
from hadash.switching.refusals import Busy
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


def refuse_overlap(plan: Plan) -> None:
    """:raises Busy: an open switch, or the end of a migration, holds part of what ``plan`` touches."""
    other = overlapping(plan)
    if other is not None:
        raise Busy(
            say(
                "Switch %(key)s of %(scope)s (%(status)s) holds part of this radius. Wait for its end or cancel it.",
                key=other.key,
                scope=other.scope,
                status=other.get_status_display(),
            )
        )
    gone = retiring(plan)
    if gone is not None:
        raise Busy(
            say(
                "At this moment the old Topics of migration %(key)s are removed. Look at it, and ask again when it has ended.",
                key=gone.switch.key,
            )
        )


def refuse_while_bound_by_hand(plan: Plan) -> None:
    """:raises Busy: a worker is writing bindings of the radius that somebody has changed by hand."""
    for change in BindingChange.objects.filter(pair__name=plan.pair, status=ChangeStatus.APPROVED.value):
        if plan.overlaps(change.radius):
            raise Busy(
                say(
                    "Change %(key)s of the bindings of %(appid)s is being written. Try again in a moment.",
                    key=change.key,
                    appid=change.appid,
                )
            )
