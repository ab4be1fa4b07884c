"""Predicts a group's assignment with a member more or fewer, another assignor, or more partitions. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from hadash.assignment.assignors import known
from hadash.assignment.java_order import sort_key
from hadash.assignment.rebalance import Rebalance, rebalance
from hadash.assignment.values import Assignment, Group, Member, Partition


class UnknownName(Exception):
    """A change names a member or a Topic that the group does not have."""


class Change(Protocol):
    """A change to a group."""

    def apply(self, group: Group) -> Group:
        """Return the changed group. Raises UnknownName, NotKnown or ValueError."""


@dataclass(frozen=True, slots=True)
class AddMember:
    """One more member with the subscription, client id, host and rack of ``like``.

    member_id: its member id. The assignment may depend on where it sorts (:func:`what_if_by_id`); without
    one, it sorts right behind ``like``.
    """

    like: str
    member_id: str | None = None

    def apply(self, group: Group) -> Group:
        model = _member(group, self.like)
        taken = {member.id for member in group.members}
        names = (f"{self.like}+{number}" for number in range(1, len(taken) + 2))
        new = replace(
            model,
            id=self.member_id or next(name for name in names if name not in taken),
            owned=(),
            instance_id=None,
            generation=None,
            user_data_generation=None,
        )
        return replace(group, members=(*group.members, new))


@dataclass(frozen=True, slots=True)
class RemoveMember:
    """One member fewer."""

    member_id: str

    def apply(self, group: Group) -> Group:
        gone = _member(group, self.member_id)
        return replace(group, members=tuple(member for member in group.members if member is not gone))


@dataclass(frozen=True, slots=True)
class ChangeAssignor:
    """All members restart with another assignor.

    Their claims do not survive the restart, so sticky assignors begin without any, too. Member ids are kept
    here so that members can be compared (in reality dynamic members get new ones, which may sort
    differently).
    """

    assignor: str

    def apply(self, group: Group) -> Group:
        known(self.assignor)
        if self.assignor == group.assignor:
            return group
        members = (
            replace(member, owned=(), generation=None, user_data_generation=None) for member in group.members
        )
        return replace(group, assignor=self.assignor, members=tuple(members))


@dataclass(frozen=True, slots=True)
class SetPartitions:
    """A Topic gets ``count`` partitions in all. Raises ValueError for fewer than it has: Kafka can only add some."""

    topic: str
    count: int

    def apply(self, group: Group) -> Group:
        if self.topic not in group.topics:
            raise UnknownName(self.topic)
        if self.count < group.topics[self.topic]:
            raise ValueError(f"{self.topic} has {group.topics[self.topic]} partitions already")
        return replace(group, topics={**group.topics, self.topic: self.count})


class Move(NamedTuple):
    """A partition that changes hands.

    source: the member that has it now; ``None``: no member. target: the member that gets it; ``None``: no
    member.
    """

    partition: Partition
    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True)
class Balance:
    """How evenly partitions are spread: the number of members, of members without any (``idle``), and the
    fewest and the most partitions of one member (0 without members).
    """

    members: int
    idle: int
    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a change.

    group: the changed group. before, after: the assignment now and at the end of the rebalance. moves: sorted
    by partition, including partitions that no member has now or gets.
    """

    group: Group
    before: Assignment
    rebalance: Rebalance
    moves: tuple[Move, ...]

    @property
    def after(self) -> Assignment:
        return self.rebalance.after

    @property
    def moved(self) -> int:
        """The number of partitions that go from one member to another."""
        return sum(self.between().values())

    def between(self) -> Mapping[tuple[str, str], int]:
        """Return the number of partitions that go from one member to another, by (source, target)."""
        return Counter(
            (move.source, move.target)
            for move in self.moves
            if move.source is not None and move.target is not None
        )

    @property
    def balance_before(self) -> Balance:
        return _balance(self.before)

    @property
    def balance_after(self) -> Balance:
        return _balance(self.after)


def what_if(group: Group, *changes: Change) -> Outcome:
    """Return the result of changes that are made in their order, followed by one rebalance. Without changes,
    the result of the next rebalance.

    Raises NotKnown like :func:`~hadash.assignment.assignors.assign`; UnknownName for members and Topics that
    do not exist; ValueError for a member id that exists already, and for fewer partitions.
    """
    changed = group
    for change in changes:
        changed = change.apply(changed)
    done = rebalance(changed)
    return Outcome(changed, group.owned, done, tuple(_moves(group, done.after)))


def what_if_by_id(group: Group, like: str) -> dict[str, Outcome]:
    """Return the results of one more member, one for each place that its member id could have among those
    with the same prefix.

    Java's member id is the client.id and a UUID, so where it sorts is not known beforehand. Raises like
    :func:`what_if`.
    """
    model = _member(group, like)
    stem = f"{model.client_id}-" if model.id.startswith(f"{model.client_id}-") else ""
    alike = sorted((member.id for member in group.members if member.id.startswith(stem)), key=sort_key)
    # One before the first, and one behind each: an id with one more character sorts directly behind.
    ids = [*([stem] if stem else []), *(f"{each}+" for each in alike)]
    return {each: what_if(group, AddMember(like, each)) for each in ids}


def _member(group: Group, member_id: str) -> Member:
    member = group.member(member_id)
    if member is None:
        raise UnknownName(member_id)
    return member


def _moves(group: Group, after: Assignment) -> Iterable[Move]:
    owners = _owners(group.owned)
    targets = _owners(after)
    generations = {member.id: member.generation or 0 for member in group.members}
    for partition in sorted({*owners, *targets}):
        target = next(iter(targets.get(partition, ())), None)
        # Of several members that claim it, the one with the newest generation has it.
        source = max(owners.get(partition, ()), key=generations.__getitem__, default=None)
        if source != target and target not in owners.get(partition, ()):
            yield Move(partition, source, target)


def _owners(assignment: Assignment) -> dict[Partition, list[str]]:
    found: dict[Partition, list[str]] = {}
    for member, mine in assignment.items():
        for partition in mine:
            found.setdefault(partition, []).append(member)
    return found


def _balance(assignment: Assignment) -> Balance:
    sizes = [len(mine) for mine in assignment.values()]
    return Balance(len(sizes), sizes.count(0), min(sizes, default=0), max(sizes, default=0))
