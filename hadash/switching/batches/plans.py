"""Plan a batch: its current radii, each with its wave and its blockers. Changes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from django.conf import settings

from hadash.identity.identity import Identity
from hadash.inventory.models import Cluster, Pair
from hadash.mirroring.models import Mirror
from hadash.radius.closure import Dimension
from hadash.radius.fleet import Fleet
from hadash.radius.nodes import AccessEdge, Node, node_of, topic
from hadash.radius.splitting import Radius, radii_again, radii_of
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.batches.waves import Line, in_waves
from hadash.switching.machines.batches import ItemStatus
from hadash.switching.models.batches import Batch, BatchItem, digest_of
from hadash.switching.plan import Plan, PlanIndex
from hadash.switching.planning.overlaps import Holder, holders, index_of
from hadash.switching.planning.proposals import fleet_of, with_blockers
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.planning.splits import proposals_of

#: The wave of radii that are left out.
LEFT_OUT = 0


class Names(StrEnum):
    """What the names in a list stand for."""

    APPIDS = "appids"
    TOPICS = "topics"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants to move in waves."""

    pair: Pair
    target: Cluster
    #: ``None`` for everything on the other cluster.
    lines: Sequence[Line] | None = None
    names: Names = Names.APPIDS
    dimension: Dimension = Dimension.INSTANCE
    widen: bool = False
    #: Radii in each wave, and in the first one (``None``: the same number).
    wave_size: int = settings.BATCH_WAVE_SIZE
    first_wave: int | None = None
    parallelism: int = settings.BATCH_PARALLELISM
    #: Whether radii that cannot move are left out; otherwise they block the batch.
    leave_out: bool = False

    def check(self) -> None:
        """:raises Refused: with every fault of the input."""
        reasons = []
        if self.target not in self.pair.clusters:
            reasons.append(
                say("Cluster %(cluster)s is not in pair %(pair)s.", cluster=self.target, pair=self.pair)
            )
        if self.lines is not None and not self.lines:
            reasons.append(say("Name what is to move, one name a line."))
        if not 1 <= self.parallelism <= settings.BATCH_MAX_PARALLELISM:
            reasons.append(
                say("From 1 to %(most)s switches run at once.", most=settings.BATCH_MAX_PARALLELISM)
            )
        for size in (self.wave_size, self.wave_size if self.first_wave is None else self.first_wave):
            if not 1 <= size <= settings.BATCH_MAX_ITEMS:
                reasons.append(say("A wave has from 1 to %(most)s radii.", most=settings.BATCH_MAX_ITEMS))
                break
        if reasons:
            raise Refused(*reasons)


@dataclass(frozen=True, slots=True)
class Row:
    """One radius of a planned batch."""

    wave: int
    plan: Plan
    #: Why it cannot move; empty if it can.
    blockers: tuple[Sentence, ...]
    #: Distinct client.ids that move with it, and records that only its source has (``None``: not known).
    clients: int
    lag: int | None

    @property
    def left_out(self) -> bool:
        return self.wave == LEFT_OUT


@dataclass(frozen=True)
class BatchPlan:
    """A batch as it would be requested now; its rows in the order in which they begin, those left out last."""

    wanted: Wanted
    source: Cluster
    rows: tuple[Row, ...]

    @property
    def against(self) -> list[Row]:
        """The rows that block the batch."""
        return [row for row in self.rows if row.blockers and not row.left_out]

    @cached_property
    def moving(self) -> list[Row]:
        return [row for row in self.rows if not row.left_out]

    @property
    def left_out(self) -> list[Row]:
        return [row for row in self.rows if row.left_out]

    @property
    def waves(self) -> list[int]:
        """How many radii each wave has, the first one first."""
        numbers = [row.wave for row in self.moving]
        return [numbers.count(number) for number in sorted(set(numbers))]

    def items(self) -> list[BatchItem]:
        """Its rows as they would be stored, without their batch."""
        return [
            BatchItem(
                wave=row.wave,
                position=position,
                asked=row.plan.scope.to_json(),
                plan=row.plan.approved(),
                plan_digest=row.plan.digest,
                clients=row.clients,
                status=BatchItem.MACHINE.begin(ItemStatus.DROPPED if row.left_out else ItemStatus.WAITING),
                outcome=row.blockers[0].to_json() if row.blockers else {},
            )
            for position, row in enumerate(self.rows, start=1)
        ]

    @cached_property
    def digest(self) -> str:
        """The hash of what was shown: equal rows in equal waves have equal digests."""
        return digest_of(self.source.name, self.wanted.target.name, self.wanted.parallelism, self.items())


def build_batch_plan(wanted: Wanted) -> BatchPlan:
    """Plan the batch that would be requested now.

    :raises Refused: the input has faults, or is more than one batch may hold.
    :raises EnginesAway: ZooKeeper or a cluster does not answer.
    """
    wanted.check()
    pair, target = wanted.pair, wanted.target
    source = pair.other(target)
    fleet = fleet_of(pair, source)
    said = _asked(wanted)
    radii = radii_of(
        fleet,
        source.name,
        target.name,
        None if said is None else said.keys(),
        wanted.dimension,
        widen=wanted.widen,
    )
    if len(radii) > settings.BATCH_MAX_ITEMS:
        raise Refused(
            say(
                "This is %(count)s radii, and at most %(most)s fit one batch. Name some of them in a list.",
                count=len(radii),
                most=settings.BATCH_MAX_ITEMS,
            )
        )
    proposals = with_blockers(pair, proposals_of(radii, fleet, source.name, target.name), source)
    held = index_of(holders(pair.name))
    found = [
        _row(radius, proposal, held, said, clients, lag)
        for radius, proposal, clients, lag in zip(
            radii, proposals, _clients(fleet, proposals), _lags(pair, proposals), strict=True
        )
    ]
    return BatchPlan(wanted, source, tuple(_ordered(found, wanted)))


@dataclass(frozen=True, slots=True)
class _Found:
    row: Row
    #: Its wave, if the list gives one, and its place in the list.
    said: int | None
    place: int


def _asked(wanted: Wanted) -> dict[Node, tuple[int, int | None]] | None:
    """The nodes that were named: node → (its place in the list, its wave); ``None`` for everything."""
    if wanted.lines is None:
        return None
    of = topic if wanted.names is Names.TOPICS else lambda name: node_of(Identity(name))
    return {of(line.name): (place, line.wave) for place, line in enumerate(wanted.lines)}


def _row(
    radius: Radius,
    proposal: PlanProposal,
    held: PlanIndex[Holder],
    said: dict[Node, tuple[int, int | None]] | None,
    clients: int,
    lag: int | None,
) -> _Found:
    holder = held.first(proposal.plan)
    blockers = (*proposal.blockers, *([holder.lasting] if holder is not None else []))
    # (Names that move together are one radius, which begins where the first of them would.)
    named = [said[node] for node in radius.nodes if node in said] if said else []
    waves = [wave for _, wave in named if wave is not None]
    place = min((place for place, _ in named), default=0)
    return _Found(Row(LEFT_OUT, proposal.plan, blockers, clients, lag), min(waves, default=None), place)


def _ordered(found: list[_Found], wanted: Wanted) -> list[Row]:
    """The rows in the order in which they begin: a list in its own order; everything with the fewest clients first, so
    that little is at stake at the beginning.
    """
    if wanted.lines is None:
        found = sorted(found, key=lambda one: (one.row.clients, str(one.row.plan.scope)))
    else:
        found = sorted(found, key=lambda one: one.place)
    out = [one for one in found if wanted.leave_out and one.row.blockers]
    kept = [one for one in found if not (wanted.leave_out and one.row.blockers)]
    waves = in_waves([one.said for one in kept], wanted.wave_size, wanted.first_wave)
    rows = [
        Row(wave, one.row.plan, one.row.blockers, one.row.clients, one.row.lag)
        for one, wave in zip(kept, waves, strict=True)
    ]
    return [*sorted(rows, key=lambda row: row.wave), *(one.row for one in out)]


def _clients(fleet: Fleet, proposals: Iterable[PlanProposal]) -> list[int]:
    """How many clients each proposal moves, including those that it moves with one Topic only."""
    by_appid: dict[str, list[AccessEdge]] = defaultdict(list)
    for use in fleet.uses:
        by_appid[use.appid].append(use)
    return [
        len(
            {
                (use.appid, use.client_id)
                for appid in proposal.plan.appids
                for use in by_appid[appid]
                if proposal.plan.covers_use(use.appid, use.client_id, use.kind, use.resource)
            }
        )
        for proposal in proposals
    ]


def _lags(pair: Pair, proposals: Iterable[PlanProposal]) -> list[int | None]:
    lag = dict(Mirror.objects.filter(pair=pair).values_list("name", "lag_records"))
    found: list[int | None] = []
    for proposal in proposals:
        records = [lag.get(name) for name in proposal.plan.mirrors]
        known = [count for count in records if count is not None]
        found.append(sum(known) if records and len(known) == len(records) else None)
    return found


def changed(batch: Batch) -> list[BatchItem]:
    """The waiting items whose plan has changed, or that can no longer move.

    :raises EnginesAway: ZooKeeper or a cluster does not answer.
    """
    items = list(batch.items.filter(status=ItemStatus.WAITING.value))
    fleet = fleet_of(batch.pair, batch.source)
    source, target = batch.source.name, batch.target.name
    radii = list(radii_again([item.scope for item in items], fleet, target))
    proposals = with_blockers(batch.pair, proposals_of(radii, fleet, source, target), batch.source)
    return [
        item
        for item, proposal in zip(items, proposals, strict=True)
        if proposal.blockers or proposal.plan.digest != item.plan_digest
    ]
