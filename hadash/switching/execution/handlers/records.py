"""Commands for what stages store for later ones, and for what is known of a lost source."""

from __future__ import annotations

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import say
from hadash.switching.execution import lost_source, unreplicated
from hadash.switching.execution.handlers.context import HandlerContext
from hadash.switching.execution.handlers.registry import handles
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import LastKnown, UsersFound
from hadash.switching.stages.context import Loss
from hadash.switching.stages.run import StageFailed


@handles(do.CheckLost)
def check_lost(hand: HandlerContext, command: do.CheckLost) -> bool:
    return lost_source.is_lost(hand.client(hand.plan.source), hand.plan)


@handles(do.ReadLastKnown)
def read_last_known(hand: HandlerContext, command: do.ReadLastKnown) -> LastKnown:
    return lost_source.known_ends(hand.pair, hand.clusters[hand.plan.source], hand.plan)


@handles(do.ReadUsers)
def read_users(hand: HandlerContext, command: do.ReadUsers) -> UsersFound:
    return lost_source.users(hand.pair, hand.clusters[hand.plan.source], hand.plan)


@handles(do.AwaitUnreplicated)
def await_unreplicated(hand: HandlerContext, command: do.AwaitUnreplicated) -> None:
    assert hand.journal is not None
    unreplicated.await_unreplicated(hand.journal.switch, command.ends)


@handles(do.RecordDrained)
def record_drained(hand: HandlerContext, command: do.RecordDrained) -> None:
    hand.context.keep_drained(command.ends, command.compared)


@handles(do.ReadDrained)
def read_drained(hand: HandlerContext, command: do.ReadDrained) -> dict[Partition, OffsetSync] | None:
    return hand.context.drained


@handles(do.RecordReading)
def record_reading(hand: HandlerContext, command: do.RecordReading) -> None:
    hand.context.keep_reading(command.positions)


@handles(do.ReadReading)
def read_reading(hand: HandlerContext, command: do.ReadReading) -> dict[str, dict[Partition, int]] | None:
    return hand.context.reading


@handles(do.RecordLoss)
def record_loss(hand: HandlerContext, command: do.RecordLoss) -> None:
    hand.context.keep_loss(Loss(command.records, command.seen_seconds_ago, command.proved))


@handles(do.ReadProved)
def read_proved(hand: HandlerContext, command: do.ReadProved) -> dict[Partition, OffsetSync] | None:
    loss = hand.context.loss
    return None if loss is None else dict(loss.proved)


@handles(do.RecordSeen)
def record_seen(hand: HandlerContext, command: do.RecordSeen) -> None:
    partitions = hand.all_partitions()
    most = hand.context.room_for(command, partitions, hand.plan.kind.spec.source_lost)
    if most is not None:
        raise StageFailed(
            say(
                "This switch moves %(count)s partitions, and ZooKeeper has room to note the offsets of "
                "about %(most)s: without "
                "that note a switch could not go on after a failover of PostgreSQL. Move fewer Topics at once.",
                count=len(partitions),
                most=most,
            )
        )
    hand.context.keep_seen(command)


@handles(do.ReadSeen)
def read_seen(hand: HandlerContext, command: do.ReadSeen) -> do.RecordSeen:
    return hand.context.seen
