"""Who uses what: what was seen, and what stands in for it where nothing was. Pure; the plan and the jobs share it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hadash.inventory.differences import never_seen
from hadash.inventory.relations import GROUP, Relation
from hadash.radius.nodes import AccessEdge


def declared_uses(declared: Iterable[Relation], seen: Iterable[AccessEdge]) -> list[AccessEdge]:
    """What people say that clients use, where nobody has seen it."""
    known = [Relation(use.appid, use.client_id, use.kind, use.resource) for use in seen]
    return [AccessEdge(*relation, declared=True) for relation in never_seen(declared, known)]


def topics_of(uses: Iterable[AccessEdge], mirrored: Iterable[str]) -> set[str]:
    """The Topics of which rights say something: those that somebody uses, or a mirror carries."""
    return {use.resource for use in uses if use.kind != GROUP} | set(mirrored)


def allowed_uses(allowed: Iterable[tuple[str, str]], known: Sequence[AccessEdge]) -> list[AccessEdge]:
    """Rights of those of whom nothing is ``known``.

    :param allowed: (AppID, Topic).
    """
    users = {use.appid for use in known}
    return [
        AccessEdge(appid, "", "acl", topic) for appid, topic in sorted(set(allowed)) if appid not in users
    ]
