"""The sticky assignors' general path, for members with different subscriptions. Pure.

Members keep the partitions that they own and still subscribe to. Each remaining partition goes to the member
with the fewest. Then partitions are moved from members with more to members with fewer, until no move helps;
if the result is not more even, the moves are undone.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterator

from hadash.assignment.claims import Claims, GenerationOf
from hadash.assignment.errors import AssignorFails, AssignorHangs
from hadash.assignment.java_order import sort_key
from hadash.assignment.movements import Movements
from hadash.assignment.values import Partition
from hadash.sentences import say

Given = dict[str, set[Partition]]


def assign_different(claims: Claims, generation_of: GenerationOf) -> Given:
    """Return each member's partitions. There must be at least one member. Raises AssignorFails where Kafka's
    code ends with an exception, and AssignorHangs where it never ends.
    """
    potential = {
        topic: [member.id for member in claims.members if topic in member.topics] for topic in claims.topics
    }
    partitions = [
        Partition(topic, number)
        for topic in sorted(potential, key=lambda topic: (len(potential[topic]), topic))
        for number in range(claims.topics[topic])
    ]
    given = {
        member.id: {partition for partition in claims.owned[member.id] if partition.topic in member.topics}
        for member in claims.members
    }
    # A member has to release partitions of a Topic anyway: then owned partitions may be moved at once.
    revoking = any(len(given[member.id]) < len(claims.owned[member.id]) for member in claims.members)
    taken = {partition for each in given.values() for partition in each}
    free = [partition for partition in partitions if partition not in taken]
    fresh = not taken

    table = _Table(claims, potential, given)
    for partition in free:
        table.give(partition, table.least_of(partition.topic))

    table.set_aside_fixed()
    movable = [partition for partition in partitions if len(potential[partition.topic]) > 1]
    before = table.copy()
    earlier = _earlier_owners(claims, generation_of)
    if not revoking:
        _even_out(table, [partition for partition in free if len(potential[partition.topic]) > 1], earlier)
    moved = _even_out(table, movable, earlier)
    if moved and not fresh and _unevenness(table.given.values()) >= _unevenness(before.values()):
        table.given = before
    return {**table.given, **table.fixed}


def _earlier_owners(claims: Claims, generation_of: GenerationOf) -> dict[Partition, str]:
    """Return each partition's owner in the newest generation before the current one, as the members report it."""
    found: dict[Partition, tuple[int, str]] = {}
    for member in claims.members:
        generation = generation_of(member)
        if generation < claims.newest:
            for partition in member.owned:
                if partition not in found or generation > found[partition][0]:
                    found[partition] = (generation, member.id)
    return {partition: member for partition, (_, member) in found.items()}


class _Table:
    """The assignment while it is being evened out, with the members sorted by their number of partitions."""

    def __init__(self, claims: Claims, potential: dict[str, list[str]], given: Given) -> None:
        self.given = given
        #: The partitions of members that can neither get nor lose any.
        self.fixed: Given = {}
        #: The subscribers of each Topic.
        self.potential = potential
        self.movements = Movements()
        self._topics = {
            member.id: [topic for topic in member.topics if topic in claims.topics]
            for member in claims.members
        }
        #: How many partitions a member could have at most.
        self._all = {
            member: sum(claims.topics[topic] for topic in topics) for member, topics in self._topics.items()
        }
        self._holder = {partition: member for member, each in given.items() for partition in each}
        #: The number of a Topic's partitions that each member has.
        self._holders = {
            topic: Counter(member for partition, member in self._holder.items() if partition.topic == topic)
            for topic in claims.topics
        }
        self._sorted = sorted(self._rank(member) for member in given)

    def size(self, member: str) -> int:
        """Return the number of a member's partitions. Raises AssignorFails for a member that was set aside:
        Kafka's code fails there.
        """
        if member not in self.given:
            raise AssignorFails(
                say(
                    "The sticky assignor wants to give a partition back to a member that it had set aside, and fails "
                    "(NullPointerException)."
                )
            )
        return len(self.given[member])

    def holder(self, partition: Partition) -> str:
        return self._holder[partition]

    def copy(self) -> Given:
        return {member: set(each) for member, each in self.given.items()}

    def state(self) -> object:
        """Return each partition's holder and the moves so far: all that further moves depend on."""
        return frozenset(self._holder.items()), self.movements.state()

    def by_size(self) -> Iterator[str]:
        """Iterate over the members, those with the fewest partitions first."""
        return (member for _, _, member in self._sorted)

    def least_of(self, topic: str) -> str:
        """Return the Topic's subscriber with the fewest partitions."""
        return next(member for member in self.by_size() if topic in self._topics[member])

    def give(self, partition: Partition, member: str) -> None:
        """Give a member a partition that no member has."""
        self._change(member, self.given[member].add, partition)
        self._holder[partition] = member
        self._holders[partition.topic][member] += 1

    def move(self, partition: Partition, target: str) -> None:
        """Move a partition to ``target``, or instead one of the same Topic that came the opposite way."""
        partition = self.movements.instead_of(partition, self._holder[partition], target)
        source = self._holder[partition]
        self.movements.record(partition, source, target)
        self._change(source, self.given[source].remove, partition)
        self._holders[partition.topic][source] -= 1
        self.give(partition, target)

    def set_aside_fixed(self) -> None:
        """Set aside the members that have all partitions that they could have and share no Topic with others."""
        for member in list(self.given):
            mine = self.given[member]
            if len(mine) >= self._all[member] and not any(
                len(self.potential[partition.topic]) > 1 for partition in mine
            ):
                self._sorted.remove(self._rank(member))
                self.fixed[member] = self.given.pop(member)

    def is_balanced(self) -> bool:
        """Return whether no member could get a partition of a member that has at least two more."""
        if self._sorted[0][0] >= self._sorted[-1][0] - 1:
            return True
        largest = {
            topic: max((len(self.given[member]) for member, count in holders.items() if count), default=0)
            for topic, holders in self._holders.items()
            if len(self.potential[topic]) > 1
        }
        return not any(
            size != self._all[member]
            and any(largest.get(topic, 0) > size + 1 for topic in self._topics[member])
            for size, _, member in self._sorted
        )

    def _rank(self, member: str) -> tuple[int, bytes, str]:
        return (len(self.given[member]), sort_key(member), member)

    def _change(self, member: str, change: Callable[[Partition], None], partition: Partition) -> None:
        del self._sorted[bisect_left(self._sorted, self._rank(member))]
        change(partition)
        insort(self._sorted, self._rank(member))


def _even_out(table: _Table, partitions: list[Partition], earlier: dict[Partition, str]) -> bool:
    """Move partitions as long as it helps; return whether any was moved. Raises AssignorHangs when the moves
    repeat in a circle.
    """
    moved = False
    seen: set[object] = set()
    while True:
        again = False
        for partition in partitions:
            if table.is_balanced():
                break
            size = table.size(table.holder(partition))
            owner = earlier.get(partition)
            if owner is not None and size > table.size(owner) + 1:
                # Its owner in an earlier generation gets it back.
                table.move(partition, owner)
            elif any(size > table.size(other) + 1 for other in table.potential[partition.topic]):
                table.move(partition, table.least_of(partition.topic))
            else:
                continue
            again = True
        if not again:
            return moved
        moved = True
        if table.state() in seen:
            raise AssignorHangs(say("The sticky assignor moves partitions in a circle and never ends."))
        seen.add(table.state())


def _unevenness(given: Collection[set[Partition]]) -> int:
    """Return the sum of the differences in size between all pairs of members.

    >>> _unevenness([set("abc"), set("de"), set()])
    6
    """
    sizes = sorted(map(len, given))
    return sum((2 * place - len(sizes) + 1) * size for place, size in enumerate(sizes))
