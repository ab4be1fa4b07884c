"""Who is connected through the Gateways, for pages about one pair.

Gateways serve all pairs, and AppIDs are unique only in theirs: what a Gateway says of an AppID may be about another pair's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hadash.bindings.model import GatewayMember
from hadash.dashboard import engines
from hadash.inventory.models import Pair
from hadash.switching.effects import ask_about
from hadash.switching.plan import Plan

#: Connections, and the ids of the Gateways that did not answer.
Answer = tuple[list[dict[str, Any]], list[str]]


def of_appid(pair: Pair, appid: str, gateways: Iterable[GatewayMember]) -> Answer:
    """The connections of an AppID of ``pair``."""
    found, silent = engines.ask_each(gateways, "/clients", "clients", appid=appid)
    return _of_pair(pair, found), silent


def of_plan(pair: Pair, plan: Plan, gateways: Iterable[GatewayMember]) -> Answer:
    """The connections of all AppIDs of a plan of ``pair``, also of those clients that stay."""
    gateways = tuple(gateways)
    silent: set[str] = set()

    def ask(path: str, key: str, **query: Any) -> list[dict[str, Any]]:
        entries, quiet = engines.ask_each(gateways, path, key, **query)
        silent.update(quiet)
        return entries

    found = ask_about(plan, ask, "/clients", "clients")
    return _of_pair(pair, found), sorted(silent)


def _of_pair(pair: Pair, connections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those on clusters of ``pair``."""
    names = {cluster.name for cluster in pair.clusters}
    return [each for each in connections if each["cluster"] in names]
