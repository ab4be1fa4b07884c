"""What holds which radius: open switches, items of open batches that have not moved yet, a retirement while it
removes something, and a manual change of bindings while it is written. Two that overlap never run together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from hadash.changes import Status as ChangeStatus
from hadash.radius.scope import Scope
from hadash.sentences import Sentence, say
from hadash.switching.machines import batches
from hadash.switching.machines.retirements import Status
from hadash.switching.machines.switches import OPEN
from hadash.switching.machines.switches import Status as SwitchStatus
from hadash.switching.models.batches import Batch, BatchItem
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.plan import Plan, PlanIndex
from hadash.switching.refusals import BeingWritten, Busy

#: Statuses of a switch that may be moving clients at this moment, or stopped in the middle of it.
AT_WORK = (SwitchStatus.RUNNING, SwitchStatus.PAUSED, SwitchStatus.NEEDS_ATTENTION)

#: The key of the one database lock for all decisions about overlaps: requests are rare and short.
_RADIUS_LOCK = 0x68616461


@dataclass(frozen=True, slots=True)
class Holder:
    """What holds a radius: a switch, or a batch that is going to move it."""

    held: Switch | Batch
    scope: Scope
    plan: Plan

    @property
    def kind(self) -> str:
        """Its type, as a word of the API."""
        return "batch" if isinstance(self.held, Batch) else "switch"

    @property
    def key(self) -> str:
        return self.held.key

    @property
    def status(self) -> str:
        return str(self.held.get_status_display())

    @property
    def sentence(self) -> Sentence:
        """For a person who asks for a part of the radius, in that person's language because of the status in it."""
        if isinstance(self.held, Batch):
            return self.lasting
        return say(
            "Switch %(key)s of %(scope)s (%(status)s) holds part of this radius. Wait for its end or cancel it.",
            key=self.key,
            scope=self.scope,
            status=self.status,
        )

    @property
    def lasting(self) -> Sentence:
        """The same for storing: without the status, so that others can read it in their language."""
        if isinstance(self.held, Batch):
            begun = self.held.current in batches.BEGUN
            return say(
                "Batch %(key)s holds part of this radius: it moves %(scope)s. Wait for its end, or stop and end it."
                if begun
                else "Batch %(key)s holds part of this radius: it moves %(scope)s. Wait for its end or cancel it.",
                key=self.key,
                scope=self.scope,
            )
        return say(
            "Switch %(key)s of %(scope)s holds part of this radius. Wait for its end or cancel it.",
            key=self.key,
            scope=self.scope,
        )


def holders(pair: str, besides: Batch | None = None, forced: bool = False) -> list[Holder]:
    """Everything that holds a radius in ``pair``.

    :param besides: a batch whose items are ignored. (Its switches count once they exist.)
    :param forced: whether it is for a switch without the source. Items of batches that are not running do not block
        it: with the source lost nobody could move them. (An item fails by itself if its batch continues: first its
        radius is held, and then it is already on the target.)
    """
    switches = Switch.objects.filter(pair__name=pair, status__in=[s.value for s in OPEN]).defer(
        "traffic", "facts", "pauses"
    )
    items = BatchItem.objects.filter(
        batch__pair__name=pair,
        batch__status__in=[s.value for s in ({batches.Status.RUNNING} if forced else batches.OPEN)],
        status__in=[s.value for s in batches.AHEAD],
    ).select_related("batch")
    if besides is not None:
        items = items.exclude(batch=besides)
    return [
        *(Holder(switch, switch.scope, switch.the_plan()) for switch in switches),
        *(Holder(item.batch, item.scope, item.the_plan()) for item in items),
    ]


def mirrors_moving(pair: str) -> set[str]:
    """Names of the mirrors that running switches of ``pair`` use, and switches that wait for a person."""
    at_work = Switch.objects.filter(pair__name=pair, status__in=[s.value for s in AT_WORK])
    return {
        mirror
        for switch in at_work.defer("traffic", "facts", "pauses")
        for mirror in switch.the_plan().mirrors
    }


def index_of(among: Iterable[Holder]) -> PlanIndex[Holder]:
    """An index that finds, for each of many plans, a holder of part of it."""
    return PlanIndex((holder.plan, holder) for holder in among)


def overlapping(plan: Plan, besides: Batch | None = None) -> Holder | None:
    """A holder of the same Topics, groups or identities; ``None`` if there is none."""
    held = holders(plan.pair, besides, forced=plan.kind.spec.source_lost)
    return next((holder for holder in held if plan.overlaps(holder.plan)), None)


def lock() -> None:
    """Keep all other transactions from taking a radius until this one ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_RADIUS_LOCK])


def retiring(plan: Plan) -> Retirement | None:
    """A retirement that is removing what ``plan`` would move."""
    running = Retirement.objects.filter(switch__pair__name=plan.pair, status=Status.RUNNING.value)
    for retirement in running.select_related("switch"):
        if plan.overlaps(retirement.switch.the_plan()):
            return retirement
    return None


def not_rebuilt(plan: Plan) -> Unreplicated | None:
    """The unreplicated records of a forced switch that block ``plan``: its lost side is being rebuilt, or it is not
    rebuilt yet and ``plan`` would move clients there. Its Topics hold records that exist nowhere else, or are about to
    be deleted.
    """
    left_over = Unreplicated.objects.exclude(status=Unreplicated.Status.REBUILT).filter(
        switch__pair__name=plan.pair
    )
    for missing in left_over.select_related("switch__source"):
        left = set(missing.switch.the_plan().mirrors) - set(missing.rebuilt)
        meets = missing.status == Unreplicated.Status.REBUILDING or plan.target == missing.switch.source.name
        if meets and not left.isdisjoint(plan.mirrors):
            return missing
    return None


def refuse_overlap(plan: Plan, besides: Batch | None = None) -> None:
    """:raises Busy: an open switch, another batch, the end of a migration, or a lost side that is not rebuilt, holds
        part of what ``plan`` touches.

    :param besides: the batch that asks, if one does; the reason is then worded for storing.
    """
    holder = overlapping(plan, besides)
    if holder is not None:
        raise Busy(holder.sentence if besides is None else holder.lasting)
    refuse_while_ending(plan)


def refuse_while_ending(plan: Plan) -> None:
    """:raises Busy: the end of a migration, or a lost side that is not rebuilt, holds part of what ``plan`` touches."""
    gone = retiring(plan)
    if gone is not None:
        raise Busy(
            say(
                "At this moment the old Topics of migration %(key)s are removed. Look at it, and ask again when "
                "it has ended.",
                key=gone.switch.key,
            )
        )
    missing = not_rebuilt(plan)
    if missing is not None:
        raise Busy(
            say(
                "%(cluster)s was lost in switch %(key)s and is not rebuilt yet. Look at it, and ask again when it is.",
                cluster=missing.switch.source.name,
                key=missing.switch.key,
            )
        )


def refuse_while_bound_by_hand(plan: Plan) -> None:
    """:raises BeingWritten: a worker is writing a manual change of bindings in the radius."""
    for change in BindingChange.objects.filter(pair__name=plan.pair, status=ChangeStatus.APPROVED.value):
        if plan.overlaps(change.radius):
            raise BeingWritten(
                say(
                    "Change %(key)s of the bindings of %(appid)s is being written. Try again in a moment.",
                    key=change.key,
                    appid=change.appid,
                )
            )


def others_in_the_way(plan: Plan) -> list[Sentence]:
    """Everything that refuses ``plan`` now, apart from holders of its radius."""
    found: list[Sentence] = []
    for refuse in (refuse_while_ending, refuse_while_bound_by_hand):
        try:
            refuse(plan)
        except Busy as busy:
            found += busy.reasons
    return found
