"""Which of the connected clients a plan moves, and where they are. Pure; what Gateways say comes in as they say it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hadash.switching.plan import Plan

#: A client: AppID and client.id.
Name = tuple[str, str]


def where_they_are(
    plan: Plan,
    connections: Iterable[dict[str, Any]],
    access: Iterable[dict[str, Any]],
    lately: float | None = None,
) -> dict[Name, set[str]]:
    """The connected clients that the plan moves, with their clusters.

    AppIDs are unique only in their pair: who is on other clusters than the plan's two is somebody else of
    that name. One that moves with a Topic's own binding may be connected to both sides, for other Topics: it
    is where it has used what moves last.

    :param access: what was observed, of which only those are asked who move with a Topic's own binding.
    :param lately: of these, only those whose records moved in the last so many seconds; ``None`` for all.
    """
    clusters = {plan.source, plan.target}
    found: dict[Name, set[str]] = {}
    there: set[Name] = set()
    for c in connections:
        if c["cluster"] not in clusters:
            continue
        name = (c["appid"], c["client_id"])
        there.add(name)
        if plan.covers(*name):
            found.setdefault(name, set()).add(c["cluster"])
    uses = [
        a
        for a in access
        if a["cluster"] in clusters and _by_topic(plan, a) and (a["appid"], a["client_id"]) in there
    ]
    busy = {
        (a["appid"], a["client_id"])
        for a in uses
        if lately is None or (a["idle"] is not None and a["idle"] < lately)
    }
    # The earlier first: of each Topic the last use stays.
    last = {_use(a): a["cluster"] for a in sorted(uses, key=lambda a: float(a["used_at"]))}
    for (appid, client_id, _, _), cluster in last.items():
        if (appid, client_id) in busy:
            found.setdefault((appid, client_id), set()).add(cluster)
    return found


def _by_topic(plan: Plan, use: dict[str, Any]) -> bool:
    """Whether a use moves although not all that its client does moves."""
    appid, client_id, kind, resource = _use(use)
    return plan.covers_use(appid, client_id, kind, resource) and not plan.covers(appid, client_id)


def _use(use: dict[str, Any]) -> tuple[str, str, str, str]:
    return use["appid"], use["client_id"], use["kind"], use["resource"]
