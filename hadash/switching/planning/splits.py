"""The plans of a split, one for each radius. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hadash.radius.fleet import Fleet
from hadash.radius.splitting import Parts, Radius
from hadash.switching.planning.radius import PlanProposal, build_plan


def proposals_of(radii: Sequence[Radius], fleet: Fleet, source: str, target: str) -> Iterator[PlanProposal]:
    """The plan of each radius, with its blockers: those of the whole fleet, at the cost of the radius's own part."""
    parts = Parts(fleet)
    for radius in radii:
        yield build_plan(radius.scope, source, target, parts.of(radius))
