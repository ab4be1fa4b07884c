"""What the rules of governance find about the clients that one switch moves. Pure.

Each rule is one function over what was seen of the clients; how bad it is and where it comes from says
:mod:`hadash.governance.catalogue`. The rules of a pair say which findings stop a switch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hadash.governance.catalogue import CATALOGUE, Code, Severity
from hadash.sentences import Sentence, say


def has_joined(details: Mapping[str, Any]) -> bool:
    """Of the use of a group: whether it is one by a member, see :attr:`Seen.is_member`. (A JOIN_GROUP alone
    tells a session timeout: Gateways said no more at first.)
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
    def who(self) -> str:
        return f"{self.appid} › {self.client_id}" if self.client_id else self.appid

    @property
    def is_member(self) -> bool:
        """Whether it is the use of a group by one of its members: it joined, or committed with a generation,
        which only who has joined knows. A client that assigns its partitions itself may commit in a group,
        too, and its place is not carried over. (:mod:`spark.rules.clients` says the same over the columns of
        the lake; who reads as a member *now* is asked of the Gateways before each switch,
        :mod:`hadash.switching.stages.self_assigned`.)
        """
        return self.kind == "group" and has_joined(self.details)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What rules have to know besides.

    ``replicated``: Topics with more than one replica, on the cluster that is left. ``same_offsets``: Topics
    whose records have the same offsets on both clusters. ``settle_seconds``: how long a switch waits for
    consumers. ``elsewhere``: the other pairs in which AppIDs that move are used.
    """

    replicated: frozenset[str] = frozenset()
    same_offsets: frozenset[str] = frozenset()
    settle_seconds: float = 45.0
    elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule has found: about whom, in a sentence that says what to do."""

    code: Code
    who: tuple[str, ...]
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Rule:
    """``stops`` is whether its findings stop a switch where the rules of the pair do not say."""

    code: Code
    stops: bool
    find: Callable[[Sequence[Seen], Circumstances], Finding | None]

    @property
    def severity(self) -> Severity:
        return CATALOGUE[self.code].severity


def findings(seen: Iterable[Seen], circumstances: Circumstances) -> list[Finding]:
    """What all rules find, the gravest first."""
    rows = sorted(seen, key=lambda s: (s.appid, s.client_id, s.kind, s.resource))
    found = [rule.find(rows, circumstances) for rule in RULES.values()]
    return [finding for finding in found if finding is not None]


def _acks(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    def can_lose(row: Seen) -> bool:
        return (
            row.kind == "produce"
            and row.resource in circumstances.replicated
            and row.details.get("acks", -1) != -1
        )

    found = {row.who: row.details["acks"] for row in seen if can_lose(row)}
    if not found:
        return None
    return Finding(
        Code.ACKS,
        tuple(found),
        say(
            "%(clients)s: what is acknowledged before it is replicated cannot be proved to be mirrored. Set acks=all.",
            clients=[f"{who} (acks={acks})" for who, acks in found.items()],
        ),
    )


def _two_pairs(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    if not circumstances.elsewhere:
        return None
    return Finding(Code.TWO_PAIRS, tuple(circumstances.elsewhere), in_two_pairs(circumstances.elsewhere))


def in_two_pairs(elsewhere: Mapping[str, Sequence[str]]) -> Sentence:
    """:param elsewhere: other pairs by AppID."""
    return say(
        "%(appids)s: the bindings of an AppID are one document for all pairs, so its clients there would "
        "obey them, too. Let it "
        "sign in as another user in one of the pairs.",
        appids=[f"{appid} (also in pair {', '.join(pairs)})" for appid, pairs in elsewhere.items()],
    )


def _transactions(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    who = _each(row for row in seen if row.details.get("transactional"))
    if not who:
        return None
    return Finding(
        Code.TRANSACTIONS,
        who,
        say(
            "%(clients)s write in transactions: one that is open when they move ends with an error, and "
            "what it read and "
            "wrote may be done twice. Stop them for the switch, or accept it.",
            clients=list(who),
        ),
    )


def _self_assigned(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    members = {(row.appid, row.client_id) for row in seen if row.is_member}
    found = [
        row
        for row in seen
        if row.kind == "consume"
        and (row.appid, row.client_id) not in members
        and row.resource not in circumstances.same_offsets
    ]
    if not found:
        return None
    return Finding(
        Code.SELF_ASSIGNED,
        _each(found),
        say(
            "%(clients)s read %(topics)s without being members of a consumer group: they keep their "
            "offsets over the switch, and the "
            "other cluster has other offsets. Let them subscribe in a group, move them by a restart, or "
            "leave them out.",
            clients=list(_each(found)),
            topics=sorted({row.resource for row in found}),
        ),
    )


#: Versions of Kafka's own consumer that can wait for a coordinator for ever.
_KAFKA_10793 = frozenset({"2.5.0", "2.5.1", "2.6.0", "2.6.1", "2.7.0"})


def _kafka_10793(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    found = {
        row.who: row.version
        for row in seen
        if row.kind == "group"
        and row.library == "apache-kafka-java"
        and _release(row.version) in _KAFKA_10793
    }
    if not found:
        return None
    return Finding(
        Code.KAFKA_10793,
        tuple(found),
        say(
            "%(clients)s can stop consuming for ever when their coordinator moves (KAFKA-10793). Update "
            "their Kafka client, or "
            "have somebody ready who restarts them.",
            clients=[f"{who} ({version})" for who, version in found.items()],
        ),
    )


def _release(version: str) -> str:
    """
    >>> _release("2.6.1-cp1"), _release("")
    ('2.6.1', '')
    """
    found = re.match(r"\d+\.\d+\.\d+", version)
    return found.group(0) if found else ""


def _long_session(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    most = circumstances.settle_seconds
    found = {
        row.who: timeout / 1000
        for row in seen
        if row.kind == "group" and (timeout := row.details.get("session_timeout_ms") or 0) > most * 1000
    }
    if not found:
        return None
    return Finding(
        Code.LONG_SESSION,
        tuple(found),
        say(
            "%(clients)s: if such a member dies in a switch its group waits longer than the %(seconds)s s "
            "that consumers have to "
            "settle, and the switch returns. Lower session.timeout.ms, or give them more time in the rules.",
            clients=[f"{who} (session timeout {seconds:g} s)" for who, seconds in found.items()],
            seconds=most,
        ),
    )


def _each(rows: Iterable[Seen]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.who for row in rows))


#: All rules, the gravest first.
RULES: dict[Code, Rule] = {
    rule.code: rule
    for rule in (
        Rule(Code.TWO_PAIRS, True, _two_pairs),
        Rule(Code.ACKS, True, _acks),
        Rule(Code.SELF_ASSIGNED, True, _self_assigned),
        Rule(Code.TRANSACTIONS, True, _transactions),
        Rule(Code.KAFKA_10793, False, _kafka_10793),
        Rule(Code.LONG_SESSION, False, _long_session),
    )
}

#: The codes whose findings stop a switch where nobody has said otherwise.
STOPPING = tuple(code.value for code, rule in RULES.items() if rule.stops)
