"""Who reads without being a member of a group: nobody keeps that reader's place but itself, so nobody can translate it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hadash.inventory.models import Access, Pair
from hadash.inventory.selectors import access_since
from hadash.switching.plan import Plan

Entry = dict[str, Any]


def self_assigned(
    plan: Plan,
    pair: Pair,
    connected: Iterable[Entry],
    readers: Iterable[Entry],
    members: Iterable[Entry],
) -> list[str]:
    """The plan's clients that read its Topics on the source and are members of none of its groups, as texts.

    A client.id says little: ``rdkafka`` is librdkafka's default. So an AppID's client.id counts as a member only if members have
    come with both, and where more connections of a host read from one broker than the host has members of that name, one of
    them is no member: which one nobody can tell, so the name stands for all. (A client reads over one connection to a broker.)

    :param connected: the clients that the Gateways have now, from ``/clients``; ``readers`` and ``members`` likewise.
    """
    here = {_name(c) for c in _of(plan, connected)}
    joined = [member for member in _of(plan, members) if member["group"] in plan.groups]
    names = {_name(member) for member in joined}
    reading = Access.objects.filter(
        pair=pair,
        appid__in=plan.appids,
        kind=Access.Kind.CONSUME,
        resource__in=plan.topics,
        last_seen__gte=access_since(),
    )
    seen = set(reading.order_by().values_list("appid", "client_id", "resource"))
    found = {
        (appid, client_id, topic)
        for appid, client_id, topic in seen
        if (appid, client_id) in here and (appid, client_id) not in names
    }
    found |= _too_many(plan, list(_of(plan, readers)), joined)
    return sorted(f"{client_id or appid} ({topic})" for appid, client_id, topic in found)


def _too_many(plan: Plan, readers: list[Entry], joined: list[Entry]) -> set[tuple[str, str, str]]:
    """AppID, client.id and Topic of the readers that are more than the members of their name on their host."""
    topics = set(plan.topics)
    reading = [reader for reader in readers if topics & set(reader["topics"])]
    # Told apart by member id: one that has just come back may have its old connection still.
    places = {(*_name(member), member["host"], member["group"], member["member_id"]) for member in joined}
    members = Counter(place[:3] for place in places)
    at_broker = Counter((*_name(reader), reader["host"], reader["broker"]) for reader in reading)
    return {
        (*_name(reader), topic)
        for reader in reading
        if at_broker[(*_name(reader), reader["host"], reader["broker"])]
        > members[(*_name(reader), reader["host"])]
        for topic in topics & set(reader["topics"])
    }


def _of(plan: Plan, entries: Iterable[Entry]) -> Iterable[Entry]:
    """Those of the plan's clients on the source."""
    return (e for e in entries if e["cluster"] == plan.source and plan.covers(e["appid"], e["client_id"]))


def _name(entry: Entry) -> tuple[str, str]:
    return entry["appid"], entry["client_id"]
