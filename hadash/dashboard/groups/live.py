"""One group as its cluster reports it now: members, their partitions, and how far behind each partition is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hadash.assignment import Group, Member, NotKnown, Partition
from hadash.inventory.models import Cluster
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import GroupInfo, GroupMember
from hadash.kafka.values import Partition as KafkaPartition
from hadash.mirroring.services import cluster_client
from hadash.sentences import say

#: The state that Kafka reports for a group that does not exist.
DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class Lag:
    """One partition: its member (empty for none), the group's committed offset (``None`` when there is none) and the
    partition's end (``None`` when it is unknown).
    """

    topic: str
    partition: int
    client_id: str
    committed: int | None
    end: int | None

    @property
    def records(self) -> int | None:
        """How many records the group has not committed. (A committed offset beyond the end is from another log; the
        result is then 0.)
        """
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


@dataclass(frozen=True)
class Look:
    """One look at a group. ``topics``: each Topic that it subscribes to, has or has committed → number of partitions.
    ``racks``: the brokers' racks.
    """

    info: GroupInfo
    topics: dict[str, int]
    racks: frozenset[str]
    lags: list[Lag] = field(default_factory=list)

    @property
    def total(self) -> int | None:
        """The lag over all partitions; ``None`` when it is unknown for one of them."""
        known = [lag.records for lag in self.lags]
        return (
            None if None in known or not known else sum(records for records in known if records is not None)
        )


def look_at(cluster: Cluster, name: str) -> Look | None:
    """Look at a group; ``None`` when there is no such group.

    :raises KafkaError: the cluster does not answer.
    """
    client = cluster_client(cluster)
    info = client.groups([name]).get(name)
    if info is None or (info.state == DEAD and not info.members):
        return None
    commits = client.group_offsets([name]).get(name, {})
    wanted = {partition.topic for partition in commits}
    for member in info.members:
        wanted |= {*(member.topics or ()), *(partition.topic for partition in member.partitions)}
    topics = {topic: len(found.leaders) for topic, found in client.topics(wanted).items()} if wanted else {}
    brokers, _controller = client.nodes()
    racks = frozenset(broker.rack for broker in brokers if broker.rack)
    return Look(info, topics, racks, _lags(client, info.members, commits, topics))


def _lags(
    client: ClusterClient,
    members: Sequence[GroupMember],
    commits: dict[KafkaPartition, int],
    topics: dict[str, int],
) -> list[Lag]:
    owners = {partition: member.client_id for member in members for partition in member.partitions}
    partitions = sorted({*owners, *commits})
    there = [each for each in partitions if each.partition < topics.get(each.topic, 0)]
    try:
        ends = client.end_offsets(there)
    except KafkaError:
        ends = {}
    return [
        Lag(each.topic, each.partition, owners.get(each, ""), commits.get(each), ends.get(each))
        for each in partitions
    ]


def as_assignor_sees_it(look: Look) -> Group:
    """Return the group as an assignor's input.

    :raises NotKnown: a member does not report what it subscribes to. (Assignors raise it for their own reasons, too.)
    """
    silent = [member for member in look.info.members if member.topics is None]
    if silent:
        raise NotKnown(
            say(
                "%(member)s does not say what it subscribes to.",
                member=silent[0].client_id or silent[0].member_id,
            )
        )
    return Group(
        tuple(
            Member(
                member.member_id,
                member.client_id,
                member.host,
                tuple(dict.fromkeys(member.topics or ())),
                tuple(Partition(each.topic, each.partition) for each in member.partitions),
                member.instance_id,
                member.rack,
            )
            for member in look.info.members
        ),
        look.topics,
        look.info.protocol,
        look.racks,
    )
