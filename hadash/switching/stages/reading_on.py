"""Libraries whose consumers continue from their own positions when they rejoin their group, instead of from the
group's commits. Pure.

Such a client asks the new cluster for the offsets of the old one. Where they differ it skips records, or reads again
from where its fallback leads. Some libraries read on until they have rejoined (@platformatic/kafka). Others keep the
position of each partition that they own before and after a rebalance, also with an eager assignor (kafka-python since
3.0, with the cooperative protocol of KIP-429). Their assignor does not show it, and neither do their FETCH requests:
aiokafka also fetches during a rebalance, and discards the records. So the libraries are listed here, by their names
in KIP-511.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.run import Limits, StageFailed

#: Library name → first major version that does it. ``HADASH_SWITCH_READING_ON`` adds libraries of a fleet.
READING_ON = {"platformatic-kafka": 1, "kafka-python": 3}


def reads_on(library: str, version: str, others: Collection[str] = ()) -> bool:
    """Whether a library's consumers continue from their own positions. Without a version it may be any version.

    :param others: libraries of a fleet, in every version.

    >>> reads_on("kafka-python", "3.0.12"), reads_on("kafka-python", "2.3.1"), reads_on("kafka-python", "")
    (True, False, True)
    >>> reads_on("acme", "1", others=("acme",)), reads_on("librdkafka", "2.13.0")
    (True, False)
    """
    if library in others:
        return True
    first = READING_ON.get(library)
    major = re.match(r"\d+", version)
    return first is not None and (major is None or int(major[0]) >= first)


def with_other_offsets(points: Mapping[Partition, OffsetSync]) -> set[str]:
    """The Topics with a partition whose offsets differ between the sides."""
    return {partition.topic for partition, point in points.items() if point.source != point.target}


def check_reading_on(plan: Plan, limits: Limits, points: Mapping[Partition, OffsetSync]) -> Step[None]:
    """Members that continue from their own positions may move only where both clusters have the same offsets.

    :param points: offsets that correspond. :raises StageFailed: there is such a member, and offsets differ.
    """
    topics = sorted(with_other_offsets(points))
    if not topics:
        return
    clients: list[str] = yield from ask(do.CheckReadingOn())
    if not clients:
        return
    if limits.accept_self_assigned or plan.kind.spec.takes_self_assigned:
        yield from ask(
            do.Say(
                say(
                    "%(clients)s go on from their own positions when they rejoin their group, and offsets "
                    "are others on "
                    "%(cluster)s.",
                    clients=clients,
                    cluster=plan.target,
                )
            )
        )
        return
    raise StageFailed(
        say(
            "%(clients)s go on from their own positions when they rejoin their group: they would ask "
            "%(cluster)s for the offsets of "
            "%(source)s, which are others there (%(topics)s). Use a library that begins at what the group "
            "has committed, stop them for the "
            "switch, or leave them out.",
            clients=clients,
            cluster=plan.target,
            source=plan.source,
            topics=topics,
        )
    )
