"""The assignors of Kafka's own Java consumers (3.9): which member gets which partitions, and what a change of
the group would do to that. Pure: no I/O, no Django.

    group = Group((Member("a-1", topics=("orders",)),), {"orders": 6}, "cooperative-sticky")
    assign(group)                       # what each member gets in the next rebalance
    what_if(group, AddMember("a-1"))    # what one more member like it would change

:mod:`hadash.assignment.values` has the values, :mod:`hadash.assignment.what_if` the changes.
"""

from hadash.assignment.assignors import ASSIGNORS, assign
from hadash.assignment.errors import AssignorFails, AssignorHangs, NotKnown
from hadash.assignment.rebalance import Protocol, Rebalance, Round, rebalance
from hadash.assignment.values import Assignment, Group, Member, Partition
from hadash.assignment.what_if import (
    AddMember,
    Balance,
    ChangeAssignor,
    Move,
    Outcome,
    RemoveMember,
    SetPartitions,
    UnknownName,
    what_if,
    what_if_by_id,
)

__all__ = [
    "ASSIGNORS",
    "AddMember",
    "Assignment",
    "AssignorFails",
    "AssignorHangs",
    "Balance",
    "ChangeAssignor",
    "Group",
    "Member",
    "Move",
    "NotKnown",
    "Outcome",
    "Partition",
    "Protocol",
    "Rebalance",
    "RemoveMember",
    "Round",
    "SetPartitions",
    "UnknownName",
    "assign",
    "rebalance",
    "what_if",
    "what_if_by_id",
]
