"""The assignors that hadash knows. Pure.

They are those of Kafka's Java consumers, 3.9. Other libraries (librdkafka, franz-go, kafka-python) have
assignors of the same names that assign partitions differently. The group's leader decides, with its own
library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hadash.assignment.errors import NotKnown
from hadash.assignment.plain import assign_range, assign_round_robin
from hadash.assignment.sticky import assign_cooperative, assign_sticky
from hadash.assignment.values import Assignment, Group, Partition
from hadash.sentences import say


@dataclass(frozen=True, slots=True)
class Assignor:
    """One of Kafka's assignors.

    give: computes each member's partitions in the first round. cooperative: its members keep their partitions
    while they join again. racks: it prefers partitions that have a replica in a member's rack.
    """

    give: Callable[[Group], Mapping[str, list[Partition]]]
    cooperative: bool = False
    racks: bool = True


#: The assignors by name, as the classes of ``partition.assignment.strategy`` call themselves.
ASSIGNORS: Mapping[str, Assignor] = {
    "range": Assignor(assign_range),
    "roundrobin": Assignor(assign_round_robin, racks=False),
    "sticky": Assignor(assign_sticky),
    "cooperative-sticky": Assignor(assign_cooperative, cooperative=True),
}


def assign(group: Group) -> Assignment:
    """Return what each member gets from the group's assignor in the next rebalance, in the order of its
    members.

    With ``cooperative-sticky``, partitions that change hands are in no member's list:
    :func:`~hadash.assignment.rebalance.rebalance` continues until they are assigned. A group without members
    gets nothing (it has no leader).

    Raises NotKnown for an unknown assignor, for members with racks unless it is known that no broker shares
    one with them (roundrobin does not look at racks), and for a few groups for which the sticky assignors'
    result is not modelled; AssignorFails where Kafka's Java code itself raises, and AssignorHangs where it
    never ends (both only with members of several generations).

    >>> from hadash.assignment.values import Member
    >>> members = (Member("a", topics=("t",)), Member("b", topics=("t",)))
    >>> {who: [str(each) for each in has] for who, has in assign(Group(members, {"t": 3}, "range")).items()}
    {'a': ['t-0', 't-1'], 'b': ['t-2']}
    """
    assignor = known(group.assignor)
    if assignor.racks:
        _must_not_look_at_racks(group)
    given = assignor.give(group)
    return {member.id: tuple(sorted(given[member.id])) for member in group.members}


def known(name: str) -> Assignor:
    """Return the assignor of that name; raises NotKnown."""
    if name not in ASSIGNORS:
        raise NotKnown(say("What the assignor %(name)s does is not known.", name=name))
    return ASSIGNORS[name]


def _must_not_look_at_racks(group: Group) -> None:
    racks = {member.rack for member in group.members if member.rack}
    if racks and (group.broker_racks is None or not racks.isdisjoint(group.broker_racks)):
        raise NotKnown(
            say(
                "Members have racks, and %(assignor)s gives them partitions by the racks of their replicas: that is "
                "not modelled.",
                assignor=group.assignor,
            )
        )
