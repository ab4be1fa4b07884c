"""How far the members of groups have quiesced, as several Gateways see them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hadash.bindings.quiescing import STATES


def furthest_quiesced(members: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """(group, member id) → state.

    A member's requests may come in on several connections, to several Gateways. That one of them holds its
    JOIN_GROUP is the current state; that it was active on another is an earlier one.

    >>> seen = {"group": "billing", "member_id": "m"}
    >>> furthest_quiesced([{**seen, "state": "parked"}, {**seen, "state": "active"}])
    {('billing', 'm'): 'parked'}
    """
    found: dict[tuple[str, str], str] = {}
    for member in members:
        key = member["group"], member["member_id"]
        found[key] = min(member["state"], found.get(key, member["state"]), key=_rank)
    return found


def _rank(state: str) -> int:
    """A state's rank. (A state that only a newer Gateway knows ranks behind all others.)"""
    return STATES.index(state) if state in STATES else len(STATES)
