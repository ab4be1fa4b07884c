"""What becomes of consumer pools when a backup of ZooKeeper is restored. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hadash.bindings import layout
from hadash.coordinator.documents import DocumentError, StateDocument
from hadash.coordinator.pool import PoolSettings


def stopped(nodes: Mapping[str, bytes], by: str, reason: str) -> dict[str, bytes]:
    """Return the nodes of a backup with all pools stopped: since then switches may have moved what they read, and their
    members would read on where nothing is written any more.

    How far changes of assignments had come is forgotten: the members of then are gone. A pool whose settings cannot be
    read stays as it is: nothing is done with it.
    """
    found = dict(nodes)
    for path, value in nodes.items():
        match path.split("/"):
            case ["", top, _pool, "settings"] if f"/{top}" == layout.CONSUMERS:
                try:
                    settings = PoolSettings.parse(path, value)
                except DocumentError:
                    continue
                found[path] = replace(settings, is_stopped=True, by=by, reason=reason).to_bytes()
            case ["", top, _pool, "state", _topic] if f"/{top}" == layout.CONSUMERS:
                found[path] = StateDocument().to_bytes()
    return found


def pools_of(nodes: Mapping[str, bytes]) -> int:
    """Return how many pools a backup has."""
    return sum(path.count("/") == 2 and path.startswith(f"{layout.CONSUMERS}/") for path in nodes)
