"""Every risk that lies in a client itself, once: which of its uses of Topics and groups are hit. Pure.

Two look at clients: a plan at those that it moves (:mod:`hadash.governance.findings`, rows of PostgreSQL), and
the risk job at all of them (:mod:`spark.rules.clients`, columns of the lake). Both read :data:`RISKS`, so neither
can know other versions, or other acks, than the other. What is said of a risk stands in
:mod:`hadash.governance.catalogue.clients`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hadash.governance.catalogue import Code

#: A version as its numbers, which compare as versions do.
Release = tuple[int, int, int]

#: What of a version is read: two or three numbers, each of which fits into 32 bits (builds of one's own are named
#: after moments, too). As Python's and Java's expressions read it, which is the same.
RELEASE = r"^(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?!\d)"

JAVA, KAFKA_PYTHON = "apache-kafka-java", "kafka-python"


def release(version: str) -> Release | None:
    """The numbers of a version; ``None`` for what is none.

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
    """Releases of one library: in each of ``spans`` from the first up to, and without, the second."""

    library: str
    spans: tuple[tuple[Release, Release], ...]

    def hold(self, library: str, version: str) -> bool:
        """Whether a client of this library and version is one of them. One that does not say its version is not."""
        numbers = release(version)
        if library != self.library or numbers is None:
            return False
        return any(first <= numbers < fixed for first, fixed in self.spans)


class Who(StrEnum):
    """Whose uses are looked at, by how the client is in groups."""

    ANYBODY = "anybody"
    MEMBER = "member"  # of the group that is used
    OUTSIDER = "outsider"  # uses a group (commits in it) in which it was never a member
    IN_NO_GROUP = "in no group"


@dataclass(frozen=True, slots=True)
class Risk:
    """The uses that are hit: of one kind, of clients that ``who`` says, whose details have one of the ``values``.

    :param kind: ``produce``, ``consume`` or ``group``, as in :class:`hadash.inventory.models.Access`.
    :param values: by the name of a detail those that are risky; ``None``: nobody has said it.
    :param versions: of which the client has to be one; empty: of any library.
    """

    code: Code
    kind: str
    who: Who = Who.ANYBODY
    values: Mapping[str, tuple[int | bool | None, ...]] = field(default_factory=dict)
    versions: tuple[Versions, ...] = ()


#: Acks of which the leader's word is enough. (A Gateway sees the acks of every write. Other sources do not tell
#: them, and do not tell of clients that could be moved without being seen by a Gateway first.)
ACKS_OF_ONE = (0, 1)
#: Neither numbers its records nor writes in transactions.
_PLAIN: Mapping[str, tuple[int | bool | None, ...]] = {
    "idempotent": (False, None),
    "transactional": (False, None),
}

RISKS: dict[Code, Risk] = {
    risk.code: risk
    for risk in (
        Risk(Code.ACKS, "produce", values={"acks": ACKS_OF_ONE}),
        Risk(Code.TRANSACTIONS, "produce", values={"transactional": (True,)}),
        # (Who writes in transactions has a finding of its own.)
        Risk(Code.IDEMPOTENT, "produce", values={"idempotent": (True,), "transactional": (False, None)}),
        # Who does not retry unless somebody has set it so. (Idempotent producers always retry: libraries refuse
        # to be both idempotent and without retries.)
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
        # The same fix stops commits of who is no member; fixed in 3.1.2 and 3.2.0.
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
    """Of the use of a group: whether it is one by a member. It joined (a JOIN_GROUP tells a session timeout; the
    first Gateways said no more), or committed with a generation, which only who has joined knows.

    A client that assigns its partitions itself may commit in a group, too, and its place is not carried over.
    (Who reads as a member *now* is asked of the Gateways before each switch,
    :mod:`hadash.switching.stages.self_assigned`.)
    """
    return bool(details.get("member")) or details.get("session_timeout_ms") is not None


@dataclass(frozen=True, slots=True)
class Seen:
    """One access that was seen (see ``inventory.models.Access``)."""

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
    """The uses that a risk is in, of all that were ``seen`` of some clients."""
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
    """Who they are, each once, in their order."""
    return tuple(dict.fromkeys(row.who for row in rows))
