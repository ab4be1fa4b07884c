"""The two documents that ZooKeeper holds about a Topic: what each member reads, and how far a change of it has come.
Pure.

``/consumers/<cluster>/assignments/<Topic>``::

    {"bootstrap.servers": "kafka-1:9092", "group.id": "audit", "assignments": {"0": "host-1", "1": ""}}

Besides these, it has any settings of the members' Kafka consumers. Its partitions are those of the Topic that are to be
read; one that nobody has yet has no name. ``/consumers/<cluster>/state/<Topic>``::

    {"state": "Closing", "toStart": {"host-2": [1, 3]}, "toClose": {"host-1": [1, 3]}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hadash.coordinator.states import State
from hadash.sentences import Explained, say

#: Member → partitions.
Partitions: TypeAlias = Mapping[str, frozenset[int]]

#: The member of a partition that nobody has.
NOBODY = ""

_SERVERS, _GROUP, _ASSIGNMENTS = "bootstrap.servers", "group.id", "assignments"


class DocumentError(Explained):
    """A document that cannot be read. Its sentence says what to do."""


@dataclass(frozen=True, slots=True)
class AssignmentDocument:
    """What each member is to read of a Topic, and with which settings of its Kafka consumer.

    :param consumer: settings by Kafka's names, ``bootstrap.servers`` and ``group.id`` among them.
    :param members: partition → the member that is to read it, or :data:`NOBODY`.
    """

    consumer: Mapping[str, str | int | float | bool]
    members: Mapping[int, str] = field(default_factory=dict)

    def of(self, member: str) -> frozenset[int]:
        """Return the partitions that a member is to read."""
        return frozenset(partition for partition, who in self.members.items() if who == member)

    def assigned(self, members: Mapping[int, str]) -> AssignmentDocument:
        """Return it with other members for the same partitions.

        :raises ValueError: they are for other partitions.
        """
        if members.keys() != self.members.keys():
            raise ValueError(f"{sorted(members.keys() ^ self.members.keys())} are in one of both only")
        return replace(self, members=members)

    def to_bytes(self) -> bytes:
        members = {str(partition): who for partition, who in sorted(self.members.items())}
        return json.dumps({**self.consumer, _ASSIGNMENTS: members}, ensure_ascii=False).encode()

    @classmethod
    def parse(cls, path: str, value: bytes) -> AssignmentDocument:
        """Parse the content of a node.

        :param path: where it was read, for the error.
        :raises DocumentError: it is no such document.
        """
        found = parsed(path, value)
        members = found.pop(_ASSIGNMENTS, {})
        if not isinstance(members, dict) or not all(isinstance(who, str) for who in members.values()):
            raise unreadable(path, _ASSIGNMENTS)
        for name in (_SERVERS, _GROUP):
            if not isinstance(found.get(name), str) or not found[name]:
                raise unreadable(path, name)
        try:
            by_number = {int(partition): who for partition, who in members.items()}
        except ValueError:
            raise unreadable(path, _ASSIGNMENTS) from None
        if any(partition < 0 for partition in by_number) or len(by_number) < len(members):
            raise unreadable(path, _ASSIGNMENTS)
        for name, setting in found.items():
            if not isinstance(setting, str | int | float | bool):
                raise unreadable(path, name)
        return cls(found, by_number)


@dataclass(frozen=True, slots=True)
class StateDocument:
    """How far a change of a Topic's assignment has come.

    :param to_start: the partitions that members are to start, after the others are closed.
    :param to_close: the partitions that members are to stop first.
    """

    state: State = State.INITIAL
    to_start: Partitions = field(default_factory=dict)
    to_close: Partitions = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return json.dumps(
            {"state": self.state.value, "toStart": _listed(self.to_start), "toClose": _listed(self.to_close)},
            ensure_ascii=False,
        ).encode()

    @classmethod
    def parse(cls, path: str, value: bytes) -> StateDocument:
        """Parse the content of a node; that of a new one, which is empty, is Initial.

        :raises DocumentError: it is no such document.
        """
        if not value:
            return cls()
        found = parsed(path, value)
        try:
            state = State(found.get("state", State.INITIAL))
        except ValueError:
            raise unreadable(path, "state") from None
        return cls(state, _read(path, found, "toStart"), _read(path, found, "toClose"))


def by_member(members: Mapping[int, str], partitions: Iterable[int]) -> dict[str, frozenset[int]]:
    """Return member → those of ``partitions`` that it has; partitions of nobody are left out.

    >>> by_member({0: "a", 1: "b", 2: "a", 3: ""}, [0, 1, 3])
    {'a': frozenset({0}), 'b': frozenset({1})}
    """
    found: dict[str, set[int]] = {}
    for partition in sorted(partitions):
        if who := members[partition]:
            found.setdefault(who, set()).add(partition)
    return {who: frozenset(own) for who, own in found.items()}


def _listed(partitions: Partitions) -> dict[str, list[int]]:
    return {member: sorted(own) for member, own in sorted(partitions.items()) if own}


def _read(path: str, found: Mapping[str, Any], name: str) -> dict[str, frozenset[int]]:
    value = found.get(name, {})
    if not isinstance(value, dict):
        raise unreadable(path, name)
    read = {}
    for member, own in value.items():
        if not isinstance(own, list) or not all(type(one) is int and one >= 0 for one in own):
            raise unreadable(path, name)
        read[member] = frozenset(own)
    return read


def parsed(path: str, value: bytes) -> dict[str, Any]:
    """Parse the content of a node as a JSON object. :raises DocumentError: it is none."""
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise DocumentError(
            say(
                "%(path)s in ZooKeeper holds no JSON object. Repair it, or delete it and register it again.",
                path=path,
            )
        )
    return found


def unreadable(path: str, name: str) -> DocumentError:
    """The error that a document's value cannot be read."""
    return DocumentError(
        say("“%(name)s” in %(path)s in ZooKeeper cannot be read. Repair it.", name=name, path=path)
    )
