"""A whole rebalance: one round of joining with an eager assignor, as many as it takes with a cooperative one.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from hadash.assignment.assignors import assign, known
from hadash.assignment.errors import NotKnown
from hadash.assignment.values import Assignment, Group, Partition
from hadash.sentences import say

#: Most rounds to try. A cooperative rebalance takes two; some that begin with contradicting claims take
#: three.
_ROUNDS = 8


class Protocol(StrEnum):
    """What members do with their partitions while they join: revoke all (eager) or keep them (cooperative)."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a rebalance: all members join, and get their partitions.

    after: the assignment at its end. revoked: the partitions that each member revokes in this round; with an
    eager assignor, all that it had. given: the partitions that each member gets and did not have (or had
    revoked). Members without any are not in ``revoked`` and ``given``.
    """

    after: Assignment
    revoked: Assignment
    given: Assignment


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A whole rebalance; it has at least one round."""

    protocol: Protocol
    rounds: tuple[Round, ...]

    @property
    def after(self) -> Assignment:
        """The assignment at its end."""
        return self.rounds[-1].after

    @property
    def stopped(self) -> tuple[Partition, ...]:
        """The partitions that no member reads for a while: with an eager assignor all that were owned, with a
        cooperative one those that change hands.
        """
        return tuple(
            sorted(
                {partition for each in self.rounds for mine in each.revoked.values() for partition in mine}
            )
        )


def rebalance(group: Group) -> Rebalance:
    """Return the group's next rebalance. Raises NotKnown like :func:`~hadash.assignment.assignors.assign`.

    With a cooperative assignor, members whose partitions are revoked join again at once; the revoked
    partitions are assigned in that round.
    """
    if not known(group.assignor).cooperative:
        after = assign(group)
        return Rebalance(Protocol.EAGER, (Round(after, _some(group.owned), _some(after)),))
    rounds: list[Round] = []
    for _ in range(_ROUNDS):
        before, after = group.owned, assign(group)
        rounds.append(Round(after, _beyond(before, after), _beyond(after, before)))
        if not rounds[-1].revoked:
            return Rebalance(Protocol.COOPERATIVE, tuple(rounds))
        group = _joining_again(group, after)
    raise NotKnown(say("The group does not become stable within %(count)s rebalances.", count=_ROUNDS))


def _joining_again(group: Group, owned: Assignment) -> Group:
    """Return the group as it joins again: each member owns what it was assigned, in a new generation."""
    told = [each for member in group.members for each in (member.generation, member.user_data_generation)]
    generation = max((each for each in told if each is not None), default=0) + 1
    return replace(
        group,
        members=tuple(
            replace(member, owned=owned[member.id], generation=generation, user_data_generation=generation)
            for member in group.members
        ),
    )


def _beyond(more: Assignment, less: Assignment) -> Assignment:
    return _some({member: tuple(sorted(set(mine) - set(less[member]))) for member, mine in more.items()})


def _some(assignment: Assignment) -> Assignment:
    return {member: mine for member, mine in assignment.items() if mine}
