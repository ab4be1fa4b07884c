"""All worlds, by their names."""

from __future__ import annotations

from hadash_sandbox.clients import libraries
from hadash_sandbox.recording import ways
from hadash_sandbox.world import WORLDS, World, batch


def world_named(name: str) -> World:
    """The world with this name.

    :param name: one of :data:`WORLDS`; ``libraries:NAME,NAME`` for clients of these libraries; ``recording``; or
        ``batch-N`` for a :func:`batch` of N InstanceIDs.
    """
    if name == "recording":
        return ways.world(ways.ways())
    if name.startswith("libraries:"):
        return libraries.world(name.removeprefix("libraries:").split(","))
    return batch(int(name.removeprefix("batch-"))) if name.startswith("batch-") else WORLDS[name]
