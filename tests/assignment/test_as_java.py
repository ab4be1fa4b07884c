"""Assignments beside those of Kafka's own consumers: one JVM answers for thousands of groups, which are made from a seed.

HADASH_ASSIGNMENT_SEED tries other groups than the usual ones.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace

import pytest

from hadash.assignment import ASSIGNORS, AssignorFails, Group, NotKnown, assign, rebalance

from .as_java import Answer, ask_java, question, some_group

pytestmark = pytest.mark.stack  # the stack's jars, and a JVM

#: For each assignor.
GROUPS = 2500
SEED = int(os.environ.get("HADASH_ASSIGNMENT_SEED", "39"))


def ours(group: Group) -> Answer:
    """What hadash gives, in Java's words; ``NotKnown``: hadash does not say."""
    try:
        return assign(group)
    except AssignorFails:
        return "NullPointerException"
    except NotKnown:
        return "NotKnown"


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_assignments_are_those_of_java(assignor: str) -> None:
    rng = random.Random(f"{SEED} {assignor}")
    groups = [some_group(rng, assignor) for _ in range(GROUPS)]
    java = ask_java(groups)
    different = [
        (question(group), mine, theirs)
        for group, mine, theirs in zip(groups, map(ours, groups), java, strict=True)
        # Without members there is no leader who could ask.
        if mine != theirs and group.members
    ]
    print(assignor, len(groups), "groups;", Counter(str(each) for each in java if isinstance(each, str)))
    assert len(different) == 0, (len(different), *different[0])
