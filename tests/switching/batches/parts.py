"""A fleet of AppIDs that share nothing, or what a test makes of it; planning looks there instead of at servers."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from hadash.bindings.model import Binding, BindingDocument, BindingState
from hadash.inventory.models import Cluster, Pair
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.radius.scope import Scope
from hadash.refusals import Refused
from hadash.switching.batches import carrying, operations, plans
from hadash.switching.models.batches import Batch
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import build_plan


class World:
    """``uses`` is who uses what at this moment."""

    def __init__(self, names: Iterable[str] = ("ant", "bee", "cat", "dog", "eel")) -> None:
        self.uses = [AccessEdge(name, f"{name}-1", "produce", f"{name}.t") for name in names]
        self.unmirrored: set[str] = set()
        #: AppIDs that are bound to west already.
        self.moved: set[str] = set()

    @property
    def fleet(self) -> Fleet:
        topics = {use.resource for use in self.uses} - self.unmirrored
        mirrors = tuple(MirrorOf(name, "east", frozenset({name})) for name in sorted(topics))
        west = Binding("west", BindingState.FORWARD)
        documents = {name: BindingDocument(name, default=west) for name in self.moved}
        return Fleet("main", ("east", "west"), "east", tuple(self.uses), documents, {}, mirrors)

    def plan(self, pair: Pair, scope: Scope, target: Cluster) -> Plan:
        proposal = build_plan(scope, pair.other(target).name, target.name, self.fleet)
        if proposal.blockers:
            raise Refused(*proposal.blockers)
        return proposal.plan

    def take_over(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(plans, "fleet_of", lambda pair, source: self.fleet)
        patch.setattr(plans, "with_blockers", lambda pair, proposals, asked: list(proposals))
        for module in (carrying, operations):
            patch.setattr(module, "plan_for", self.plan)


def shown(batch: Batch) -> list[tuple[int, str, str]]:
    """(wave, what moves, its status) of every item."""
    return [(item.wave, str(item.scope), item.status) for item in batch.items.all()]


def log(batch: Batch) -> list[str]:
    return [str(event) for event in batch.events.all()]


def nobody_wakes(key: str) -> None:
    """Where workers would be told of a batch."""
