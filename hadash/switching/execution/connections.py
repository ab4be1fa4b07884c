"""The Gateways' connections and observations of the clients that a plan moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hadash.switching.plan import Plan
from hadash.switching.planning.connected import Name, where_they_are

#: The most AppIDs that are asked for one by one; for more the Gateways are asked about all clients.
ASKED_BY_NAME = 10


def ask_about(
    plan: Plan, ask: Callable[..., list[dict[str, Any]]], path: str, key: str
) -> list[dict[str, Any]]:
    """The Gateways' answers about the plan's AppIDs (about all of their clients, also those that stay).

    :param ask: ``ask_all``, or ``ask_every`` if an incomplete answer must not be used.
    """
    wanted = set(plan.appids)
    if len(wanted) > ASKED_BY_NAME:
        return [entry for entry in ask(path, key) if entry["appid"] in wanted]
    return [entry for appid in plan.appids for entry in ask(path, key, appid=appid)]


def connected(
    plan: Plan, ask: Callable[..., list[dict[str, Any]]], lately: float | None = None
) -> dict[Name, set[str]]:
    """See :func:`hadash.switching.planning.connected.where_they_are`. :param ask: as for :func:`ask_about`."""
    connections = ask_about(plan, ask, "/clients", "clients")
    access = ask_about(plan, ask, "/access", "access") if plan.moves_by_topic else []
    return where_they_are(plan, connections, access, lately)
