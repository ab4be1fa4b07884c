"""Compares the ACLs of AppIDs between the clusters of a pair. Pure.

MirrorMaker copies only ACLs for reading, so hadash copies them itself; it also denies writing on the standby
side.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set
from ipaddress import IPv4Network, IPv6Network, ip_address

from hadash.kafka.values import Acl

#: The principal of a rule for all users.
EVERYBODY = "User:*"

#: The host of a rule for all hosts, and the name of the only resource of type CLUSTER.
ANY_HOST = "*"
CLUSTER = "kafka-cluster"

#: The operations that allow writing.
_WRITING = frozenset({"WRITE", "ALL"})
_USING = frozenset({"READ", "WRITE", "ALL"})


def principals_of(appids: Iterable[str]) -> set[str]:
    """Return the principals whose rules apply to the AppIDs: their own, and that for all users."""
    return {f"User:{appid}" for appid in appids} | {EVERYBODY}


def of_principals(acls: Iterable[Acl], appids: Iterable[str]) -> set[Acl]:
    """Return the rules for some AppIDs and for all users."""
    principals = principals_of(appids)
    return {acl for acl in acls if acl.principal in principals}


def missing(source: Set[Acl], target: Set[Acl], appids: Iterable[str], own: Set[Acl]) -> set[Acl]:
    """Return the rules that the AppIDs have on the source and not on the target.

    :param own: the write denials that hadash made on the source; they belong only to that side.
    """
    wanted = list(appids)
    return of_principals(source - own, wanted) - of_principals(target, wanted)


def denied_beyond(
    source: Set[Acl],
    target: Set[Acl],
    appids: Iterable[str],
    topics: Iterable[str],
    groups: Iterable[str],
    own: Set[Acl],
) -> set[Acl]:
    """Return denials on the target that the source does not have: clients that move would be refused there.

    :param own: the write denials that hadash made on the target; a switch removes those itself.
    """
    wanted, names = list(appids), {"TOPIC": set(topics), "GROUP": set(groups)}
    return {
        acl
        for acl in of_principals(target - own, wanted) - of_principals(source, wanted)
        if acl.permission == "DENY" and any(covers(acl, name) for name in names.get(acl.resource_type, ()))
    }


def by_host(
    acls: Iterable[Acl], appids: Iterable[str], topics: Iterable[str], groups: Iterable[str]
) -> set[Acl]:
    """Return the rules for single hosts that affect what the AppIDs may do with these Topics and groups.

    A broker sees the address of the Gateway instead of the client's. An allowance that a rule for all hosts
    gives, too, has no effect; a denial for a host always has one.
    """
    known, names = (
        of_principals(acls, appids),
        {"TOPIC": set(topics), "GROUP": set(groups), "CLUSTER": {CLUSTER}},
    )
    everywhere = {acl for acl in known if acl.host == ANY_HOST and acl.permission == "ALLOW"}
    return {
        acl
        for acl in known
        if acl.host != ANY_HOST
        for name in names.get(acl.resource_type, ())
        if covers(acl, name) and (acl.permission == "DENY" or not _allowed(everywhere, acl, name))
    }


def is_one_of(host: str, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Return whether the host of a rule is an address in one of ``networks``. (Kafka compares hosts as texts.)

    >>> from ipaddress import ip_network
    >>> is_one_of("10.0.0.7", [ip_network("10.0.0.0/24")]), is_one_of("client.example", [ip_network("10.0.0.0/24")])
    (True, False)
    """
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in networks)


def _allowed(rules: Iterable[Acl], acl: Acl, name: str) -> bool:
    """Return whether ``rules`` allow what ``acl`` allows on the resource ``name``."""
    return any(
        rule.resource_type == acl.resource_type
        and rule.principal in (acl.principal, EVERYBODY)
        and rule.operation in (acl.operation, "ALL")
        and covers(rule, name)
        for rule in rules
    )


def applies_to(acl: Acl, topic: str) -> bool:
    """Return whether a rule is for Topics and covers ``topic``.

    >>> applies_to(Acl("TOPIC", "shop.", "PREFIXED", "User:shop", "*", "WRITE", "ALLOW"), "shop.carts")
    True
    """
    return acl.resource_type == "TOPIC" and covers(acl, topic)


def covers(acl: Acl, name: str) -> bool:
    """Return whether a rule's pattern covers the resource ``name`` (of its own type)."""
    if acl.pattern == "PREFIXED":
        return name.startswith(acl.resource)
    return acl.resource in (name, "*")


class Existing:
    """Names of existing resources, searchable by prefix: a pair may have very many Topics, and an AppID's rules
    name few of them.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(names)
        self._sorted = sorted(self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def covered_by(self, rule: Acl) -> Sequence[str]:
        """Return the names that the pattern of a rule covers.

        >>> shop = Existing(["shop.b", "crm", "shop.a", "shopping"])
        >>> shop.covered_by(Acl("TOPIC", "shop.", "PREFIXED", "User:shop", "*", "READ", "ALLOW"))
        ['shop.a', 'shop.b']
        """
        if rule.pattern != "PREFIXED":
            return self._sorted if rule.resource == "*" else [rule.resource] if rule.resource in self else []
        first = end = bisect_left(self._sorted, rule.resource)
        while end < len(self._sorted) and self._sorted[end].startswith(rule.resource):
            end += 1
        return self._sorted[first:end]


def writers(acls: Iterable[Acl], topic: str, users: Set[str], exempt: Set[str]) -> set[str]:
    """Return the principals that may write to ``topic``.

    :param users: all known users: a rule for all users counts as one for each of them, because a denial for all
        users would also deny the mirror.
    :param exempt: the users of hadash and its mirrors.
    """
    found = {
        acl.principal
        for acl in acls
        if acl.permission == "ALLOW" and acl.operation in _WRITING and applies_to(acl, topic)
    }
    if EVERYBODY in found:
        found |= {f"User:{user}" for user in users}
    return found - {EVERYBODY} - {f"User:{user}" for user in exempt}


def users_of(acls: Iterable[Acl], topics: Iterable[str]) -> set[tuple[str, str]]:
    """Return (AppID, Topic) for every Topic that an AppID may read or write by a rule that names Topics.

    >>> sorted(users_of([Acl("TOPIC", "shop.", "PREFIXED", "User:shop", "*", "READ", "ALLOW")], ["shop.carts", "crm"]))
    [('shop', 'shop.carts')]
    """
    existing = Existing(topics)
    return {
        (acl.principal.removeprefix("User:"), topic)
        for acl in acls
        if acl.permission == "ALLOW" and acl.operation in _USING and acl.resource_type == "TOPIC"
        if acl.principal.startswith("User:") and acl.principal != EVERYBODY and acl.resource != "*"
        for topic in existing.covered_by(acl)
    }


#: Topic, and the principal that may not write to it.
Denied = tuple[str, str]


def write_denial(topic: str, principal: str) -> Acl:
    """Return the rule that denies a client writing to a standby Topic."""
    return Acl("TOPIC", topic, "LITERAL", principal, "*", "WRITE", "DENY")


def write_denials(acls: Iterable[Acl], topics: Iterable[str], users: Set[str], exempt: Set[str]) -> set[Acl]:
    """Return the rules that deny all users except the mirror writing to standby ``topics``; see :func:`writers`."""
    known = list(acls)
    return {
        write_denial(topic, principal)
        for topic in topics
        for principal in writers(known, topic, users, exempt)
    }
