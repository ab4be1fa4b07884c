"""A consumer group as its assignor sees it. The values are immutable and checked at construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Partition(NamedTuple):
    """A partition of a Topic.

    >>> str(Partition("orders", 3))
    'orders-3'
    """

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


#: An assignment: each member id with its partitions, sorted by Topic and number. It contains every member.
Assignment: TypeAlias = Mapping[str, tuple[Partition, ...]]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, with the data that it sends to the leader when it joins.

    id: its member id. Java's consists of its client.id (or group.instance.id) and a UUID. topics: its
    subscription; Topics that do not exist (yet) may be among them. owned: the partitions that it has now and
    will claim; ``range`` and ``roundrobin`` ignore them. instance_id: ``group.instance.id``. rack:
    ``client.rack``. generation: from its JOIN_GROUP (the consumer protocol's version 2; Java since 3.4).
    user_data_generation: from the assignor's user data. A settled group needs neither generation: they decide
    only when members claim the same partition.

    Raises ValueError for a Topic or a partition given twice, and for a generation below 0.
    """

    id: str
    client_id: str = ""
    host: str = ""
    topics: tuple[str, ...] = ()
    owned: tuple[Partition, ...] = ()
    instance_id: str | None = None
    rack: str | None = None
    generation: int | None = None
    user_data_generation: int | None = None

    def __post_init__(self) -> None:
        if len(set(self.topics)) < len(self.topics):
            raise ValueError(f"{self.id} subscribes to a Topic twice")
        if len(set(self.owned)) < len(self.owned):
            raise ValueError(f"{self.id} owns a partition twice")
        if min(self.generation or 0, self.user_data_generation or 0) < 0:
            raise ValueError(f"A generation of {self.id} is below 0")


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group of the classic protocol, and the Topics of its cluster.

    members: in the order of the coordinator's answer, as far as it is known. (It decides only between member
    ids that share a bucket in a Java HashMap.) topics: each Topic's number of partitions. For the leader, a
    Topic that is missing here or has 0 partitions does not exist. assignor: the group's protocol, as its
    coordinator names it. broker_racks: the racks of the brokers; ``None``: not known; an empty set: no broker
    has one.

    Raises ValueError for two members with the same id or the same group.instance.id, and for a number of
    partitions below 0.
    """

    members: tuple[Member, ...]
    topics: Mapping[str, int]
    assignor: str
    broker_racks: frozenset[str] | None = None

    def __post_init__(self) -> None:
        instances = [member.instance_id for member in self.members if member.instance_id is not None]
        if len({member.id for member in self.members}) < len(self.members):
            raise ValueError("Two members have the same id")
        if len(set(instances)) < len(instances):
            raise ValueError("Two members have the same group.instance.id")
        if any(count < 0 for count in self.topics.values()):
            raise ValueError("A Topic has less than 0 partitions")

    @property
    def owned(self) -> Assignment:
        """The members' current partitions.

        >>> Group((Member("a", owned=(Partition("t", 1), Partition("t", 0))),), {}, "range").owned
        {'a': (Partition(topic='t', number=0), Partition(topic='t', number=1))}
        """
        return {member.id: tuple(sorted(member.owned)) for member in self.members}

    def subscribed(self) -> dict[str, int]:
        """Return the existing Topics that a member subscribes to, with their numbers of partitions, sorted by
        name.

        >>> Group((Member("a", topics=("t", "gone", "empty")),), {"t": 2, "empty": 0, "other": 9}, "range").subscribed()
        {'t': 2}
        """
        names = {topic for member in self.members for topic in member.topics}
        return {topic: self.topics[topic] for topic in sorted(names) if self.topics.get(topic)}

    def member(self, member_id: str) -> Member | None:
        """Return the member of that id, or ``None``."""
        return next((member for member in self.members if member.id == member_id), None)
