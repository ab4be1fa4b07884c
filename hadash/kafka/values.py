"""What is read of a cluster, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hadash.kafka.tls import NO_TLS, Tls, librdkafka


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """One partition of a Topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Committed(NamedTuple):
    """What a group has committed of a partition: the next offset to read, and the text that its client put
    beside it.
    """

    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How hadash itself reaches a cluster: the admin account."""

    name: str
    bootstrap_servers: str
    security_protocol: str
    sasl_mechanism: str
    username: str
    password: str = field(repr=False)
    tls: Tls = NO_TLS
    #: It is made up: there is nothing to be reached.
    generated: bool = False

    def config(self) -> dict[str, str | int]:
        """librdkafka's configuration."""
        values: dict[str, str | int] = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security_protocol,
        }
        if self.security_protocol.startswith("SASL"):
            values |= {
                "sasl.mechanism": self.sasl_mechanism,
                "sasl.username": self.username,
                "sasl.password": self.password,
            }
        if self.security_protocol.endswith("SSL"):
            values |= librdkafka(self.tls)
        return values


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """Leaders by partition; a leader of -1 means that the partition has none."""

    name: str
    leaders: tuple[int, ...]
    replication_factor: int


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """Who has a partition; ``leader`` is -1 when nobody leads it."""

    partition: Partition
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    id: int
    host: str
    port: int
    rack: str


@dataclass(frozen=True, slots=True)
class Engine:
    """What Kafka a cluster runs. ``version``: the release, as far as it tells (empty: it does not).
    ``controller`` and ``epoch``: the leader of KRaft's quorum; ``None`` for a cluster with ZooKeeper.
    """

    version: str
    controller: int | None = None
    epoch: int | None = None

    @property
    def kraft(self) -> bool:
        return self.controller is not None


@dataclass(frozen=True, slots=True)
class GroupMember:
    """``partitions``: those that it was assigned; ``topics``: those that it subscribes to, ``None`` where
    that cannot be read (consumers only). ``instance_id``: its ``group.instance.id``; ``rack``: its
    ``client.rack``, as far as its library says it.
    """

    member_id: str
    client_id: str
    host: str
    partitions: tuple[Partition, ...] = ()
    topics: tuple[str, ...] | None = None
    instance_id: str | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A consumer group; ``state`` as Kafka names it, ``Dead`` for one that does not exist. ``protocol``: the
    assignor that its members have agreed on.
    """

    name: str
    state: str
    coordinator: int
    members: tuple[GroupMember, ...]
    protocol: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a record consists of: digests of its key, its value and its headers, and its time in ms since 1970."""

    key: bytes
    value: bytes
    headers: bytes
    time: int


@dataclass(frozen=True, slots=True)
class Record:
    """What identifies a record on both sides of a mirror: everything but its offset.

    ``parts`` say what differs when two checksums do; ``None`` where nobody asks.
    """

    offset: int
    checksum: str
    parts: Parts | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """One access rule, as Kafka stores it."""

    resource_type: str
    resource: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str

    def __str__(self) -> str:
        return f"{self.permission} {self.principal} {self.operation} on {self.resource_type} {self.resource} ({self.pattern})"


#: The name of Kafka's default entity of a kind: for everybody who has none of the own. No entity has an empty name.
DEFAULT = ""


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """Whom a quota is for. Each part is a name, :data:`DEFAULT`, or ``None`` where the entity has no such part."""

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def __str__(self) -> str:
        """As Kafka's tools write it.

        >>> str(QuotaEntity(user="shop", client_id=DEFAULT))
        'user shop, default client-id'
        """
        parts = {"user": self.user, "client-id": self.client_id, "ip": self.ip}
        return ", ".join(
            f"default {kind}" if name == DEFAULT else f"{kind} {name}"
            for kind, name in parts.items()
            if name is not None
        )


#: The quotas of each entity by key: ``producer_byte_rate`` and so on.
Quotas = Mapping[QuotaEntity, Mapping[str, float]]
