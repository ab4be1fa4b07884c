"""What a stage keeps for later ones, and what is known of a source that is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import say
from hadash.switching.execution import lost_source, unreplicated
from hadash.switching.execution.handlers.registry import handles
from hadash.switching.stages import commands as do
from hadash.switching.stages.context import (
    points_from_json,
    points_to_json,
    room_for,
    seen_to_json,
)
from hadash.switching.stages.run import StageFailed

if TYPE_CHECKING:
    from hadash.switching.execution.command_handler import CommandHandler


@handles(do.CheckLost)
def check_lost(hand: CommandHandler, command: do.CheckLost) -> bool:
    return lost_source.is_lost(hand.client(hand.plan.source), hand.plan)


@handles(do.ReadSighted)
def read_sighted(hand: CommandHandler, command: do.ReadSighted) -> do.LastKnown:
    return lost_source.sighted(hand.pair, hand.clusters[hand.plan.source], hand.plan)


@handles(do.ReadUsers)
def read_users(hand: CommandHandler, command: do.ReadUsers) -> tuple[list[str], list[str]]:
    return lost_source.users(hand.pair, hand.clusters[hand.plan.source], hand.plan)


@handles(do.OpenTail)
def open_tail(hand: CommandHandler, command: do.OpenTail) -> None:
    assert hand.journal is not None
    unreplicated.open_tail(hand.journal.switch, command.ends)


@handles(do.RecordDrained)
def record_drained(hand: CommandHandler, command: do.RecordDrained) -> None:
    hand.facts.put("drained", points_to_json(command.ends))


@handles(do.RecordReading)
def record_reading(hand: CommandHandler, command: do.RecordReading) -> None:
    kept = [
        [group, p.topic, p.partition, offset]
        for group, offsets in sorted(command.positions.items())
        for p, offset in sorted(offsets.items())
    ]
    hand.facts.put("reading", kept)


@handles(do.ReadReading)
def read_reading(hand: CommandHandler, command: do.ReadReading) -> dict[str, dict[Partition, int]] | None:
    kept = hand.facts.values.get("reading")
    if kept is None:
        return None
    found: dict[str, dict[Partition, int]] = {}
    for group, topic, index, offset in kept:
        found.setdefault(group, {})[Partition(topic, index)] = offset
    return found


@handles(do.RecordLoss)
def record_loss(hand: CommandHandler, command: do.RecordLoss) -> None:
    records = [[p.topic, p.partition, count] for p, count in command.records.items()]
    proved = points_to_json(command.proved)
    hand.facts.put("loss", {"records": records, "age": command.seen_seconds_ago, "proved": proved})


@handles(do.ReadProved)
def read_proved(hand: CommandHandler, command: do.ReadProved) -> Mapping[Partition, OffsetSync] | None:
    loss = hand.facts.values.get("loss", {})
    return points_from_json(loss["proved"]) if "proved" in loss else None


@handles(do.ReadDrained)
def read_drained(hand: CommandHandler, command: do.ReadDrained) -> Mapping[Partition, OffsetSync] | None:
    drained = hand.facts.values.get("drained")
    return None if drained is None else points_from_json(drained)


@handles(do.RecordSeen)
def record_seen(hand: CommandHandler, command: do.RecordSeen) -> None:
    seen = seen_to_json(command)
    partitions = hand.all_partitions()
    forced = hand.plan.kind.spec.source_lost
    most = room_for({**hand.facts.values, "seen": seen}, partitions, forced)
    if most is not None:
        raise StageFailed(
            say(
                "This switch moves %(count)s partitions, and ZooKeeper has room to note the offsets of about %(most)s: without "
                "that note a switch could not go on after a failover of PostgreSQL. Move fewer Topics at once.",
                count=len(partitions),
                most=most,
            )
        )
    hand.facts.put("seen", seen)


@handles(do.ReadSeen)
def read_seen(hand: CommandHandler, command: do.ReadSeen) -> do.RecordSeen:
    seen = hand.facts.values.get("seen", {})
    return do.RecordSeen(
        tuple(seen.get("clients", ())),
        tuple(seen.get("groups", ())),
        tuple((kind, topic) for kind, topic in seen.get("activity", ())),
    )
