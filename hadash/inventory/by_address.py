"""Which cluster a list of bootstrap servers leads to. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hadash.inventory.models import Cluster


def addresses(bootstrap_servers: str) -> frozenset[str]:
    """The addresses in a list of servers.

    >>> sorted(addresses("B:9092, a:9092,"))
    ['a:9092', 'b:9092']
    """
    return frozenset(each.strip().lower() for each in bootstrap_servers.split(",") if each.strip())


def cluster_of(bootstrap_servers: str, clusters: Iterable[Cluster]) -> Cluster | None:
    """The cluster that a list of servers leads to; ``None``: it is not known here, or a Gateway's address."""
    named = addresses(bootstrap_servers)
    return next((each for each in clusters if named & addresses(each.bootstrap_servers)), None)
