"""Libraries whose consumers read on while they rejoin their group. Pure.

Until it has rejoined, such a client asks the new cluster for the offsets of the old one. Where they differ it skips records, or reads
again from where its fallback leads. Its assignor does not tell, and neither do its FETCH requests: aiokafka fetches during a rebalance
too, and throws away what comes. So the libraries are named here, and are known by what they say of themselves (KIP-511).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import Corresponding
from hadash.sentences import say
from hadash.switching import commands as do
from hadash.switching.machine import Kind
from hadash.switching.plan import Plan
from hadash.switching.stage_run import Limits, StageFailed

#: As they name themselves: @platformatic/kafka 1 and 2. ``HADASH_SWITCH_READING_ON`` adds those of an estate.
READING_ON = frozenset({"platformatic-kafka"})


def with_other_offsets(points: Mapping[Partition, Corresponding]) -> set[str]:
    """The Topics of which a partition has other offsets on the other side."""
    return {partition.topic for partition, point in points.items() if point.source != point.target}


def check_reading_on(
    plan: Plan, limits: Limits, points: Mapping[Partition, Corresponding]
) -> Generator[do.Command, Any, None]:
    """Members that read on while they rejoin may move only where both clusters have the same offsets.

    :param points: where both sides correspond. :raises StageFailed: there is one, and offsets differ.
    """
    topics = sorted(with_other_offsets(points))
    if not topics:
        return
    clients: list[str] = yield do.CheckReadingOn()
    if not clients:
        return
    if limits.accept_self_assigned or plan.kind is Kind.EMERGENCY:
        yield do.Say(
            say(
                "%(clients)s read on while they rejoin their group, and offsets are others on %(cluster)s.",
                clients=clients,
                cluster=plan.target,
            )
        )
        return
    raise StageFailed(
        say(
            "%(clients)s read on while they rejoin their group: they would ask %(cluster)s for the offsets of %(source)s, which are others "
            "there (%(topics)s). Use a library that stops reading before it rejoins, stop them for the switch, or leave them out.",
            clients=clients,
            cluster=plan.target,
            source=plan.source,
            topics=topics,
        )
    )
