"""Records what Java gives to some groups, for tests without a JVM: ``PYTHONPATH=tests python -m
assignment.record`` in the repository.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from hadash.assignment import ASSIGNORS, AssignorFails, AssignorHangs, Group, assign

from .as_java import Answer, as_answer, ask_java, crowded_group, group_of, question, some_group

RECORDED = Path(__file__).with_name("recorded.jsonl")
#: For each assignor.
GROUPS = 30
#: Characters of a group: what people may want to read.
LONGEST = 1500


def read() -> list[tuple[Group, Answer]]:
    """The groups, and what Java gives."""
    lines = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    return [(group_of(json.dumps(each["group"])), as_answer(each["java"])) for each in lines]


def main() -> None:
    rng = random.Random(39)
    makers = [some_group, crowded_group]
    groups = [rng.choice(makers)(rng, assignor) for assignor in ASSIGNORS for _ in range(GROUPS)]
    groups = [group for group in groups if group.members and len(question(group)) < LONGEST]
    groups += failing(rng)
    with RECORDED.open("w") as out:
        for group, java in zip(groups, ask_java(groups), strict=True):
            out.write(json.dumps({"group": json.loads(question(group)), "java": java}) + "\n")


def failing(rng: random.Random) -> list[Group]:
    """A few for which Java ends with an exception."""
    found = []
    while len(found) < 3:
        group = some_group(rng, "sticky")
        try:
            assign(group)
        except AssignorHangs:
            continue
        except AssignorFails:
            if len(question(group)) < LONGEST:
                found.append(group)
    return found


if __name__ == "__main__":
    main()
