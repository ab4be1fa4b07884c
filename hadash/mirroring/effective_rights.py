"""What rights give, as Kafka's authorizer decides it, compared between two clusters. Pure.

Two clusters may say the same in other words: ALL on one and READ and WRITE on the other let a client do its
work on both. So what is compared is what the authorizer would answer, name by name, and not the rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import NamedTuple

from hadash.kafka.values import Acl
from hadash.mirroring.acls import EVERYBODY, Existing, covers

TOPIC, GROUP, TRANSACTIONAL_ID = "TOPIC", "GROUP", "TRANSACTIONAL_ID"

#: What clients do with each kind of resource. Other operations are an administrator's: they count only where
#: a rule names them.
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    TOPIC: ("READ", "WRITE", "DESCRIBE"),
    GROUP: ("READ", "DESCRIBE"),
    TRANSACTIONAL_ID: ("WRITE", "DESCRIBE"),
}

#: Operations that are allowed to whoever may do one of some others. (It is not so with denials: only ALL
#: denies another operation.)
_IMPLIED_BY = {
    "DESCRIBE": frozenset({"READ", "WRITE", "DELETE", "ALTER"}),
    "DESCRIBE_CONFIGS": frozenset({"ALTER_CONFIGS"}),
}

#: Stands for the rest of a name of which only the beginning matters, and for a host that no rule names. No name has it.
_ANY = "\uffff"


class Right(NamedTuple):
    """Something that somebody may do; ``host`` is empty where it does not matter from where."""

    operation: str
    resource_type: str
    name: str
    host: str = ""

    def __str__(self) -> str:
        """
        >>> str(Right("READ", "GROUP", "carts-\\uffff")), str(Right("WRITE", "TOPIC", "orders", "10.0.0.1"))
        ('read group carts-*', 'write topic orders (10.0.0.1)')
        """
        said = f"{self.operation.lower()} {self.resource_type.lower()} {self.name.replace(_ANY, '*')}"
        return f"{said} ({self.host.replace(_ANY, '*')})" if self.host else said


def may(rules: Iterable[Acl], operation: str, host: str) -> bool:
    """Whether ``rules``, all of them about one resource and one user, allow an operation.

    >>> rule = Acl("TOPIC", "orders", "LITERAL", "User:shop", "*", "ALTER", "ALLOW")
    >>> may([rule], "DESCRIBE", "10.0.0.1"), may([rule], "READ", "10.0.0.1")
    (True, False)
    """
    from_here = [rule for rule in rules if rule.host in ("*", host)]
    itself = {operation, "ALL"}
    if any(rule.permission == "DENY" and rule.operation in itself for rule in from_here):
        return False
    enough = itself | _IMPLIED_BY.get(operation, frozenset())
    return any(rule.permission == "ALLOW" and rule.operation in enough for rule in from_here)


class Rules:
    """Rules of one cluster for one principal, found by what they are about."""

    def __init__(self, rules: Iterable[Acl] = ()) -> None:
        self._named: dict[tuple[str, str], list[Acl]] = defaultdict(list)
        self._patterns: dict[str, list[Acl]] = defaultdict(list)
        for rule in rules:
            if rule.pattern == "LITERAL" and rule.resource != "*":
                self._named[rule.resource_type, rule.resource].append(rule)
            else:
                self._patterns[rule.resource_type].append(rule)

    def about(self, resource_type: str, name: str) -> Iterator[Acl]:
        yield from self._named.get((resource_type, name), ())
        yield from (rule for rule in self._patterns.get(resource_type, ()) if covers(rule, name))

    def names(self, resource_type: str, existing: Existing | None) -> Iterator[str]:
        """What they are about. Of patterns it is what of ``existing`` they cover; where that is not known
        some name that they cover, and no longer pattern does.
        """
        patterns = self._patterns.get(resource_type, ())
        named = (name for kind, name in self._named if kind == resource_type)
        if existing is None:
            yield from named
            yield from (rule.resource + _ANY if rule.pattern == "PREFIXED" else _ANY for rule in patterns)
            return
        yield from (name for name in named if name in existing)
        for rule in patterns:
            yield from existing.covered_by(rule)


class Side(NamedTuple):
    """One cluster: the rules of a user, and those for everybody."""

    own: Rules
    everybody: Rules

    def about(self, resource_type: str, name: str) -> frozenset[Acl]:
        found = chain(self.own.about(resource_type, name), self.everybody.about(resource_type, name))
        return frozenset(found)


def beyond(
    first: Side, second: Side, used: Iterable[tuple[str, str]], mirrored: Existing
) -> tuple[set[Right], set[Right]]:
    """What a user may do on the first cluster only, and on the second one only.

    :param used: (type, name) of what the user was seen to use: rules for everybody may be all that allows it.
    :param mirrored: Topics that are on both clusters. Of others nothing is said: they are on one cluster, and
        so may be who uses them.
    """
    known, only_first, only_second = set(used), set[Right](), set[Right]()
    for resource_type in OPERATIONS:
        existing = mirrored if resource_type == TOPIC else None
        names = {name for kind, name in known if kind == resource_type}
        if existing is not None:
            names = {name for name in names if name in existing}
        for side in (first, second):
            names.update(side.own.names(resource_type, existing))
        for name in names:
            here, there = first.about(resource_type, name), second.about(resource_type, name)
            if _said(here) != _said(there):
                only_first |= _beyond(resource_type, name, here, there)
                only_second |= _beyond(resource_type, name, there, here)
    return only_first, only_second


def _said(rules: Set[Acl]) -> set[tuple[str, str, str]]:
    """What rules about one name of one user come down to."""
    return {(rule.host, rule.operation, rule.permission) for rule in rules}


def _beyond(resource_type: str, name: str, here: Set[Acl], there: Set[Acl]) -> set[Right]:
    """What rules about one name allow here and not there. Who may not even describe something, of that it is
    not said besides.
    """
    both = here | there
    operations = {rule.operation for rule in both if rule.principal != EVERYBODY} - {"ALL"}
    found: set[Right] = set()
    anywhere: set[str] = set()
    # First from where no rule names: what differs there differs everywhere, or nearly.
    for host in (_ANY, *sorted({rule.host for rule in both} - {"*"})):
        differing = {
            operation
            for operation in operations | set(OPERATIONS[resource_type])
            if may(here, operation, host) and not may(there, operation, host)
        }
        if len(differing) > 1:
            differing.discard("DESCRIBE")
        if host == _ANY:
            anywhere = differing
        shown = "" if host == _ANY else host
        found |= {
            Right(each, resource_type, name, shown)
            for each in differing
            if host == _ANY or each not in anywhere
        }
    return found
