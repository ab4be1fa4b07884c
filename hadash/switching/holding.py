"""Who holds which radius: open switches, and the items of open batches that have not moved yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from hadash.sentences import Sentence, say
from hadash.switching.batches import machine as batches
from hadash.switching.batches.models import Batch, BatchItem
from hadash.switching.machine import OPEN
from hadash.switching.models import Switch
from hadash.switching.plan import Plan, Scope

#: One lock in the database for everything that decides whether two radii overlap: requests are rare and short.
_RADIUS_LOCK = 0x68616461


@dataclass(frozen=True, slots=True)
class Holder:
    """What holds a radius: a switch, or a batch that is going to move it."""

    held: Switch | Batch
    scope: Scope
    plan: Plan

    @property
    def key(self) -> str:
        return self.held.key

    @property
    def status(self) -> str:
        return str(self.held.get_status_display())

    @property
    def sentence(self) -> Sentence:
        """For whoever asks for part of it, too; in the language of that person, because the status is a word of it."""
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
        """The same to be kept, and read in another language by others."""
        if isinstance(self.held, Batch):
            return say(
                "Batch %(key)s holds part of this radius: it moves %(scope)s. Wait for its end or cancel it.",
                key=self.key,
                scope=self.scope,
            )
        return say(
            "Switch %(key)s of %(scope)s holds part of this radius. Wait for its end or cancel it.",
            key=self.key,
            scope=self.scope,
        )


def holders(pair: str, besides: Batch | None = None) -> list[Holder]:
    """All that hold a radius of ``pair``.

    :param besides: a batch that does not stand in its own way. (Its switches do, once they are there.)
    """
    switches = Switch.objects.filter(pair__name=pair, status__in=[s.value for s in OPEN]).defer(
        "traffic", "facts"
    )
    items = BatchItem.objects.filter(
        batch__pair__name=pair,
        batch__status__in=[s.value for s in batches.OPEN],
        status__in=[s.value for s in batches.AHEAD],
    ).select_related("batch")
    if besides is not None:
        items = items.exclude(batch=besides)
    return [
        *(Holder(switch, switch.scope, switch.the_plan()) for switch in switches),
        *(Holder(item.batch, item.scope, item.the_plan()) for item in items),
    ]


def holder_of(plan: Plan, among: Iterable[Holder]) -> Holder | None:
    """The one that holds part of what ``plan`` would move."""
    return next((holder for holder in among if plan.overlaps(holder.plan)), None)


def overlapping(plan: Plan, besides: Batch | None = None) -> Holder | None:
    """What touches the same Topics, groups or identities now."""
    return holder_of(plan, holders(plan.pair, besides))


def lock_radii() -> None:
    """Until the end of this transaction nobody else decides whether a radius is free."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_RADIUS_LOCK])
