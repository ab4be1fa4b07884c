"""Which clients use what, as observed, declared or allowed. Pure; plans and the jobs share it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hadash.inventory.differences import never_seen
from hadash.inventory.relations import GROUP, Relation
from hadash.radius.nodes import AccessEdge


def declared_uses(declared: Iterable[Relation], seen: Iterable[AccessEdge]) -> list[AccessEdge]:
    """Declared uses that nobody has observed."""
    known = [Relation(use.appid, use.client_id, use.kind, use.resource) for use in seen]
    return [AccessEdge(*relation, declared=True) for relation in never_seen(declared, known)]


def topics_of(uses: Iterable[AccessEdge], mirrored: Iterable[str]) -> set[str]:
    """The Topics whose ACLs matter: those that a client uses, or a mirror carries."""
    return {use.resource for use in uses if use.kind != GROUP} | set(mirrored)


def allowed_uses(allowed: Iterable[tuple[str, str]], known: Sequence[AccessEdge]) -> list[AccessEdge]:
    """The rights of AppIDs of which no use is ``known``, as uses.

    :param allowed: (AppID, Topic).
    """
    users = {use.appid for use in known}
    return [
        AccessEdge(appid, "", "acl", topic) for appid, topic in sorted(set(allowed)) if appid not in users
    ]
