"""Who reads without being a member of a group: nobody keeps that reader's place but itself, so nobody can translate it."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from hadash.inventory.models import Access, Pair
from hadash.inventory.selectors import access_since
from hadash.switching.plan import Plan


def self_assigned(
    plan: Plan, pair: Pair, connected: Iterable[dict[str, Any]], members: Set[str]
) -> list[str]:
    """The plan's clients that read its Topics on the source and are members of none of its groups, as texts.

    :param connected: the clients that the Gateways have now. :param members: client.ids of the groups' members on the source.
    """
    here = {
        (c["appid"], c["client_id"])
        for c in connected
        if c["cluster"] == plan.source and plan.covers(c["appid"], c["client_id"])
    }
    reading = Access.objects.filter(
        pair=pair,
        appid__in=plan.appids,
        kind=Access.Kind.CONSUME,
        resource__in=plan.topics,
        last_seen__gte=access_since(),
    )
    found = set(reading.order_by().values_list("appid", "client_id", "resource"))
    return sorted(
        f"{client_id or appid} ({topic})"
        for appid, client_id, topic in found
        if (appid, client_id) in here and client_id not in members
    )
