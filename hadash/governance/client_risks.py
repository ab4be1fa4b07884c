"""The risks that lie in clients themselves, and which of their uses of Topics and groups each one hits. Pure.

Two places look for them: a plan, in the clients that it moves (:mod:`hadash.governance.findings`, rows of
PostgreSQL), and the risk job, in all clients (:mod:`spark.rules.clients`, columns of the lake). Both read
:data:`RISKS`, so they cannot disagree about versions or acks. The sentences of a risk are in
:mod:`hadash.governance.catalogue.clients`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hadash.governance.catalogue import Code

#: A version as three numbers, which compare as versions do.
Release = tuple[int, int, int]

#: The part of a version that is read: two or three numbers of at most six digits each (private builds may be
#: named after timestamps). Python and Java read this expression alike.
RELEASE = r"^(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?!\d)"

JAVA, KAFKA_PYTHON = "apache-kafka-java", "kafka-python"


def release(version: str) -> Release | None:
    """Return the numbers of a version; ``None`` for text that is not a version.

    >>> release("2.6.1-cp1"), release("3.2"), release("")
    ((2, 6, 1), (3, 2, 0), None)
    """
    found = re.match(RELEASE, version)
    if found is None:
        return None
    major, minor, patch = found.groups("0")
    return int(major), int(minor), int(patch)


@dataclass(frozen=True, slots=True)
class Versions:
    """Releases of one library: each of ``spans`` is (first release, first release that is not included)."""

    library: str
    spans: tuple[tuple[Release, Release], ...]

    def hold(self, library: str, version: str) -> bool:
        """Return whether the version of a library is one of these. An unknown version is not."""
        numbers = release(version)
        if library != self.library or numbers is None:
            return False
        return any(first <= numbers < fixed for first, fixed in self.spans)


class Who(StrEnum):
    """The clients whose uses count, by their membership in groups."""

    ANYBODY = "anybody"
    MEMBER = "member"  # was a member of the group that it uses
    OUTSIDER = "outsider"  # uses a group (commits in it) of which it was never a member
    IN_NO_GROUP = "in no group"


@dataclass(frozen=True, slots=True)
class Risk:
    """The uses that a risk hits: of one kind, by clients as in ``who``, whose details have one of the
    ``values``.

    :param kind: ``produce``, ``consume`` or ``group``, as in :class:`hadash.inventory.models.Access`.
    :param values: the risky values of each detail, by its name; ``None``: the detail is not known.
    :param versions: the releases that are hit; empty: any library.
    """

    code: Code
    kind: str
    who: Who = Who.ANYBODY
    values: Mapping[str, tuple[int | bool | None, ...]] = field(default_factory=dict)
    versions: tuple[Versions, ...] = ()


#: The values of acks that do not wait for replicas. (A Gateway sees the acks of every write. Other sources do
#: not report them, but a client that is moved has always been seen by a Gateway first.)
ACKS_OF_ONE = (0, 1)
#: The details of a producer that neither numbers its records nor writes in transactions.
_PLAIN: Mapping[str, tuple[int | bool | None, ...]] = {
    "idempotent": (False, None),
    "transactional": (False, None),
}

RISKS: dict[Code, Risk] = {
    risk.code: risk
    for risk in (
        Risk(Code.ACKS, "produce", values={"acks": ACKS_OF_ONE}),
        Risk(Code.TRANSACTIONS, "produce", values={"transactional": (True,)}),
        # (A transactional producer has a finding of its own.)
        Risk(Code.IDEMPOTENT, "produce", values={"idempotent": (True,), "transactional": (False, None)}),
        # Producers that do not retry by default. (Idempotent producers always retry: libraries refuse to be
        # both idempotent and without retries.)
        Risk(
            Code.NO_RETRIES,
            "produce",
            values=_PLAIN,
            versions=(
                Versions(JAVA, (((0, 0, 0), (2, 1, 0)),)),
                Versions(KAFKA_PYTHON, (((0, 0, 0), (2, 2, 0)),)),
            ),
        ),
        Risk(Code.SELF_ASSIGNED, "consume", Who.IN_NO_GROUP),
        # The consumer can wait for a coordinator for ever; fixed in 2.6.2, 2.7.1 and 2.8.0.
        Risk(
            Code.KAFKA_10793,
            "group",
            Who.MEMBER,
            versions=(Versions(JAVA, (((2, 5, 0), (2, 6, 2)), ((2, 7, 0), (2, 7, 1)))),),
        ),
        # The same fix stops commits of clients that are not members; fixed in 3.1.2 and 3.2.0.
        Risk(
            Code.KAFKA_13563,
            "group",
            Who.OUTSIDER,
            versions=(Versions(JAVA, (((2, 6, 2), (2, 7, 0)), ((2, 7, 1), (3, 1, 2)))),),
        ),
        Risk(Code.LONG_SESSION, "group", Who.MEMBER),
        Risk(Code.SESSION_BOUNDS, "group", Who.MEMBER),
    )
}


def has_joined(details: Mapping[str, Any]) -> bool:
    """Return whether a use of a group, with these details, is one by a member. Gateways report ``member`` of a
    client that has joined, or has committed with a generation, which only members know. An imported report may
    lack that column and tell a session timeout, which only a JOIN_GROUP has.

    A client that assigns its partitions itself may commit in a group, too; its position is not carried over to
    the other cluster. (Before each switch the Gateways are asked which clients read as members *now*,
    :mod:`hadash.switching.stages.self_assigned`.)
    """
    return bool(details.get("member")) or details.get("session_timeout_ms") is not None


@dataclass(frozen=True, slots=True)
class Seen:
    """One use of a Topic or group that was seen (see :class:`hadash.inventory.models.Access`)."""

    appid: str
    client_id: str
    kind: str
    resource: str
    library: str = ""
    version: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def client(self) -> tuple[str, str]:
        return self.appid, self.client_id

    @property
    def who(self) -> str:
        return f"{self.appid} › {self.client_id}" if self.client_id else self.appid

    @property
    def is_member(self) -> bool:
        return self.kind == "group" and has_joined(self.details)


def hit(risk: Risk, seen: Sequence[Seen]) -> list[Seen]:
    """Return those of the uses ``seen`` that a risk hits. ``seen`` has to contain all uses of its clients."""
    members = [row for row in seen if row.is_member]
    in_a_group = {row.client for row in members}
    in_this_group = {(row.client, row.resource) for row in members}

    def is_who(row: Seen) -> bool:
        match risk.who:
            case Who.ANYBODY:
                return True
            case Who.MEMBER:
                return row.is_member
            case Who.OUTSIDER:
                return (row.client, row.resource) not in in_this_group
            case Who.IN_NO_GROUP:
                return row.client not in in_a_group

    return [row for row in seen if row.kind == risk.kind and is_who(row) and _is_such(risk, row)]


def _is_such(risk: Risk, row: Seen) -> bool:
    if any(row.details.get(name) not in values for name, values in risk.values.items()):
        return False
    return not risk.versions or any(each.hold(row.library, row.version) for each in risk.versions)


def clients(rows: Iterable[Seen]) -> tuple[str, ...]:
    """Return the names of the clients of some uses, each once, in their order."""
    return tuple(dict.fromkeys(row.who for row in rows))
