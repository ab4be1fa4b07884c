"""Clients that read without being members of a group: only they know their positions, so nobody can translate them.
Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.reading_on import with_other_offsets
from hadash.switching.stages.run import Limits, StageFailed

Entry = dict[str, Any]


def self_assigned(
    plan: Plan,
    readers: Iterable[Entry],
    members: Iterable[Entry],
    assigned: Mapping[tuple[str, str, Partition], int],
) -> dict[str, frozenset[str]]:
    """The plan's clients that read its Topics on the source and are members of none of its groups, with the Topics
    that each reads.

    A client.id alone says little: ``rdkafka`` is librdkafka's default. So a client.id of an AppID counts as a
    member only if members have come with both names. Most libraries read over one connection to a broker; if a host
    has more connections that read from one broker than members of that name, one of them is no member, unless what
    they read is what these members were assigned (kafka-go has a connection for each partition). Nobody can tell
    which one, so the name stands for all.

    :param readers: the connections that read, from the Gateways' ``/readers``; ``members`` from ``/members``.
    :param assigned: from the coordinators of the plan's groups: how many members of a client.id and host have a
        partition.
    """
    topics = set(plan.topics)
    reading = [reader for reader in _of(plan, readers) if topics & set(reader["topics"])]
    joined = [m for m in _of(plan, members) if m["connected"] and m["group"] in plan.groups]
    names = {_name(member) for member in joined}
    # Members are counted by id: one that has just come back may still have its old connection.
    places = {(*_name(member), member["host"], member["group"], member["member_id"]) for member in joined}
    of_name = Counter(place[:3] for place in places)
    at_broker: dict[tuple[Any, ...], list[Entry]] = {}
    for reader in reading:
        at_broker.setdefault((*_name(reader), reader["host"], reader["broker"]), []).append(reader)
    found: dict[str, set[str]] = {}
    for reader in reading:
        name, host = _name(reader), reader["host"]
        together = at_broker[(*name, host, reader["broker"])]
        outnumber = len(together) > of_name[(*name, host)] and not _as_assigned(together, topics, assigned)
        if name not in names or outnumber:
            appid, client_id = name
            found.setdefault(client_id or appid, set()).update(topics & set(reader["topics"]))
    return {who: frozenset(read) for who, read in found.items()}


def _as_assigned(
    readers: Iterable[Entry], topics: set[str], assigned: Mapping[tuple[str, str, Partition], int]
) -> bool:
    """Whether connections of one client.id and host read no partition more often than members of that name and host
    have it assigned.
    """
    times: Counter[tuple[str, str, Partition]] = Counter()
    for reader in readers:
        if reader["partitions"] is None:
            return False
        times.update(
            (reader["client_id"], reader["host"], Partition(topic, index))
            for topic, indexes in reader["partitions"].items()
            if topic in topics
            for index in indexes
        )
    return all(count <= assigned.get(which, 0) for which, count in times.items())


def _of(plan: Plan, entries: Iterable[Entry]) -> Iterable[Entry]:
    """The entries of the plan's clients on the source."""
    return (e for e in entries if e["cluster"] == plan.source and plan.covers(e["appid"], e["client_id"]))


def _name(entry: Entry) -> tuple[str, str]:
    return entry["appid"], entry["client_id"]


# -- a step of several stages ------------------------------------------------------------------------------------


def check_self_assigned(plan: Plan, limits: Limits, points: Mapping[Partition, OffsetSync]) -> Step[None]:
    """Clients that assign partitions themselves keep their offsets when they move: they may move only where both
    clusters have the same offsets.

    :param points: offsets that correspond. :raises StageFailed: a client reads a Topic whose offsets differ.
    """
    yield from nobody_is_stranded(plan, limits, points, (yield from ask(do.CheckSelfAssigned())))


def nobody_is_stranded(
    plan: Plan, limits: Limits, points: Mapping[Partition, OffsetSync], found: Mapping[str, frozenset[str]]
) -> Step[None]:
    """The same check, for clients ``found`` by :class:`~hadash.switching.stages.commands.CheckSelfAssigned`."""
    differing = with_other_offsets(points)
    stranded = {
        who: sorted(topics & differing) for who, topics in sorted(found.items()) if topics & differing
    }
    if not stranded:
        return
    if limits.accept_self_assigned or plan.kind.spec.takes_self_assigned:
        yield from ask(
            do.Say(
                say(
                    "%(clients)s keep their offsets, which are others on %(cluster)s.",
                    clients=[*stranded],
                    cluster=plan.target,
                )
            )
        )
        return
    raise StageFailed(
        say(
            "%(clients)s read without being members of a group: they keep their offsets over a move, and "
            "%(topics)s have other offsets on "
            "%(cluster)s. Let them subscribe in a group, stop them for the switch, or leave them out.",
            clients=[*stranded],
            topics=sorted({topic for topics in stranded.values() for topic in topics}),
            cluster=plan.target,
        )
    )
