"""The clients that are connected through the Gateways, for pages about one pair.

Gateways serve all pairs, and AppIDs are unique only within a pair: a Gateway's answer about an AppID may
concern another pair's AppID of the same name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hadash.bindings.model import GatewayMember
from hadash.inventory.models import Pair
from hadash.presentation import engines
from hadash.switching.execution.connections import ask_about, connected
from hadash.switching.plan import Plan
from hadash.switching.planning.connected import Name

#: (connections, ids of the Gateways that did not answer).
Answer = tuple[list[dict[str, Any]], list[str]]


def of_appid(pair: Pair, appid: str, gateways: Iterable[GatewayMember]) -> Answer:
    """Return the connections of an AppID of ``pair``."""
    found, silent = engines.ask_each(gateways, "/clients", "clients", appid=appid)
    return _of_pair(pair, found), silent


def of_plan(pair: Pair, plan: Plan, gateways: Iterable[GatewayMember]) -> Answer:
    """Return the connections of all AppIDs of a plan of ``pair``, also those of clients that stay."""
    ask = _Asking(gateways)
    return _of_pair(pair, ask_about(plan, ask, "/clients", "clients")), sorted(ask.silent)


def moving(
    pair: Pair, plan: Plan, gateways: Iterable[GatewayMember]
) -> tuple[dict[Name, set[str]], list[str]]:
    """Return (the connected clients that a plan moves → their clusters, ids of the Gateways that did not answer)."""
    ask = _Asking(gateways)
    return connected(plan, ask), sorted(ask.silent)


class _Asking:
    """Asks each Gateway, and remembers which of them did not answer."""

    def __init__(self, gateways: Iterable[GatewayMember]) -> None:
        self._gateways = tuple(gateways)
        self.silent: set[str] = set()

    def __call__(self, path: str, key: str, **query: Any) -> list[dict[str, Any]]:
        entries, quiet = engines.ask_each(self._gateways, path, key, **query)
        self.silent.update(quiet)
        return entries


def by_cluster(connections: Iterable[Mapping[str, Any]]) -> tuple[dict[str, int], dict[str, int]]:
    """Count one client's connections by cluster: (those in use, those left open on the cluster that it moved from).

    A client that has only left-open connections has not arrived anywhere else yet: they count as in use.

    :param connections: the connections of one client.
    """
    here: Counter[str] = Counter()
    left_open: Counter[str] = Counter()
    for connection in connections:
        (left_open if connection.get("away") else here)[connection["cluster"]] += 1
    return (dict(here), dict(left_open)) if here else (dict(left_open), {})


def _of_pair(pair: Pair, connections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the connections to clusters of ``pair``."""
    names = {cluster.name for cluster in pair.clusters}
    return [each for each in connections if each["cluster"] in names]
