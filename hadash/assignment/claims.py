"""The partitions that members claim to own, and which of the claims hold: the first step of both sticky
assignors. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hadash.assignment.errors import NotKnown
from hadash.assignment.java_order import JavaHashSet, string_hash
from hadash.assignment.values import Group, Member, Partition
from hadash.sentences import say

#: The generation of a member that reports none.
NO_GENERATION = -1

#: Returns the generation that an assignor assumes for a member's claims.
GenerationOf = Callable[[Member], int]


@dataclass(frozen=True, slots=True)
class Claims:
    """The group as a sticky assignor reads it.

    members: in the order of a Java HashMap, which decides ties.
    topics: the existing Topics that a member subscribes to, with their numbers of partitions.
    owned: the partitions of ``topics`` that each member may keep, also of Topics that it no longer subscribes
    to.
    disputed: partitions that two members of one generation have claimed; no member keeps them.
    newest: the highest generation, or NO_GENERATION.
    alike: all members have the same subscription.
    """

    members: tuple[Member, ...]
    topics: Mapping[str, int]
    owned: Mapping[str, list[Partition]]
    disputed: frozenset[Partition]
    newest: int
    alike: bool


def read_claims(group: Group, generation_of: GenerationOf) -> Claims:
    """Decide which member owns which partition: of two members that claim one, the one of the newer
    generation keeps it; if their generations are equal, neither does.

    Raises NotKnown when a member claims a partition number that its Topic does not have.
    """
    order = JavaHashSet(string_hash, [member.id for member in group.members])
    by_id = {member.id: member for member in group.members}
    members = tuple(by_id[name] for name in order)
    topics = group.subscribed()
    owned: dict[str, list[Partition]] = {}
    claimant: dict[Partition, Member] = {}
    disputed: set[Partition] = set()
    for member in members:
        generation = generation_of(member)
        owned[member.id] = []
        for partition in member.owned:
            if partition.topic not in topics:
                continue
            _must_exist(partition, member, topics)
            other = claimant.get(partition)
            # The other member's generation is read from its JOIN_GROUP alone, not from its user data, as in
            # Kafka's code.
            others = NO_GENERATION if other is None or other.generation is None else other.generation
            if other is not None and generation < others:
                continue
            claimant[partition] = member
            if other is not None and partition in owned[other.id]:
                owned[other.id].remove(partition)
            if other is not None and generation == others:
                disputed.add(partition)
            else:
                owned[member.id].append(partition)
    newest = max((generation_of(member) for member in members), default=NO_GENERATION)
    return Claims(members, topics, owned, frozenset(disputed), newest, _alike(members))


def _must_exist(partition: Partition, member: Member, topics: Mapping[str, int]) -> None:
    if not 0 <= partition.number < topics[partition.topic]:
        raise NotKnown(
            say(
                "%(member)s owns %(partition)s, but %(topic)s has %(count)s partitions: what the sticky assignors "
                "make of that is not known.",
                member=member.id, partition=str(partition), topic=partition.topic, count=topics[partition.topic],
            )
        )  # fmt: skip


def _alike(members: tuple[Member, ...]) -> bool:
    """Return whether all members have the same subscription. Like Kafka, compares with the first member that
    subscribes to anything: members before it, without a subscription, do not count as different and get
    partitions like the rest.
    """
    first: frozenset[str] = frozenset()
    for member in members:
        if not first:
            first = frozenset(member.topics)
        elif frozenset(member.topics) != first:
            return False
    return True
