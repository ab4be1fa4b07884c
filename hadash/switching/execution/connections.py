"""Who is connected to Gateways of what a plan moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hadash.switching.plan import Plan
from hadash.switching.planning.connected import Name, where_they_are

#: AppIDs up to which each is asked for by itself; beyond it the Gateways are asked for everybody.
ASKED_BY_NAME = 10


def ask_about(
    plan: Plan, ask: Callable[..., list[dict[str, Any]]], path: str, key: str
) -> list[dict[str, Any]]:
    """What Gateways say of the plan's AppIDs (of all of their clients, also those that stay).

    :param ask: ``ask_all``, or ``ask_every`` for what must not be decided on half of the truth.
    """
    wanted = set(plan.appids)
    if len(wanted) > ASKED_BY_NAME:
        return [entry for entry in ask(path, key) if entry["appid"] in wanted]
    return [entry for appid in plan.appids for entry in ask(path, key, appid=appid)]


def connected(
    plan: Plan, ask: Callable[..., list[dict[str, Any]]], lately: float | None = None
) -> dict[Name, set[str]]:
    """See :func:`hadash.switching.planning.connected.where_they_are`; :param ask: as of :func:`ask_about`."""
    connections = ask_about(plan, ask, "/clients", "clients")
    access = ask_about(plan, ask, "/access", "access") if plan.moves_by_topic else []
    return where_they_are(plan, connections, access, lately)
