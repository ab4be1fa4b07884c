"""The assignors that hadash knows, and what each gives to whom. Pure.

They are those of Kafka's Java consumers, 3.9. Other libraries have assignors of the same names that give
other partitions to other members (librdkafka, franz-go, kafka-python): the group's leader decides, whichever
library it is.
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

    give: who gets what at once. cooperative: its members keep what they have while they join again. racks: it
    prefers partitions that have a replica in a member's rack.
    """

    give: Callable[[Group], Mapping[str, list[Partition]]]
    cooperative: bool = False
    racks: bool = True


#: By the name that clients give them (``partition.assignment.strategy``'s classes call themselves so).
ASSIGNORS: Mapping[str, Assignor] = {
    "range": Assignor(assign_range),
    "roundrobin": Assignor(assign_round_robin, racks=False),
    "sticky": Assignor(assign_sticky),
    "cooperative-sticky": Assignor(assign_cooperative, cooperative=True),
}


def assign(group: Group) -> Assignment:
    """What each member gets from the group's assignor in the next rebalance, in the order of the group's members.

    With ``cooperative-sticky`` partitions that change hands are in nobody's list:
    :func:`~hadash.assignment.rebalance.rebalance` goes on until they are given. A group without members gets
    nothing (Java has no leader then).

    Raises NotKnown for another assignor, for members with racks unless it is known that no broker shares one
    with them (roundrobin does not look at racks), and for a few groups that the sticky assignors do strange
    things to; AssignorFails where Java itself raises, and AssignorHangs where it never ends (both only with
    members of several generations).

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
    """The assignor of that name; raises NotKnown."""
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
