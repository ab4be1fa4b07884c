"""The documents in ZooKeeper as immutable values. Parsing never raises: garbage is reported, not obeyed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

from hadash.bindings.epochs import Report
from hadash.bindings.errors import TopicInTwoLists
from hadash.identity.identity import Identity
from hadash.sentences import say

K = TypeVar("K")


class BindingState(StrEnum):
    """What engines do with the clients of a binding. Reads and writes flow except in ``block``."""

    #: Everything goes to the bound cluster.
    FORWARD = "forward"
    #: Heartbeats of consumers are held, so that all members of a group can be answered at the same moment.
    HOLD_HEARTBEATS = "hold_heartbeats"
    #: Heartbeats are answered REBALANCE_IN_PROGRESS: members commit and rejoin, and their JOIN_GROUP is parked.
    QUIESCE = "quiesce"
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
    #: The epoch in which the identity came to this cluster; 0 if it has never moved.
    since: int = 0

    @property
    def is_held(self) -> bool:
        """Whether a switch holds the binding: clients wait, or are about to."""
        return self.state is not BindingState.FORWARD

    def to_json(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "state": self.state.value,
            "epoch": self.epoch,
            "since": self.since,
            "switch": self.switch,
            "stage": self.stage,
        }

    @classmethod
    def from_json(cls, value: Any) -> Binding | None:
        """Return the binding; ``None`` for anything that is not one.

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
                since=int(value.get("since", 0)),
            )
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError, RecursionError):
            return None


def _empty() -> Mapping[Any, Binding]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BindingDocument:
    """All bindings of one AppID. No Topic is in two ``topic_lists``."""

    appid: str
    default: Binding | None = None
    instances: Mapping[str, Binding] = field(default_factory=_empty)
    topics: Mapping[str, Binding] = field(default_factory=_empty)
    #: The keys are Topic lists as sorted names.
    topic_lists: Mapping[tuple[str, ...], Binding] = field(default_factory=_empty)
    groups: Mapping[str, Binding] = field(default_factory=_empty)
    #: The last epoch in which a binding was removed and its identity may have moved because of that.
    unbound: int = 0

    def with_binding(self, identity: Identity, binding: Binding | None) -> BindingDocument:
        """Return the document with ``identity`` bound to ``binding``, or unbound if that is ``None``.

        :raises TopicInTwoLists: a Topic of the list is already in another list.
        """
        part, name = place_of(identity)
        if part == "default":
            return replace(self, default=binding)
        if binding is not None:
            refuse_two_lists(self.topic_lists, identity)
        changed: dict[str, Any] = {part: _with(getattr(self, part), name, binding)}
        return replace(self, **changed)

    def binding_of(self, identity: Identity) -> Binding | None:
        """Return the binding written for exactly this identity, without fallback."""
        part, name = place_of(identity)
        if part == "default":
            return self.default
        bound: Mapping[Any, Binding] = getattr(self, part)
        return bound.get(name)

    def bindings(self) -> Iterator[Binding]:
        """Yield every binding in the document."""
        if self.default is not None:
            yield self.default
        for named in (self.instances, self.topics, self.topic_lists, self.groups):
            yield from named.values()

    @property
    def by_request(self) -> bool:
        """Whether the binding can depend on what a request names, not on the client alone."""
        return bool(self.topics or self.topic_lists or self.groups)

    def to_bytes(self) -> bytes:
        document = {
            "appid": self.appid,
            "default": self.default.to_json() if self.default else None,
            "instances": _to_json(self.instances),
            "topics": _to_json(self.topics),
            "topic_lists": [
                {"topics": list(topics), **binding.to_json()}
                for topics, binding in sorted(self.topic_lists.items())
            ],
            "groups": _to_json(self.groups),
            "unbound": self.unbound,
        }
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, appid: str, data: bytes) -> BindingDocument | None:
        """Return the document; ``None`` when ``data`` is not one, and the reader keeps what it had.

        >>> BindingDocument.from_bytes("shop", b"not json") is None
        True
        """
        try:
            value = json.loads(data)
            default = None if value.get("default") is None else _binding(value["default"])
            lists = {
                tuple(sorted(str(topic) for topic in entry["topics"])): _binding(entry)
                for entry in value.get("topic_lists", [])
            }
            return cls(
                appid=appid,
                default=default,
                instances=_from_json(value, "instances"),
                topics=_from_json(value, "topics"),
                topic_lists=MappingProxyType(lists),
                groups=_from_json(value, "groups"),
                unbound=int(value.get("unbound", 0)),
            )
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError):
            return None


def place_of(identity: Identity) -> tuple[str, Any]:
    """Return where a document holds the binding of an identity: the field, and the key in it.

    >>> place_of(Identity("shop", "web-1")), place_of(Identity("shop", topics=("orders",)))
    (('instances', 'web-1'), ('topics', 'orders'))
    >>> place_of(Identity("shop"))
    ('default', None)
    """
    if identity.instance_id is not None:
        return "instances", identity.instance_id
    if identity.group is not None:
        return "groups", identity.group
    if len(identity.topics) == 1:
        return "topics", identity.topics[0]
    return ("topic_lists", identity.topics) if identity.topics else ("default", None)


def refuse_two_lists(bound: Iterable[tuple[str, ...]], identity: Identity) -> None:
    """Refuse a Topic list that shares a Topic with another list in ``bound``.

    :raises TopicInTwoLists: one of its Topics is in another list. An identity that is not a list is never refused.
    """
    if len(identity.topics) < 2:
        return
    for topics in bound:
        twice = set(topics) & set(identity.topics)
        if topics != identity.topics and twice:
            raise TopicInTwoLists(
                say(
                    "Topic %(topic)s of %(appid)s is in the bound list %(topics)s already: a Topic can be in one list "
                    "only.",
                    topic=min(twice),
                    appid=identity.appid,
                    topics=", ".join(topics),
                )
            )


def _with(named: Mapping[K, Binding], name: K, binding: Binding | None) -> Mapping[K, Binding]:
    changed = {other: value for other, value in named.items() if other != name}
    if binding is not None:
        changed[name] = binding
    return MappingProxyType(changed)


def _to_json(named: Mapping[str, Binding]) -> dict[str, Any]:
    return {name: binding.to_json() for name, binding in sorted(named.items())}


def _from_json(value: Any, part: str) -> Mapping[str, Binding]:
    return MappingProxyType({str(name): _binding(entry) for name, entry in value.get(part, {}).items()})


def _binding(value: Any) -> Binding:
    """Parse a binding.

    :raises ValueError: ``value`` is not a binding.
    """
    binding = Binding.from_json(value)
    if binding is None:
        raise ValueError("not a binding")
    return binding


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker of a cluster, with the address at which the Gateway reaches it."""

    id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """What an engine must know about a cluster. Holds no credentials.

    ``number`` is the cluster's integer id, from which virtual node ids are computed: it never changes.
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
        """Return the description; ``None`` when ``data`` is not one."""
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
    """Two clusters that back each other up; ``default`` serves every identity without a binding."""

    name: str
    clusters: tuple[str, str]
    default: str

    def to_bytes(self) -> bytes:
        return json.dumps(
            {"name": self.name, "clusters": list(self.clusters), "default": self.default}
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> PairDescription | None:
        """Return the description; ``None`` when ``data`` is not one."""
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

    A Gateway holds no credentials, so it cannot ask the target on behalf of a client that is signed in to the source
    only. It answers from the placement until that client has signed in to the target: ``leaders`` maps a Topic to the
    broker id of each partition's leader, ``coordinators`` a group to its coordinator's broker id.
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
        """Return the placement; ``None`` when ``data`` is not one."""
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
    """The running switch as ZooKeeper knows it.

    ``token`` is the fencing token: only the holder of the newest may write. ``stage`` is the stage that last changed
    bindings; before the first change, the stage in which the switch began.
    """

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
        """Return the journal; ``None`` when ``data`` is not one."""
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
    #: The changes that it has in effect.
    report: Report
    excluded: bool = False
    #: Identifies the process that owns the name now; empty for a Gateway from before incarnations.
    incarnation: str = ""
    #: The pair that it serves; empty for a Gateway of a version that does not report it.
    pair: str = ""

    @property
    def counts(self) -> bool:
        """Whether a change of bindings waits for this Gateway.

        By excluding a Gateway an operator declares that its process is gone. For a live Gateway that is not true, and
        it serves clients, so a live one counts although it is excluded.
        """
        return self.live or not self.excluded

    @property
    def applied(self) -> int:
        """The epoch up to which everything is in effect: nothing from before that epoch is in flight."""
        return self.report.applied
