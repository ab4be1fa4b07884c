"""The sticky assignors' fast path, for members that all subscribe to the same Topics. Pure.

Every member gets ``least`` partitions, and ``wanted`` of them get one more. Members keep what they own within
these limits; the remaining partitions are dealt out in turn.
"""

from __future__ import annotations

from collections import deque

from hadash.assignment.claims import Claims
from hadash.assignment.java_order import sort_key
from hadash.assignment.values import Partition

Given = dict[str, list[Partition]]


def assign_alike(claims: Claims) -> tuple[Given, dict[Partition, str]]:
    """Return each member's partitions, and of these the ones that another member still owns (and must revoke
    first), with their new owner. There must be at least one member.
    """
    least, wanted = divmod(sum(claims.topics.values()), len(claims.members))
    given, owners, short, even = _keep(claims, least, wanted)
    taken = {partition for each in given.values() for partition in each}
    transferred: dict[Partition, str] = {}

    in_turn = deque(sorted(short, key=sort_key))
    next_for_more = deque(sorted(even, key=sort_key))
    for topic, count in claims.topics.items():
        for partition in (Partition(topic, number) for number in range(count)):
            if partition in taken:
                continue
            member = in_turn.popleft() if in_turn else next_for_more.popleft()
            given[member].append(partition)
            if len(given[member]) == least:
                next_for_more.append(member)
            elif len(given[member]) < least:
                in_turn.append(member)
            if owners.get(partition, member) != member or partition in claims.disputed:
                transferred[partition] = member
    return given, transferred


def _keep(
    claims: Claims, least: int, wanted: int
) -> tuple[Given, dict[Partition, str], list[str], list[str]]:
    """Return the partitions that each member keeps; the former owners of those taken away; the members with
    fewer than ``least``; the members with exactly ``least``, which may get one more.
    """
    given: Given = {}
    owners: dict[Partition, str] = {}
    short: list[str] = []
    even: list[str] = []
    most = least + (wanted > 0)
    with_more = 0
    for member, owned in claims.owned.items():
        mine = sorted(set(owned) - claims.disputed, key=lambda partition: (partition.number, partition.topic))
        keep = least
        if len(mine) < least:
            short.append(member)
        elif len(mine) >= most and with_more < wanted:
            keep = most
            with_more += 1
            if with_more == wanted:
                even.clear()
        elif with_more < wanted:
            even.append(member)
        given[member] = mine[:keep]
        owners.update(dict.fromkeys(mine[keep:], member))
    return given, owners, short, even
