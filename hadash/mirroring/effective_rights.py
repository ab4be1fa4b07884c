"""Compares the effective rights on two clusters, as Kafka's authorizer decides them. Pure.

Different rules may give the same rights: with ALL on one cluster and READ and WRITE on the other a client can
work on both. So the authorizer's decisions are compared, name by name, instead of the rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import NamedTuple

from hadash.kafka.values import Acl
from hadash.mirroring.acls import EVERYBODY, Existing, covers

TOPIC, GROUP, TRANSACTIONAL_ID = "TOPIC", "GROUP", "TRANSACTIONAL_ID"

#: The operations of clients on each kind of resource. Other operations are for administrators: they count only
#: where a rule names them.
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    TOPIC: ("READ", "WRITE", "DESCRIBE"),
    GROUP: ("READ", "DESCRIBE"),
    TRANSACTIONAL_ID: ("WRITE", "DESCRIBE"),
}

#: Operations that another allowed operation implies. (Denials imply nothing, except that ALL denies every
#: operation.)
_IMPLIED_BY = {
    "DESCRIBE": frozenset({"READ", "WRITE", "DELETE", "ALTER"}),
    "DESCRIBE_CONFIGS": frozenset({"ALTER_CONFIGS"}),
}

#: Stands for the rest of a name after a prefix, and for a host that no rule names. It occurs in no real name.
_ANY = "\uffff"


class Right(NamedTuple):
    """A right to an operation on a resource; ``host`` is empty where it holds for all hosts."""

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
    """Return whether ``rules``, all of them about one resource and one user, allow an operation.

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
    """The rules of one cluster for one principal, indexed by resource."""

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
        """Yield the names that the rules are about. A pattern stands for the names in ``existing`` that it
        covers; when ``existing`` is ``None``, for one name that it covers and no longer pattern does.
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
    """The rules of one cluster: those of a user, and those for all users."""

    own: Rules
    everybody: Rules

    def about(self, resource_type: str, name: str) -> frozenset[Acl]:
        found = chain(self.own.about(resource_type, name), self.everybody.about(resource_type, name))
        return frozenset(found)


def beyond(
    first: Side, second: Side, used: Iterable[tuple[str, str]], mirrored: Existing
) -> tuple[set[Right], set[Right]]:
    """Return the rights that a user has only on the first cluster, and only on the second.

    :param used: (type, name) of resources that the user was seen to use: maybe only rules for all users allow
        that.
    :param mirrored: Topics that are on both clusters. Others are not compared: they and their users may be on
        one cluster only.
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
    """Return the comparable part of rules about one name and one user."""
    return {(rule.host, rule.operation, rule.permission) for rule in rules}


def _beyond(resource_type: str, name: str, here: Set[Acl], there: Set[Acl]) -> set[Right]:
    """Return the rights to one name that the rules give here and not there. DESCRIBE is left out when another
    right is missing, too.
    """
    both = here | there
    operations = {rule.operation for rule in both if rule.principal != EVERYBODY} - {"ALL"}
    found: set[Right] = set()
    anywhere: set[str] = set()
    # First a host that no rule names: rights that differ there differ for nearly every host.
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
