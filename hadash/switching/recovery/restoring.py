"""Restores: which switches one can go back from, and with which scope."""

from __future__ import annotations

from dataclasses import replace

from hadash.bindings.errors import BindingError
from hadash.bindings.model import BindingState
from hadash.inventory.models import Cluster, Pair
from hadash.radius.scope import Scope, ScopeKind
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.machines.retirements import Status as RetirementStatus
from hadash.switching.machines.switches import Status
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.planning.current_bindings import bound_to
from hadash.switching.refusals import EnginesAway

#: Statuses of switches that have left their clients on the target.
MOVED = frozenset({Status.SUCCEEDED, Status.CLOSED})


def may_go_back(switch: Switch) -> bool:
    """Whether a switch that goes back from this one can be asked for: readers come home by a read split, all other
    clients by a restore.
    """
    if switch.the_kind.spec.readers_only:
        return switch.current in MOVED
    return refusal(switch) is None


def scope_back(before: Switch) -> Scope:
    """The scope that goes back: the one that was asked for then.

    For a whole cluster it is the Topics that moved: clients that were on the other cluster already must not follow
    them back.
    """
    if before.scope.kind is not ScopeKind.PAIR:
        return before.scope
    return replace(before.scope, kind=ScopeKind.TOPICS, topics=tuple(sorted(before.the_plan().topics)))


def restored_by(before: Switch) -> Switch | None:
    """The restore that has gone back from it; ``None`` if there is none."""
    return before.restored_by.filter(status__in=[status.value for status in MOVED]).first()


def refusal(before: Switch) -> Sentence | None:
    """Why nobody can go back from it, according to the database; ``None`` if nothing there blocks it."""
    if before.the_kind.spec.changes_nothing:
        return say("Switch %(key)s is a rehearsal: it has moved nothing.", key=before.key)
    if before.the_kind.spec.readers_only:
        return say(
            "Switch %(key)s has moved readers only: bring them home with a read split.", key=before.key
        )
    if before.current not in MOVED:
        return say(
            "Switch %(key)s is %(status)s: only from one that has succeeded or was closed can be gone back.",
            key=before.key,
            status=before.get_status_display(),
        )
    by = restored_by(before)
    if by is not None:
        return say("Switch %(key)s was gone back from already, by switch %(by)s.", key=before.key, by=by.key)
    if Retirement.objects.filter(switch=before, status=RetirementStatus.DONE.value).exists():
        return say(
            "The old Topics of migration %(key)s are removed: there is nothing to go back to. Mirror them again, and "
            "request a planned switch.",
            key=before.key,
        )
    return None


def check(before: Switch | None, pair: Pair, scope: Scope, target: Cluster) -> None:
    """Check that a restore of ``scope`` to ``target`` goes back from ``before``.

    :raises Refused: with the blocker. :raises EnginesAway: the clients' bindings are not known.
    """
    if before is None:
        raise Refused(say("Say which switch it goes back from."))
    reason = refusal(before)
    if reason is not None:
        raise Refused(reason)
    if (pair, scope, target) != (before.pair, scope_back(before), before.source):
        raise Refused(
            say(
                "A restore of switch %(key)s takes %(scope)s back to %(cluster)s, no more and no less. "
                "For anything else request a planned switch.",
                key=before.key,
                scope=scope_back(before),
                cluster=before.source,
            )
        )
    try:
        found = bound_to(pair, before.the_plan())
    except BindingError as error:
        raise EnginesAway(say("%(error)s", error=error)) from None
    for identity, binding in found.items():
        if binding.cluster != before.target.name or binding.state is not BindingState.FORWARD:
            raise Refused(
                say(
                    "%(who)s is not on %(cluster)s any more (%(now)s, %(state)s): switch %(key)s cannot be "
                    "gone back from. "
                    "Request a planned switch of what is there.",
                    who=identity,
                    cluster=before.target,
                    now=binding.cluster,
                    state=binding.state.value,
                    key=before.key,
                )
            )
