"""The plan of a switch: what it moves, fixed when it is requested, and hashed for its approval. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from hadash.identity.identity import Identity, parse
from hadash.radius.closure import names_topic
from hadash.radius.nodes import BOUND_TOPICS, INSTANCE
from hadash.radius.scope import Member, Scope, node_named
from hadash.switching.machines.switches import Kind

Owner = TypeVar("Owner")


@dataclass(frozen=True, slots=True, order=True)
class PoolTopic:
    """A Topic that a consumer pool reads in a group: its members move with the Topic."""

    pool: str
    topic: str
    group: str

    def __str__(self) -> str:
        return f"{self.pool} › {self.topic}"


@dataclass(frozen=True)
class Plan:
    """The radius of one switch.

    ``identities`` are those whose bindings are written: a wide one always comes with the narrower ones that would
    stay behind. ``members`` say why each node moves; they explain the radius, and are not part of what is
    approved.
    """

    pair: str
    scope: Scope
    source: str
    target: str
    identities: tuple[Identity, ...]
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    mirrors: tuple[str, ...]
    members: tuple[Member, ...] = field(default=(), compare=False)
    #: The kind of switch that it was made for. Approvers see it on the row of the switch.
    kind: Kind = field(default=Kind.PLANNED, compare=False)
    #: What consumer pools read of the Topics on the source.
    pools: tuple[PoolTopic, ...] = ()

    @cached_property
    def by_key(self) -> dict[str, Member]:
        """The members by their keys."""
        return {member.key: member for member in self.members}

    @cached_property
    def appids(self) -> tuple[str, ...]:
        """Every AppID with an identity that moves."""
        return tuple(sorted({identity.appid for identity in self.identities}))

    @cached_property
    def _whole(self) -> frozenset[str]:
        return frozenset(
            i.appid for i in self.identities if i.instance_id is None and not i.topics and i.group is None
        )

    @cached_property
    def _instances(self) -> frozenset[tuple[str, str]]:
        return frozenset((i.appid, i.instance_id) for i in self.identities if i.instance_id is not None)

    @cached_property
    def _bound_topics(self) -> frozenset[tuple[str, str]]:
        return frozenset((i.appid, name) for i in self.identities for name in i.topics)

    @cached_property
    def instances(self) -> tuple[Identity, ...]:
        """The InstanceIDs whose own bindings move."""
        return tuple(i for i in self.identities if i.instance_id is not None)

    def covers(self, appid: str, client_id: str) -> bool:
        """Whether everything that a client does moves."""
        if appid in self._whole or (appid, client_id) in self._instances:
            return True
        named = names_topic(client_id, appid)
        return named is not None and (appid, named) in self._bound_topics

    def covers_use(self, appid: str, client_id: str, kind: str, resource: str) -> bool:
        """Whether one use moves: with everything that its client does, or with a Topic that has its own binding.

        :param kind: produce, consume or group (whose members move as their clients do).
        """
        if self.covers(appid, client_id):
            return True
        by_topic = kind in ("produce", "consume") and (appid, resource) in self._bound_topics
        return by_topic and not self._stays(appid, client_id)

    @property
    def moves_by_topic(self) -> bool:
        """Whether Topics move by their own bindings, and clients therefore with a part of what they do."""
        return bool(self._bound_topics)

    @cached_property
    def _there_already(self) -> frozenset[tuple[str, str, str]]:
        """(kind, AppID, name) of the InstanceIDs and bound Topics that are already on the target."""
        nodes = [node_named(m.key) for m in self.members if m.already]
        return frozenset((node.kind, node.appid, name) for node in nodes for name in node.names)

    def _stays(self, appid: str, client_id: str) -> bool:
        """Whether a client.id is governed by a binding that this plan does not write: its own, or that of a Topic
        that it names. A client with such a binding that uses what moves is already on the target.
        """
        if (INSTANCE, appid, client_id) in self._there_already:
            return True
        named = names_topic(client_id, appid)
        return named is not None and (BOUND_TOPICS, appid, named) in self._there_already

    def who(self, appid: str, client_id: str) -> str:
        """A client's name in this switch's log."""
        return client_id if len(self.appids) == 1 else f"{appid} › {client_id}"

    def to_json(self) -> dict[str, Any]:
        return {
            **self.approved(),
            "kind": self.kind.value,
            "members": [[m.key, m.because, m.use, m.already] for m in self.members],
        }

    def approved(self) -> dict[str, Any]:
        """The part of the plan that is approved."""
        return {
            "pair": self.pair,
            "scope": self.scope.to_json(),
            "source": self.source,
            "target": self.target,
            "identities": [identity.key for identity in self.identities],
            "topics": list(self.topics),
            "groups": list(self.groups),
            "mirrors": list(self.mirrors),
            "pools": [asdict(each) for each in self.pools],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Plan:
        """The plan that :meth:`to_json` wrote, or :meth:`approved` for a batch, which moves nothing but as planned.

        :raises KeyError, TypeError, ValueError: the value is no plan.
        """
        return cls(
            pair=value["pair"],
            scope=Scope.from_json(value["scope"]),
            source=value["source"],
            target=value["target"],
            identities=tuple(parse(key) for key in value["identities"]),
            topics=tuple(value["topics"]),
            groups=tuple(value["groups"]),
            mirrors=tuple(value["mirrors"]),
            members=tuple(Member(*member) for member in value.get("members", ())),
            kind=Kind(value.get("kind", Kind.PLANNED)),
            pools=tuple(PoolTopic(**each) for each in value["pools"]),
        )

    @cached_property
    def digest(self) -> str:
        """The hash that approvals refer to: equal radii have equal digests."""
        text = json.dumps(self.approved(), sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def overlaps(self, other: Plan) -> bool:
        """Whether both plans move the same node, or one moves a part of what the other moves."""
        return bool(
            _meet(self.topics, other.topics)
            or _meet(self.groups, other.groups)
            or _meet(self.identities, other.identities)
            or _meet(self._whole, other.appids)
            or _meet(other._whole, self.appids)
        )

    @property
    def touched(self) -> Iterator[tuple[str, Hashable]]:
        """What another plan can meet this one by: see :class:`PlanIndex`."""
        yield from (("topic", name) for name in self.topics)
        yield from (("group", name) for name in self.groups)
        yield from (("identity", identity) for identity in self.identities)
        yield from (("whole", appid) for appid in self._whole)
        yield from (("part", appid) for appid in self.appids)

    @property
    def meeting(self) -> Iterator[tuple[str, Hashable]]:
        """What this plan meets in others: the same nodes; a whole AppID meets any part of it, and a part the whole."""
        facing = {"whole": "part", "part": "whole"}
        for kind, name in self.touched:
            yield facing.get(kind, kind), name


class PlanIndex(Generic[Owner]):
    """Finds the owner of an overlapping plan without comparing every pair of plans: a batch compares a thousand
    with a thousand, while all other requests wait for the lock.
    """

    def __init__(self, plans: Iterable[tuple[Plan, Owner]]) -> None:
        self._owners: list[Owner] = []
        #: Maps what a plan touches to the index of the first owner that touches it.
        self._first: dict[Hashable, int] = {}
        for place, (plan, owner) in enumerate(plans):
            self._owners.append(owner)
            for node in plan.touched:
                self._first.setdefault(node, place)

    def first(self, plan: Plan) -> Owner | None:
        """The first owner whose plan overlaps ``plan`` (:meth:`Plan.overlaps`); ``None`` if there is none."""
        place = min((self._first[node] for node in plan.meeting if node in self._first), default=None)
        return None if place is None else self._owners[place]


def _meet(one: Iterable[Any], other: Iterable[Any]) -> bool:
    return not set(one).isdisjoint(other)
