"""``range`` and ``roundrobin``: assignors that do not look at the partitions that members own. Pure.

Both take the members in the same order: first those with a group.instance.id, sorted by it, then the others
by member id.
"""

from __future__ import annotations

from collections import deque

from hadash.assignment.java_order import sort_key
from hadash.assignment.values import Group, Member, Partition


def assign_range(group: Group) -> dict[str, list[Partition]]:
    """Assign each subscriber of a Topic a run of neighbouring partitions, Topic by Topic; the first ones get
    one more when the number does not divide evenly.
    """
    given: dict[str, list[Partition]] = {member.id: [] for member in group.members}
    members = _in_order(group)
    for topic, count in group.subscribed().items():
        subscribers = [member for member in members if topic in member.topics]
        share, over = divmod(count, len(subscribers))
        begin = 0
        for place, member in enumerate(subscribers):
            end = begin + share + (place < over)
            given[member.id] += [Partition(topic, number) for number in range(begin, end)]
            begin = end
    return given


def assign_round_robin(group: Group) -> dict[str, list[Partition]]:
    """Deal out all partitions, Topic by Topic, in a circle of all members; members that do not subscribe to
    the Topic are skipped.
    """
    given: dict[str, list[Partition]] = {member.id: [] for member in group.members}
    circle = deque(_in_order(group))
    for topic, count in group.subscribed().items():
        for number in range(count):
            while topic not in circle[0].topics:
                circle.rotate(-1)
            given[circle[0].id].append(Partition(topic, number))
            circle.rotate(-1)
    return given


def _in_order(group: Group) -> list[Member]:
    return sorted(
        group.members,
        key=lambda member: (
            (1, sort_key(member.id)) if member.instance_id is None else (0, sort_key(member.instance_id))
        ),
    )
