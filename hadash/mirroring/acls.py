"""What an AppID may do, compared between the clusters of a pair. Pure.

MirrorMaker copies ACLs for reading only, so hadash copies them itself; and it denies writing on the standby side.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from hadash.kafka.values import Acl

#: The principal of a rule for everybody.
EVERYBODY = "User:*"

#: Operations of a rule that lets somebody write.
_WRITING = frozenset({"WRITE", "ALL"})


def of_principals(acls: Iterable[Acl], appids: Iterable[str]) -> set[Acl]:
    """The rules for some AppIDs and for everybody, without the write denials that :func:`write_denials` makes."""
    principals = {f"User:{appid}" for appid in appids} | {EVERYBODY}
    return {acl for acl in acls if acl.principal in principals and not is_write_denial(acl)}


def is_write_denial(acl: Acl) -> bool:
    """Whether this is the rule that keeps a client off a standby Topic."""
    return (
        acl.permission == "DENY"
        and acl.operation == "WRITE"
        and acl.resource_type == "TOPIC"
        and acl.pattern == "LITERAL"
        and acl.host == "*"
    )


def missing(source: Set[Acl], target: Set[Acl], appids: Iterable[str]) -> set[Acl]:
    """The rules that the AppIDs have on the source and not on the target."""
    return of_principals(source, appids) - of_principals(target, appids)


def applies_to(acl: Acl, topic: str) -> bool:
    """Whether a Topic rule covers ``topic``.

    >>> applies_to(Acl("TOPIC", "shop.", "PREFIXED", "User:shop", "*", "WRITE", "ALLOW"), "shop.carts")
    True
    """
    if acl.resource_type != "TOPIC":
        return False
    if acl.pattern == "PREFIXED":
        return topic.startswith(acl.resource)
    return acl.resource in (topic, "*")


def writers(acls: Iterable[Acl], topic: str, exempt: Set[str]) -> set[str]:
    """Principals that may write to ``topic``; ``exempt`` names the users of hadash and its mirrors."""
    return {
        acl.principal
        for acl in acls
        if acl.permission == "ALLOW"
        and acl.operation in _WRITING
        and applies_to(acl, topic)
        # Denying everybody would deny the mirror too.
        and acl.principal != EVERYBODY
        and acl.principal.removeprefix("User:") not in exempt
    }


def write_denials(acls: Iterable[Acl], topics: Iterable[str], exempt: Set[str]) -> set[Acl]:
    """The rules that keep everybody but the mirror from writing to standby ``topics``."""
    known = list(acls)
    return {
        Acl("TOPIC", topic, "LITERAL", principal, "*", "WRITE", "DENY")
        for topic in topics
        for principal in writers(known, topic, exempt)
    }


def denials_on(acls: Iterable[Acl], topics: Iterable[str]) -> set[Acl]:
    """The write denials that exist on ``topics``."""
    wanted = set(topics)
    return {acl for acl in acls if is_write_denial(acl) and acl.resource in wanted}
