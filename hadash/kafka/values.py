"""What is read of a cluster, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """One partition of a Topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How hadash itself reaches a cluster: the admin account."""

    name: str
    bootstrap_servers: str
    security_protocol: str
    sasl_mechanism: str
    username: str
    password: str

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
        return values


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """Leaders by partition; a leader of -1 means that the partition has none."""

    name: str
    leaders: tuple[int, ...]
    replication_factor: int


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: str
    client_id: str
    host: str


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A consumer group; ``state`` as Kafka names it, ``Dead`` for one that does not exist."""

    name: str
    state: str
    coordinator: int
    members: tuple[GroupMember, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """What identifies a record on both sides of a mirror: everything but its offset."""

    offset: int
    checksum: str


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
