"""Whether members stop reading before they join their group again. Pure.

One that reads on asks the new cluster for the offsets of the old one until it has rejoined: where they differ it skips records, or
reads again from where its fallback leads (@platformatic/kafka does so). Its assignor does not tell. Its FETCH requests do:
while its JOIN_GROUP waits in a Gateway, who has stopped asks for nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import Corresponding
from hadash.sentences import say
from hadash.switching import commands as do
from hadash.switching.machine import Kind
from hadash.switching.plan import Plan
from hadash.switching.stage_run import Limits, StageFailed

Entry = Mapping[str, Any]

#: Seconds by which a FETCH may seem to come after the JOIN_GROUP that was sent after it: they come over two connections, to
#: Gateways that are busy, and are told by answers that were asked for one after the other.
GRACE_SECONDS = 0.5

#: Seconds without another FETCH after the answer to the last one that show that a client has stopped reading. (One that reads asks
#: again at once, or when its application has taken what it got.)
QUIET_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ReadingOn:
    """``members``: those that read on while they rejoin, as group → member id → client. ``not_known``: clients of which it is not known
    yet."""

    members: dict[str, dict[str, str]] = field(default_factory=dict)
    not_known: tuple[str, ...] = ()

    @property
    def clients(self) -> list[str]:
        return sorted({client for found in self.members.values() for client in found.values()})


def reading_on(
    plan: Plan, topics: Iterable[str], members: Iterable[Entry], readers: Iterable[Entry]
) -> ReadingOn:
    """Who of the plan's members reads ``topics`` on the source although it rejoins.

    :param members: of all Gateways' ``/members``. Of those that share AppID, client.id and host nobody can tell whose connection reads, so
        the last one that has begun to rejoin counts.
    :param readers: of all ``/readers``, asked after that.
    """
    wanted = frozenset(topics)
    rejoining = [
        m for m in members if m["group"] in plan.groups and m["cluster"] == plan.source and m["connected"]
    ]
    by_name: dict[tuple[str, str, str], list[Entry]] = {}
    for member in rejoining:
        by_name.setdefault(_name(member), []).append(member)
    found: dict[str, dict[str, str]] = {}
    not_known: set[str] = set()
    for reader in readers:
        name = _name(reader)
        if reader["cluster"] != plan.source or name not in by_name or wanted.isdisjoint(reader["topics"]):
            continue
        client, rejoined = plan.who(*name[:2]), _last(by_name[name])
        asked = reader.get("asked")
        if rejoined is None or asked is None:
            not_known.add(client)
        elif asked < rejoined - GRACE_SECONDS:
            for member in by_name[name]:
                found.setdefault(member["group"], {})[member["member_id"]] = client
        elif not _is_quiet(reader, rejoined):
            not_known.add(client)
    return ReadingOn(found, tuple(sorted(not_known)))


def _name(entry: Entry) -> tuple[str, str, str]:
    return entry["appid"], entry["client_id"], entry["host"]


def _last(members: Iterable[Entry]) -> float | None:
    """How many seconds ago the last of some members has begun to rejoin; ``None`` if that is not known of one. (Its requests may come to
    several Gateways, and its newest JOIN_GROUP to one of them.)"""
    newest: dict[tuple[str, str], float | None] = {}
    for member in members:
        key, rejoined = (member["group"], member["member_id"]), member.get("rejoined")
        known = newest.get(key)
        newest[key] = known if rejoined is None else rejoined if known is None else min(known, rejoined)
    times = [each for each in newest.values() if each is not None]
    return min(times) if len(times) == len(newest) else None


def _is_quiet(reader: Entry, rejoined: float) -> bool:
    """Whether it was answered long enough ago, and has not asked again."""
    if reader["waits"]:
        return False
    answered = rejoined if reader["answered"] is None else min(rejoined, reader["answered"])
    return bool(answered >= QUIET_SECONDS)


# -- steps of several stages ---------------------------------------------------------------------------------------


def with_other_offsets(points: Mapping[Partition, Corresponding]) -> frozenset[str]:
    """The Topics of which a partition has other offsets on the other side."""
    return frozenset(partition.topic for partition, point in points.items() if point.source != point.target)


def check_noted(plan: Plan, limits: Limits, topics: frozenset[str]) -> Generator[do.Command, Any, None]:
    """Who was seen to read on by a switch before this one, and is the same member still, does not move.

    :param topics: those with other offsets on the target. :raises StageFailed: there is one.
    """
    if topics:
        yield from _refuse(plan, limits, topics, (yield do.ReadReadingOn()))


def check_stopped(
    plan: Plan, limits: Limits, topics: frozenset[str]
) -> Generator[do.Command, Any, tuple[str, ...]]:
    """All members wait to rejoin: do they still read? → those of which it is not known yet.

    :param topics: those with other offsets on the target. :raises StageFailed: one reads on.
    """
    if not topics:
        return ()
    now: ReadingOn = yield do.CheckReadingOn(topics)
    if now.members and not _accepted(plan, limits):
        yield do.RecordReadingOn(now.members)
    yield from _refuse(plan, limits, topics, now)
    return () if _accepted(plan, limits) else now.not_known


def _accepted(plan: Plan, limits: Limits) -> bool:
    return limits.accept_self_assigned or plan.kind is Kind.EMERGENCY


def _refuse(
    plan: Plan, limits: Limits, topics: frozenset[str], found: ReadingOn
) -> Generator[do.Command, Any, None]:
    if not found.members:
        return
    if _accepted(plan, limits):
        yield do.Say(
            say(
                "%(clients)s read on while they rejoin their group, and offsets are others on %(cluster)s.",
                clients=found.clients,
                cluster=plan.target,
            )
        )
        return
    raise StageFailed(
        say(
            "%(clients)s read on while they rejoin their group: they would ask %(cluster)s for the offsets of %(source)s, which are others "
            "there (%(topics)s). Use a library that stops reading before it rejoins, stop them for the switch, or leave them out.",
            clients=found.clients,
            cluster=plan.target,
            source=plan.source,
            topics=sorted(topics),
        )
    )
