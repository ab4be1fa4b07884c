"""What would be if a group had one member more or fewer, another assignor, or a Topic more partitions. Pure."""

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
    """A change is about a member or a Topic that the group does not have."""


class Change(Protocol):
    """A change of a group."""

    def apply(self, group: Group) -> Group:
        """The changed group. Raises UnknownName, NotKnown or ValueError."""


@dataclass(frozen=True, slots=True)
class AddMember:
    """One more member that subscribes like ``like``, with its client id, host and rack.

    member_id: what it is called. Who gets what may depend on where that sorts (:func:`what_if_by_id`);
    without it, right behind ``like``.
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
    """All members have been started again with another assignor.

    Their claims do not survive that: sticky assignors begin afresh too. Member ids stay here as they are, so
    that members can be compared (in truth dynamic members get new ones, which may sort in another way).
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
    """A Topic has that many partitions in all; Kafka can only add some. Raises ValueError for fewer than it has."""

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

    source: who has it now; ``None``: nobody. target: who gets it; ``None``: nobody.
    """

    partition: Partition
    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True)
class Balance:
    """How partitions are spread: members, those of them without any, and the fewest and the most that one has
    (0 without members).
    """

    members: int
    idle: int
    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change comes to.

    group: the changed group. before, after: who has what, now and when the rebalance is over. moves: sorted
    by partition; with those that nobody has now, or nobody gets.
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
        """How many partitions go from one member to another."""
        return sum(self.between().values())

    def between(self) -> Mapping[tuple[str, str], int]:
        """How many partitions go from whom to whom."""
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
    """What comes of changes, made in their order, at once. Without any: of the next rebalance for whatever reason.

    Raises NotKnown, as :func:`~hadash.assignment.assignors.assign` does; UnknownName for members and Topics
    that are not there; ValueError for a member id that is there already, and for fewer partitions.
    """
    changed = group
    for change in changes:
        changed = change.apply(changed)
    done = rebalance(changed)
    return Outcome(changed, group.owned, done, tuple(_moves(group, done.after)))


def what_if_by_id(group: Group, like: str) -> dict[str, Outcome]:
    """What comes of one more member, for every place that its member id could have among those that begin
    alike: an outcome for each.

    Java's member id is the client.id and a UUID, so that nobody knows beforehand where it sorts. Raises as
    :func:`what_if`.
    """
    model = _member(group, like)
    stem = f"{model.client_id}-" if model.id.startswith(f"{model.client_id}-") else ""
    alike = sorted((member.id for member in group.members if member.id.startswith(stem)), key=sort_key)
    # One before the first, and one behind each: text that is a little longer sorts directly behind.
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
        # Of several who claim it, the one whose claim is the newest has it.
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
