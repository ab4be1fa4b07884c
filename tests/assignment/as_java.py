"""Groups to ask Java about, made from a seed, and what Java says to them."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Sequence
from typing import Any

from support.java_program import SECONDS, answers

from hadash.assignment import Assignment, Group, Member, Partition

#: What Java gives, or the name of the exception that it ends with.
Answer = Assignment | str

TOPICS = [f"t{number}" for number in range(6)] + ["orders", "Orders.dlq", "a-b_c.d"]


def ask_java(groups: Sequence[Group], seconds: float = SECONDS) -> list[Answer]:
    """What Kafka's assignors of Java give to whom. Raises subprocess.TimeoutExpired."""
    lines = answers("Assignments", list(map(question, groups)), seconds)
    return [as_answer(json.loads(line)) for line in lines]


def as_answer(said: Any) -> Answer:
    if isinstance(said, str):
        return said
    return {
        member: tuple(sorted(Partition(topic, number) for topic, number in given))
        for member, given in said.items()
    }


def question(group: Group) -> str:
    """A group as a line of JSON. Of racks that are not known Java is told that there are none."""
    return json.dumps(
        {
            "assignor": group.assignor,
            "topics": dict(group.topics),
            "broker_racks": sorted(group.broker_racks or ()),
            "members": [
                {
                    "id": member.id,
                    "topics": member.topics,
                    "owned": member.owned,
                    "instance_id": member.instance_id,
                    "rack": member.rack,
                    "generation": member.generation,
                    "user_data_generation": member.user_data_generation,
                }
                for member in group.members
            ],
        }
    )


def group_of(line: str) -> Group:
    """The group of :func:`question`."""
    read = json.loads(line)
    members = (
        Member(
            **{
                **each,
                "topics": tuple(each["topics"]),
                "owned": tuple(Partition(*pair) for pair in each["owned"]),
            }
        )
        for each in read["members"]
    )
    return Group(tuple(members), read["topics"], read["assignor"], frozenset(read["broker_racks"]))


def some_group(rng: random.Random, assignor: str) -> Group:
    """Any group: settled or not, all alike or not, with claims that are old, contradict each other, or are of
    what is not there any more.
    """
    count = rng.randint(0, 12) if rng.random() < 0.8 else rng.randint(13, 60)
    names = rng.sample(TOPICS, rng.randint(0, 8))
    # Two Topics of one size, or one each: what is alike makes for ties.
    size = rng.choice([lambda: rng.randint(0, 20), lambda: 3, lambda: rng.randint(1, 4)])
    topics = {name: size() for name in names}
    subscriptions = _subscriptions(rng, names, count)
    owned = _owned(rng, topics, subscriptions)
    told = rng.choice(["nothing", "one", "several", "mixed"])
    ids = _ids(rng, count)
    members = tuple(
        Member(
            id=ids[place],
            topics=tuple(subscriptions[place]),
            owned=tuple(owned[place]),
            instance_id=f"i{rng.randrange(10**6)}" if rng.random() < 0.15 else None,
            rack="cellar" if rng.random() < 0.05 else None,
            **_generations(rng, told),
        )
        for place in range(count)
    )
    return Group(members, topics, assignor, rng.choice([frozenset(), frozenset({"attic", "hall"})]))


def crowded_group(rng: random.Random, assignor: str) -> Group:
    """Few members with much in common, and much to move: partitions that go back whence they came are frequent here."""
    topics = {name: rng.randint(2, 8) for name in rng.sample(TOPICS, rng.randint(2, 5))}
    subscriptions = [rng.sample(list(topics), rng.randint(1, len(topics))) for _ in range(rng.randint(3, 7))]
    weights = [rng.choice([0, 0, 1, 8]) for _ in subscriptions]
    owned: list[list[Partition]] = [[] for _ in subscriptions]
    for partition in [Partition(name, number) for name in topics for number in range(topics[name])]:
        entitled = [place for place, mine in enumerate(subscriptions) if partition.topic in mine]
        if any(weights[place] for place in entitled):
            owned[rng.choices(entitled, [weights[place] for place in entitled])[0]].append(partition)
    told = rng.choice(["nothing", "several"])
    ids = _ids(rng, len(subscriptions))
    return Group(
        tuple(
            Member(ids[place], topics=tuple(mine), owned=tuple(owned[place]), **_generations(rng, told))
            for place, mine in enumerate(subscriptions)
        ),
        topics,
        assignor,
    )


def hanging_group() -> Group:
    """One of a hundred thousand crowded ones: partitions go to an earlier owner and back, for ever."""
    old = {"generation": 6, "user_data_generation": 6}
    new = {"generation": 7, "user_data_generation": 7}
    first = [Partition("t0", number) for number in range(8)]
    last = [Partition("t3", number) for number in range(8)]
    t1, t2 = ([Partition(name, number) for number in range(3)] for name in ("t1", "t2"))
    members = (
        Member("c0", topics=("t3", "t2", "t0", "t1"), **new),
        Member("c1", topics=("t0",), **old),
        Member("c2", topics=("t3", "t2"), owned=(*t2[:2], *last), **old),
        Member("c3", topics=("t1", "t0"), **old),
        Member("c4", topics=("t0", "t2", "t1"), owned=(*first, *t1[:2], t2[2]), **new),
        Member("c5", topics=("t0",), **new),
    )
    return Group(members, {"t0": 8, "t1": 2, "t2": 3, "t3": 8}, "sticky")


def _ids(rng: random.Random, count: int) -> list[str]:
    """Java's own, short ones, and ones that Java and Python sort in other ways (or Java puts into one place
    of its maps).
    """
    forms = {
        "java": lambda: f"consumer-{rng.choice('ab')}-1-{uuid.UUID(int=rng.getrandbits(128))}",
        "short": lambda: f"c{rng.randrange(100)}",
        "odd": lambda: "".join(rng.choices(["Aa", "BB", "\uffee", "😀", "é", "-", "1"], k=rng.randint(1, 4))),
    }
    form = forms[rng.choice(["java", "java", "short", "odd"])]
    found: dict[str, None] = {}
    while len(found) < count:
        found[form() if len(found) < 30 else forms["java"]()] = None
    ids = list(found)
    rng.shuffle(ids)
    return ids


def _subscriptions(rng: random.Random, names: list[str], count: int) -> list[list[str]]:
    """All alike; alike but for a few; of each their own."""
    form = rng.choice(["alike", "alike", "few", "own"])
    common = [*names, "absent"] if rng.random() < 0.1 else list(names)
    found = []
    for _ in range(count):
        mine = list(common)
        if form == "own" or (form == "few" and rng.random() < 0.3):
            mine = rng.sample(common, rng.randint(0, len(common)))
        rng.shuffle(mine)
        found.append(mine)
    return found


def _owned(
    rng: random.Random, topics: dict[str, int], subscriptions: list[list[str]]
) -> list[list[Partition]]:
    """Nothing; balanced or not; for what was subscribed to before; by several; of Topics that are gone."""
    owned: list[list[Partition]] = [[] for _ in subscriptions]
    if not subscriptions or rng.random() < 0.15:
        return owned
    foreign, twice, none = rng.choice([0, 0, 0.2]), rng.choice([0, 0, 0.1, 0.5]), rng.choice([0, 0.1, 0.5])
    weights = [rng.choice([1, 1, 1, 0, 5]) for _ in subscriptions]
    for partition in [Partition(name, number) for name in topics for number in range(topics[name])]:
        entitled = [place for place, mine in enumerate(subscriptions) if partition.topic in mine]
        if rng.random() < foreign or not entitled:
            entitled = list(range(len(subscriptions)))
        if rng.random() < none or not any(weights[place] for place in entitled):
            continue
        chosen = rng.choices(entitled, [weights[place] for place in entitled])
        if rng.random() < twice:
            chosen += rng.choices(range(len(subscriptions)), k=rng.randint(1, 2))
        for place in set(chosen):
            owned[place].append(partition)
    if rng.random() < 0.2:
        rng.choice(owned).extend(Partition("gone", number) for number in range(rng.randint(1, 3)))
    for mine in owned:
        rng.shuffle(mine)
    return owned


def _generations(rng: random.Random, told: str) -> dict[str, int | None]:
    if told == "nothing":
        return {"generation": None, "user_data_generation": None}
    if told == "one":
        return {"generation": 7, "user_data_generation": 7}
    if told == "several":
        generation = rng.choice([7, 7, 6, 5])
        return {"generation": generation, "user_data_generation": generation}
    return {
        "generation": rng.choice([None, 0, 6, 7]),
        "user_data_generation": rng.choice([None, 0, 6, 7]),
    }
