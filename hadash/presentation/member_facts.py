"""What speaks for and against each member of a plan: the mirrors of a Topic, and when a client was last seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Max, QuerySet

from hadash.inventory.models import Access
from hadash.inventory.selectors import access_since
from hadash.mirroring.models import Mirror
from hadash.radius.nodes import APPID, BOUND_TOPICS, INSTANCE, TOPIC, Node
from hadash.radius.scope import Member, node_named
from hadash.switching.plan import Plan


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one member.

    - ``mirrors``: of a Topic, the names of the mirrors of this plan that carry it; nothing of another node.
    - ``last_seen``: of all but a Topic, when it was last used within the access window; ``None``: not in it.
    """

    is_topic: bool
    mirrors: tuple[str, ...] = ()
    last_seen: datetime | None = None

    @property
    def window_days(self) -> float:
        """The access window in days."""
        return settings.ACCESS_WINDOW_DAYS


def facts_of(plan: Plan, members: Sequence[Member]) -> list[Facts]:
    """Return the facts of some members of a plan, in their order. The number of queries does not depend on theirs."""
    nodes = [node_named(member.key) for member in members]
    carrying = _mirrors(plan, {node.names[0] for node in nodes if node.kind == TOPIC})
    seen = _last_seen(Access.objects.filter(pair__name=plan.pair, last_seen__gte=access_since()), nodes)
    return [
        Facts(True, mirrors=tuple(carrying.get(node.names[0], ())))
        if node.kind == TOPIC
        else Facts(False, last_seen=max((seen[key] for key in _keys(node) if key in seen), default=None))
        for node in nodes
    ]


def _mirrors(plan: Plan, topics: set[str]) -> dict[str, list[str]]:
    """Return the names of the plan's mirrors by Topic."""
    found: dict[str, list[str]] = {}
    if not topics:
        return found
    rows = Mirror.objects.filter(pair__name=plan.pair, name__in=plan.mirrors).order_by("name")
    for name, carried in rows.values_list("name", "topics"):
        for topic in topics.intersection(carried):
            found.setdefault(topic, []).append(name)
    return found


#: By what a use is found: ("appid", AppID), ("instance", AppID, client.id), ("topic", AppID, Topic), ("group", group).
_Key = tuple[str, ...]


def _keys(node: Node) -> list[_Key]:
    """Return what any use of a node is found by."""
    if node.kind == APPID:
        return [("appid", node.appid)]
    if node.kind == INSTANCE:
        return [("instance", node.appid, node.names[0])]
    if node.kind == BOUND_TOPICS:
        return [("topic", node.appid, name) for name in node.names]
    return [("group", node.names[0])]  # of whichever AppIDs its members are


def _last_seen(uses: QuerySet[Access], nodes: Iterable[Node]) -> dict[_Key, datetime]:
    """Return when each was last used. (One query for each kind: an AppID may have very many clients, whose rows stay
    in the database.)
    """
    keys = {key for node in nodes if node.kind != TOPIC for key in _keys(node)}

    def names(kind: str, place: int) -> set[str]:
        return {key[place] for key in keys if key[0] == kind}

    found: dict[_Key, datetime] = {}
    by_kind = {
        "appid": (uses.filter(appid__in=names("appid", 1)), ("appid",)),
        "instance": (
            uses.filter(appid__in=names("instance", 1), client_id__in=names("instance", 2)),
            ("appid", "client_id"),
        ),
        "topic": (
            uses.exclude(kind=Access.Kind.GROUP).filter(
                appid__in=names("topic", 1), resource__in=names("topic", 2)
            ),
            ("appid", "resource"),
        ),
        "group": (
            uses.filter(kind=Access.Kind.GROUP, resource__in=names("group", 1)),
            ("resource",),
        ),
    }
    for kind, (rows, fields) in by_kind.items():
        if names(kind, 1):
            for *key, at in rows.order_by().values_list(*fields).annotate(at=Max("last_seen")):
                found[kind, *key] = at
    return found
