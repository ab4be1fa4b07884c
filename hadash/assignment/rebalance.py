"""A rebalance from its beginning to its end: one round of joining with eager assignors, as many as it takes
with a cooperative one. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from hadash.assignment.assignors import assign, known
from hadash.assignment.errors import NotKnown
from hadash.assignment.values import Assignment, Group, Partition
from hadash.sentences import say

#: A cooperative rebalance takes two rounds, and some that begin with contradicting claims a third.
_ROUNDS = 8


class Protocol(StrEnum):
    """What members do with their partitions while they join: give all of them up, or keep them."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"


@dataclass(frozen=True, slots=True)
class Round:
    """All members join, and get their partitions.

    after: who has what then. revoked: what each member gives up in this round; eager: all that it had. given:
    what each gets that it did not have (or had given up). Members without any are not in ``revoked`` and
    ``given``.
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
        """Who has what when it is over."""
        return self.rounds[-1].after

    @property
    def stopped(self) -> tuple[Partition, ...]:
        """The partitions that nobody reads for a while: eager, all that were owned; cooperative, those that
        change hands.
        """
        return tuple(
            sorted(
                {partition for each in self.rounds for mine in each.revoked.values() for partition in mine}
            )
        )


def rebalance(group: Group) -> Rebalance:
    """What comes of the group's next rebalance. Raises NotKnown, as :func:`~hadash.assignment.assignors.assign` does.

    Cooperative: members whose partitions are revoked join again at once, and what nobody had is given then.
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
    raise NotKnown(say("The group does not settle within %(count)s rebalances.", count=_ROUNDS))


def _joining_again(group: Group, owned: Assignment) -> Group:
    """All have the generation that has just come about."""
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
