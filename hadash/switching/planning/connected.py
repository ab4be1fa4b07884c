"""Which connected clients a plan moves, and on which clusters they are. Pure; takes the Gateways' answers
unchanged.
"""

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

    AppIDs are unique only within their pair: a client on any other cluster than the plan's two has the same name by
    chance. A client that moves with a Topic's own binding may be connected to both sides, for other Topics: its
    cluster is the one where it last used what moves.

    :param access: observed uses; they count only for clients that move with a Topic's own binding.
    :param lately: of such clients, only those whose records moved in the last so many seconds; ``None`` for all.
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
    # Sorted by time, so that each Topic's last use wins.
    last = {_use(a): a["cluster"] for a in sorted(uses, key=lambda a: float(a["used_at"]))}
    for (appid, client_id, _, _), cluster in last.items():
        if (appid, client_id) in busy:
            found.setdefault((appid, client_id), set()).add(cluster)
    return found


def _by_topic(plan: Plan, use: dict[str, Any]) -> bool:
    """Whether a use moves although not everything that its client does moves."""
    appid, client_id, kind, resource = _use(use)
    return plan.covers_use(appid, client_id, kind, resource) and not plan.covers(appid, client_id)


def _use(use: dict[str, Any]) -> tuple[str, str, str, str]:
    return use["appid"], use["client_id"], use["kind"], use["resource"]
