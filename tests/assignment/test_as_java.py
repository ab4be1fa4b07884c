"""Assignments beside those of Kafka's own consumers: one JVM answers for thousands of groups, which are made
from a seed.

HADASH_ASSIGNMENT_SEED tries other groups than the usual ones.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hadash.assignment import (
    ASSIGNORS,
    AssignorFails,
    AssignorHangs,
    Group,
    Member,
    NotKnown,
    Partition,
    assign,
)

from .as_java import Answer, ask_java, crowded_group, hanging_group, question, some_group

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]  # the stack's jars, and a JVM

#: For each assignor.
GROUPS, CROWDED = 1000, 600
SEED = int(os.environ.get("HADASH_ASSIGNMENT_SEED", "39"))


def ours(group: Group) -> Answer:
    """What hadash gives, in Java's words; ``NotKnown``: hadash does not say."""
    try:
        return assign(group)
    except AssignorHangs:
        return "never ends"
    except AssignorFails:
        return "NullPointerException"
    except NotKnown:
        return "NotKnown"


def different(groups: Sequence[Group]) -> list[tuple[str, Answer, Answer]]:
    """Groups for which Java gives something else: (the group, hadash's answer, Java's)."""
    return [
        (question(group), mine, java)
        for group, mine, java in zip(groups, map(ours, groups), ask_java(groups), strict=True)
        if mine != java
    ]


def test_assignments_are_those_of_java() -> None:
    rng = random.Random(SEED)
    groups = [some_group(rng, assignor) for assignor in ASSIGNORS for _ in range(GROUPS)]
    groups += [crowded_group(rng, assignor) for assignor in ASSIGNORS for _ in range(CROWDED)]
    # Without members there is no leader who could ask, and Java must not hang in the middle.
    groups = [group for group in groups if group.members and ours(group) != "never ends"]
    assert len(groups) > 0.9 * len(ASSIGNORS) * (GROUPS + CROWDED)
    groups += [again for group in groups if (again := joining_again(group)) is not None]
    for assignor in ASSIGNORS:
        print(assignor, sum(group.assignor == assignor for group in groups), "groups")
    assert not any(ours(group) == "NotKnown" for group in groups)
    found = different(groups)
    assert found == [], (len(found), found[0])


def joining_again(group: Group) -> Group | None:
    """The second round of a cooperative rebalance."""
    if group.assignor != "cooperative-sticky" or isinstance(given := ours(group), str):
        return None
    members = (
        replace(member, owned=given[member.id], generation=8, user_data_generation=8)
        for member in group.members
    )
    return replace(group, members=tuple(members))


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_names_that_share_a_place_are_followed_until_java_makes_a_tree_of_them(assignor: str) -> None:
    """All these ids have one hash code. It does not happen with ids that end in UUIDs."""
    ids = [f"{a}{b}{c}{d}" for a in _ALIKE for b in _ALIKE for c in _ALIKE for d in _ALIKE]
    groups = [alike(random.Random(count).sample(ids, count), assignor) for count in range(1, 11)]
    assert different(groups) == []
    assert ours(alike(ids[:11], assignor)) == "NotKnown"


_ALIKE = ("Aa", "BB")


def alike(ids: Sequence[str], assignor: str) -> Group:
    """Each has up to three partitions, and only some may keep as many."""
    count = 3 * len(ids) - len(ids) // 2
    members = [
        Member(
            each,
            topics=("t",),
            owned=tuple(Partition("t", number) for number in range(3 * place, min(3 * place + 3, count))),
        )
        for place, each in enumerate(ids)
    ]
    return Group(tuple(members), {"t": count}, assignor)


@pytest.mark.long  # Java has to be waited for in vain
def test_java_does_not_end_where_hadash_says_so() -> None:
    group = hanging_group()
    assert ours(group) == "never ends"
    with pytest.raises(subprocess.TimeoutExpired):
        ask_java([group], seconds=30)
