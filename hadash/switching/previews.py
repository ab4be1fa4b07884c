"""The blockers to a plan that somebody looks at: the same checks as of a request for it, and nothing is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hadash.inventory.models import Cluster, Pair
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching import requests
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning import overlaps
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.recovery import restoring
from hadash.switching.refusals import EnginesAway


class Checks(StrEnum):
    """What became of the read-only checks of servers, Gateways, mirrors, Topics, groups and users."""

    HOLD = "hold"
    #: One does not hold. They stop there: those after it were not made.
    FAILED = "failed"
    #: They could not be made: something does not answer, or not in time.
    UNKNOWN = "unknown"
    #: They were not made, because nothing can be done as planned.
    NOT_MADE = "not made"


@dataclass(frozen=True, slots=True)
class Preview:
    """A draft with all that a request for it would be refused for, but for who holds its radius
    (:func:`radii.overlapping`)."""

    draft: PlanProposal
    checks: Checks
    #: Empty only if all checks were made and none fails.
    blockers: tuple[Sentence, ...]


def preview_of(draft: PlanProposal, restores: Switch | None = None) -> Preview:
    """Check a draft as a request does, for at most ``SWITCH_CHECK_SECONDS`` and the command that is under way then.

    :param restores: of a restore, the switch that it would go back from.
    """
    back, against = _checked_back(draft.plan, restores)
    if draft.blockers or against:
        made = Checks.UNKNOWN if back is Checks.UNKNOWN else Checks.NOT_MADE
        return Preview(draft, made, (*against, *draft.blockers))
    checks, blockers = _checked(draft.plan)
    return Preview(draft, checks, (*blockers, *overlaps.others_in_the_way(draft.plan)))


def _checked_back(plan: Plan, restores: Switch | None) -> tuple[Checks, list[Sentence]]:
    """Whether a restore goes back from ``restores``, which a request for it asks before anything else."""
    if not plan.kind.spec.goes_back:
        return Checks.HOLD, []
    pair = Pair.objects.select_related("first", "second").get(name=plan.pair)
    target = Cluster.objects.get(name=plan.target)
    return _outcome(lambda: restoring.check(restores, pair, plan.scope, target))


def _checked(plan: Plan) -> tuple[Checks, list[Sentence]]:
    return _outcome(lambda: requests.check_now(plan))


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
