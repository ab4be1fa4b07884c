"""The findings of the rules of governance about the clients that one switch moves. Pure.

:mod:`hadash.governance.client_risks` says which uses are hit, :mod:`hadash.governance.catalogue` has the
severity and the sentences. This module adds what depends on the switch. The rules of a pair say which findings
stop a switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hadash.governance.catalogue import CATALOGUE, Code, Severity
from hadash.governance.client_risks import RISKS, Seen, clients, hit
from hadash.sentences import Sentence, say


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The facts about a switch that rules need besides the uses of its clients.

    ``replicated``: Topics with more than one replica on the cluster that the clients leave. ``same_offsets``:
    Topics whose records have the same offsets on both clusters. ``quiesce_seconds``: how long a switch waits
    for consumers. ``elsewhere``: by AppID that moves, the other pairs in which it is used.
    """

    replicated: frozenset[str] = frozenset()
    same_offsets: frozenset[str] = frozenset()
    quiesce_seconds: float = 45.0
    elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a rule: the clients or AppIDs that it is about, and a sentence that says what to do."""

    code: Code
    who: tuple[str, ...]
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about the clients of a switch. ``stops``: whether its findings stop a switch by default."""

    code: Code
    stops: bool
    find: Callable[[Sequence[Seen], Circumstances], Finding | None]

    @property
    def severity(self) -> Severity:
        return CATALOGUE[self.code].severity


def findings(seen: Iterable[Seen], circumstances: Circumstances) -> list[Finding]:
    """Return the findings of all rules, the gravest first."""
    rows = sorted(seen, key=lambda s: (s.appid, s.client_id, s.kind, s.resource))
    found = [rule.find(rows, circumstances) for rule in RULES.values()]
    return [finding for finding in found if finding is not None]


def _found(code: Code, who: Iterable[str], **values: Any) -> Finding | None:
    """Return the finding about ``who``, in the catalogue's words with these ``values``; ``None`` if that is empty."""
    named, template = tuple(who), CATALOGUE[code].of_switch
    assert template is not None, f"{code} is no rule about the clients of a switch"
    return Finding(code, named, say(template.text, **values)) if named else None


def acks(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    """Return the finding about clients that write with acks other than all to replicated Topics."""
    rows = [row for row in hit(RISKS[Code.ACKS], seen) if row.resource in circumstances.replicated]
    found = {row.who: row.details["acks"] for row in rows}
    return _found(Code.ACKS, found, clients=[f"{who} (acks={acks})" for who, acks in found.items()])


def two_pairs(elsewhere: Mapping[str, Sequence[str]]) -> Finding | None:
    """Return the finding about AppIDs that are used in other pairs, too.

    :param elsewhere: the names of the other pairs, by AppID.
    """
    named = [f"{appid} (also in pair {', '.join(pairs)})" for appid, pairs in elsewhere.items()]
    return _found(Code.TWO_PAIRS, elsewhere, appids=named)


def _two_pairs(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    return two_pairs(circumstances.elsewhere)


def _transactions(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    who = clients(hit(RISKS[Code.TRANSACTIONS], seen))
    return _found(Code.TRANSACTIONS, who, clients=list(who))


def _self_assigned(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    readers = hit(RISKS[Code.SELF_ASSIGNED], seen)
    rows = [row for row in readers if row.resource not in circumstances.same_offsets]
    who, topics = clients(rows), sorted({row.resource for row in rows})
    return _found(Code.SELF_ASSIGNED, who, clients=list(who), topics=topics)


def _kafka_10793(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    found = {row.who: row.version for row in hit(RISKS[Code.KAFKA_10793], seen)}
    return _found(Code.KAFKA_10793, found, clients=[f"{who} ({version})" for who, version in found.items()])


def _long_session(seen: Sequence[Seen], circumstances: Circumstances) -> Finding | None:
    most = circumstances.quiesce_seconds
    found: dict[str, float] = {}
    for row in hit(RISKS[Code.LONG_SESSION], seen):
        seconds = (row.details.get("session_timeout_ms") or 0) / 1000
        if seconds > most:
            found[row.who] = max(seconds, found.get(row.who, 0.0))
    named = [f"{who} (session timeout {seconds:g} s)" for who, seconds in found.items()]
    return _found(Code.LONG_SESSION, found, clients=named, seconds=most)


#: All rules, the gravest first.
RULES: dict[Code, Rule] = {
    rule.code: rule
    for rule in (
        Rule(Code.TWO_PAIRS, True, _two_pairs),
        Rule(Code.ACKS, True, acks),
        Rule(Code.SELF_ASSIGNED, True, _self_assigned),
        Rule(Code.TRANSACTIONS, True, _transactions),
        Rule(Code.KAFKA_10793, False, _kafka_10793),
        Rule(Code.LONG_SESSION, False, _long_session),
    )
}

#: The codes whose findings stop a switch by default.
STOPPING = tuple(code.value for code, rule in RULES.items() if rule.stops)
