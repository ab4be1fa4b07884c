"""The values that are read from a cluster."""

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
    """A group's commit of a partition: the next offset to read, and the text that its client stored with it."""

    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The addresses and the admin account with which hadash connects to a cluster."""

    name: str
    bootstrap_servers: str
    security_protocol: str
    sasl_mechanism: str
    username: str
    password: str = field(repr=False)
    tls: Tls = NO_TLS
    #: It has no servers: nothing can connect to it.
    generated: bool = False

    def config(self) -> dict[str, str | int]:
        """Return librdkafka's configuration."""
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
    """A Topic. ``leaders``: the leader of each partition, -1 where it has none."""

    name: str
    leaders: tuple[int, ...]
    replication_factor: int


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """The replicas of a partition; ``leader`` is -1 when it has none."""

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
    """The Kafka that a cluster runs. ``version``: the release, as far as it is known (else empty).
    ``controller`` and
    ``epoch``: the leader of KRaft's quorum; ``None`` for a cluster with ZooKeeper.
    """

    version: str
    controller: int | None = None
    epoch: int | None = None

    @property
    def kraft(self) -> bool:
        return self.controller is not None


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group. ``partitions``: its assignment; ``topics``: its subscription, ``None`` where that
    cannot be read (consumers only). ``instance_id``: its ``group.instance.id``; ``rack``: its ``client.rack``,
    if its library sends it.
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
    """A consumer group. ``state`` is Kafka's name, ``Dead`` for a missing group. ``protocol``: the assignor
    that its members have agreed on.
    """

    name: str
    state: str
    coordinator: int
    members: tuple[GroupMember, ...]
    protocol: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a record: digests of its key, value and headers, and its time in ms since 1970."""

    key: bytes
    value: bytes
    headers: bytes
    time: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record, identified on both sides of a mirror by its ``checksum`` over everything but its offset.

    ``parts`` show what differs when two checksums do; ``None`` where that is not needed.
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
        on = f"{self.resource_type} {self.resource} ({self.pattern})"
        return f"{self.permission} {self.principal} {self.operation} on {on}"


#: The name of Kafka's default entity of a kind, for clients without a quota of their own. No real name is
#: empty.
DEFAULT = ""


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """The entity of a quota. Each part is a name, :data:`DEFAULT`, or ``None`` where the entity has no such part."""

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def __str__(self) -> str:
        """Return the entity as Kafka's tools write it.

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
