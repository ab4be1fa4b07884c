"""Previews of a plan: its blockers, from the same checks as for a request. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hadash.inventory.models import Cluster, Pair
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching import checking
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning import overlaps
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.recovery import restoring
from hadash.switching.refusals import EnginesAway


class Checks(StrEnum):
    """The result of the read-only checks of servers, Gateways, mirrors, Topics, groups and users."""

    HOLD = "hold"
    #: One check failed, and those after it were not made.
    FAILED = "failed"
    #: The checks could not be made: a server does not answer, or not in time.
    UNKNOWN = "unknown"
    #: The checks were not made, because the plan has blockers already.
    NOT_MADE = "not made"

    @property
    def hold(self) -> bool:
        return self is Checks.HOLD

    @property
    def has_failed(self) -> bool:
        return self is Checks.FAILED

    @property
    def is_unknown(self) -> bool:
        return self is Checks.UNKNOWN


@dataclass(frozen=True, slots=True)
class Preview:
    """A proposal with everything for which a request would be refused, except other holders of its radius
    (:func:`~hadash.switching.planning.overlaps.overlapping`).
    """

    proposal: PlanProposal
    checks: Checks
    #: Empty only if all checks were made and none failed.
    blockers: tuple[Sentence, ...]


def preview_of(proposal: PlanProposal, restores: Switch | None = None) -> Preview:
    """Check a proposal as a request does, for at most ``SWITCH_CHECK_SECONDS`` plus the command under way at that time.

    :param restores: of a restore, the switch that it goes back from.
    """
    back, against = _checked_back(proposal.plan, restores)
    if proposal.blockers or against:
        made = Checks.UNKNOWN if back is Checks.UNKNOWN else Checks.NOT_MADE
        return Preview(proposal, made, (*against, *proposal.blockers))
    checks, blockers = _checked(proposal.plan)
    return Preview(proposal, checks, (*blockers, *overlaps.others_in_the_way(proposal.plan)))


def _checked_back(plan: Plan, restores: Switch | None) -> tuple[Checks, list[Sentence]]:
    """Whether a restore can go back from ``restores``, which a request checks before anything else."""
    if not plan.kind.spec.goes_back:
        return Checks.HOLD, []
    pair = Pair.objects.select_related("first", "second").get(name=plan.pair)
    target = Cluster.objects.get(name=plan.target)
    return _outcome(lambda: restoring.check(restores, pair, plan.scope, target))


def _checked(plan: Plan) -> tuple[Checks, list[Sentence]]:
    return _outcome(lambda: checking.check_now(plan))


def _outcome(check: Callable[[], None]) -> tuple[Checks, list[Sentence]]:
    try:
        check()
    except EnginesAway as away:
        return Checks.UNKNOWN, [
            say("Not all checks could be made, so nobody knows whether this can be carried out."),
            *away.reasons,
        ]
    except Refused as refused:
        return Checks.FAILED, list(refused.reasons)
    return Checks.HOLD, []
