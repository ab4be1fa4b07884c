"""How the members of a group rebalance: whether they stop reading before they rejoin. Pure.

Members with cooperative rebalancing keep their partitions, read on while they rejoin, and keep their positions
afterwards. They cannot be quiesced, and after a move they would continue at the old cluster's offsets. A group's
coordinator names its assignor; what is known of the members' JOIN_GROUP requests can only add to that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

#: Assignors whose members revoke their partitions before they rejoin, by their protocol names: Kafka's own and
#: librdkafka's, KafkaJS's, and kafka-go's. ``HADASH_SWITCH_EAGER_ASSIGNORS`` adds those of a fleet.
EAGER = frozenset({"range", "roundrobin", "sticky", "RoundRobinAssigner", "rack-affinity"})

#: Assignors whose members keep their partitions while they rejoin: Kafka's own, and Kafka Streams'.
COOPERATIVE = frozenset({"cooperative-sticky", "stream"})


class Rebalancing(Enum):
    """How a group rebalances."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"
    UNKNOWN = "unknown"


def rebalancing(
    protocol: str,
    members: Collection[str],
    offered: Mapping[str, Collection[str]],
    eager: Collection[str] = EAGER,
) -> Rebalancing:
    """Decide how a group rebalances.

    :param protocol: the assignor that its coordinator names; empty while the group rebalances.
    :param members: the ids of its members.
    :param offered: by member id the assignors of its JOIN_GROUP, where it is known.
    :param eager: assignors that count as eager.

    A coordinator only chooses an assignor that every member offers. If it has chosen a cooperative one, Java's
    members still rebalance eagerly if they also offer an eager one; franz-go's do not.

    >>> rebalancing("range", ["a", "b"], {})
    <Rebalancing.EAGER: 'eager'>
    >>> rebalancing("cooperative-sticky", ["a"], {"a": ["cooperative-sticky", "range"]})
    <Rebalancing.COOPERATIVE: 'cooperative'>
    >>> rebalancing("", ["a", "b"], {"a": ["range"]})
    <Rebalancing.UNKNOWN: 'unknown'>
    """
    if not members or protocol in eager:
        return Rebalancing.EAGER
    if protocol in COOPERATIVE:
        return Rebalancing.COOPERATIVE
    known = [frozenset(offered[member]) for member in members if member in offered]
    if len(known) == len(members) and all(not each.isdisjoint(eager) for each in known):
        return Rebalancing.EAGER
    if any(each and each <= COOPERATIVE for each in known):
        return Rebalancing.COOPERATIVE
    return Rebalancing.UNKNOWN
