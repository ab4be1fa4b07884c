"""The documents in ZooKeeper as immutable values. Parsing never raises: garbage is reported, not obeyed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class BindingState(StrEnum):
    """What engines do with the clients of a binding. Reads and writes flow except in ``block``."""

    #: Everything goes to the bound cluster.
    FORWARD = "forward"
    #: Heartbeats of consumers are held, so that all members of a group can be told at the same moment.
    GATHER = "gather"
    #: Heartbeats answer REBALANCE_IN_PROGRESS: members commit, rejoin, and their JOIN_GROUP is parked.
    SETTLE = "settle"
    #: Nothing new reaches the bound cluster.
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Binding:
    """Which cluster serves an identity, in which state, since which epoch, by which switch and stage."""

    cluster: str
    state: BindingState = BindingState.FORWARD
    epoch: int = 0
    switch: str = ""
    stage: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "state": self.state.value,
            "epoch": self.epoch,
            "switch": self.switch,
            "stage": self.stage,
        }

    @classmethod
    def from_json(cls, value: Any) -> Binding | None:
        """``None`` for anything that is not a binding.

        >>> Binding.from_json({"cluster": "east", "state": "block", "epoch": 7}).state
        <BindingState.BLOCK: 'block'>
        >>> Binding.from_json({"cluster": "east", "state": "dance"}) is None
        True
        """
        try:
            return cls(
                cluster=str(value["cluster"]),
                state=BindingState(value.get("state", "forward")),
                epoch=int(value.get("epoch", 0)),
                switch=str(value.get("switch", "")),
                stage=str(value.get("stage", "")),
            )
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError, RecursionError):
            return None


def _empty() -> Mapping[str, Binding]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BindingDocument:
    """All bindings of one AppID."""

    appid: str
    default: Binding | None = None
    instances: Mapping[str, Binding] = field(default_factory=_empty)

    def with_default(self, binding: Binding | None) -> BindingDocument:
        return replace(self, default=binding)

    def with_instance(self, instance_id: str, binding: Binding | None) -> BindingDocument:
        """The document with one InstanceID bound, or unbound for ``None``."""
        instances = {name: value for name, value in self.instances.items() if name != instance_id}
        if binding is not None:
            instances[instance_id] = binding
        return replace(self, instances=MappingProxyType(instances))

    def binding_of(self, instance_id: str | None) -> Binding | None:
        """The binding written for exactly this identity, without falling back."""
        return self.default if instance_id is None else self.instances.get(instance_id)

    def to_bytes(self) -> bytes:
        document = {
            "appid": self.appid,
            "default": self.default.to_json() if self.default else None,
            "instances": {name: binding.to_json() for name, binding in sorted(self.instances.items())},
        }
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, appid: str, data: bytes) -> BindingDocument | None:
        """``None`` when ``data`` is not a document of bindings: the reader keeps what it had.

        >>> BindingDocument.from_bytes("shop", b"not json") is None
        True
        """
        try:
            value = json.loads(data)
            default = None
            if value.get("default") is not None:
                default = Binding.from_json(value["default"])
                if default is None:
                    return None
            instances = {str(k): Binding.from_json(v) for k, v in value.get("instances", {}).items()}
        except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
            return None
        known = {name: binding for name, binding in instances.items() if binding is not None}
        if len(known) != len(instances):
            return None
        return cls(appid=appid, default=default, instances=MappingProxyType(known))


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker of a cluster, by the address at which the Gateway reaches it."""

    id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """What an engine must know of a cluster. Holds no credentials.

    ``number`` is the cluster's integer id, from which virtual node ids are made: it never changes.
    """

    name: str
    number: int
    bootstrap_servers: str
    security_protocol: str = "SASL_PLAINTEXT"
    brokers: tuple[Broker, ...] = ()

    def to_bytes(self) -> bytes:
        return json.dumps(
            {
                "name": self.name,
                "number": self.number,
                "bootstrap_servers": self.bootstrap_servers,
                "security_protocol": self.security_protocol,
                "brokers": [
                    {"id": b.id, "host": b.host, "port": b.port, "rack": b.rack} for b in self.brokers
                ],
            }
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ClusterDescription | None:
        try:
            value = json.loads(data)
            return cls(
                name=str(value["name"]),
                number=int(value["number"]),
                bootstrap_servers=str(value["bootstrap_servers"]),
                security_protocol=str(value.get("security_protocol", "SASL_PLAINTEXT")),
                brokers=tuple(
                    Broker(int(b["id"]), str(b["host"]), int(b["port"]), b.get("rack"))
                    for b in value.get("brokers", [])
                ),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class PairDescription:
    """Two clusters that back each other up; ``default`` serves everybody without a binding."""

    name: str
    clusters: tuple[str, str]
    default: str

    def to_bytes(self) -> bytes:
        return json.dumps(
            {"name": self.name, "clusters": list(self.clusters), "default": self.default}
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> PairDescription | None:
        try:
            value = json.loads(data)
            first, second = value["clusters"]
            return cls(
                name=str(value["name"]), clusters=(str(first), str(second)), default=str(value["default"])
            )
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a switch's partitions and groups live on the target cluster.

    A Gateway holds no credentials, so it cannot ask the target for a client that is signed in to the source
    only. This is what it answers from until that client has signed in to the target: ``leaders`` maps a Topic
    to the broker id of each partition's leader, ``coordinators`` a group to its coordinator's broker id.
    """

    cluster: str
    leaders: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    coordinators: Mapping[str, int] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return json.dumps(
            {
                "cluster": self.cluster,
                "leaders": {topic: list(leaders) for topic, leaders in self.leaders.items()},
                "coordinators": dict(self.coordinators),
            }
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Placement | None:
        try:
            value = json.loads(data)
            return cls(
                cluster=str(value["cluster"]),
                leaders={str(t): tuple(int(n) for n in ls) for t, ls in value["leaders"].items()},
                coordinators={str(g): int(n) for g, n in value["coordinators"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Journal:
    """The running switch as ZooKeeper knows it. ``token`` fences: only the holder of the newest may write."""

    switch: str
    stage: str
    token: int
    epoch: int = 0

    def to_bytes(self) -> bytes:
        return json.dumps(
            {
                "switch": self.switch,
                "stage": self.stage,
                "token": self.token,
                "epoch": self.epoch,
            }
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Journal | None:
        try:
            value = json.loads(data)
            return cls(
                switch=str(value["switch"]),
                stage=str(value["stage"]),
                token=int(value["token"]),
                epoch=int(value.get("epoch", 0)),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class GatewayMember:
    """A Gateway as membership knows it."""

    id: str
    address: str
    admin_url: str
    version: str
    pid: int
    since: float
    live: bool
    applied: int
    excluded: bool = False
