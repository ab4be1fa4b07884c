"""Mirrors of single Topics: nodes ``/config/ha-topics/<Topic>`` in the *destination's* tree (docs/didi-engine.md 1.2).

The key :data:`REMOTE_CLUSTER` turns a mirror on: while it is present, the destination's brokers copy the Topic from
that cluster and refuse its producers (NOT_LEADER_FOR_PARTITION). Other keys of the node stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hadash.bindings.didi.names import sanitized
from hadash.bindings.didi.nodes import HA_TOPICS, REMOTE_CLUSTER, SYNC_CONFIGS, ConfigNode
from hadash.bindings.didi.trees import Fence, Tree
from hadash.bindings.errors import BindingConflict
from hadash.sentences import say

#: The keys that DiDi's platform sets together with :data:`REMOTE_CLUSTER`, and removes with it (1.2).
WITH_A_MIRROR: Mapping[str, str] = {SYNC_CONFIGS: "true"}


def source_of(tree: Tree, topics: Sequence[str]) -> dict[str, str | None]:
    """Return by Topic the id of the cluster from which ``tree``'s brokers copy it; ``None`` for no mirror."""
    held = tree.read(HA_TOPICS, [sanitized(topic) for topic in topics])
    return {topic: held[sanitized(topic)].node.config.get(REMOTE_CLUSTER) for topic in topics}


def start(source: Tree, destination: Tree, topics: Sequence[str], fence: Fence) -> None:
    """Let ``destination`` copy ``topics`` from ``source``.

    The engine does not accept another source for a running mirror, so the mirror is removed first, then added (1.2).

    :raises BindingConflict: ``source`` itself copies a Topic from ``destination``, a loop. Nothing was changed.
    """
    _refuse_loops(source, destination, topics)
    elsewhere = [
        t for t, held in source_of(destination, topics).items() if held not in (None, source.cluster_id)
    ]
    if elsewhere:
        stop(destination, elsewhere, fence)

    def started(name: str, node: ConfigNode) -> ConfigNode:
        return node.with_keys({**WITH_A_MIRROR, REMOTE_CLUSTER: source.cluster_id})

    destination.write(HA_TOPICS, [sanitized(topic) for topic in topics], started, fence)


def stop(destination: Tree, topics: Sequence[str], fence: Fence) -> None:
    """Stop mirroring ``topics`` to ``destination``. Its brokers raise the Topics' leader epochs by one (section 2)."""

    def stopped(name: str, node: ConfigNode) -> ConfigNode:
        return node.with_keys({REMOTE_CLUSTER: None, **dict.fromkeys(WITH_A_MIRROR)})

    destination.write(HA_TOPICS, [sanitized(topic) for topic in topics], stopped, fence)


def turn(active: Tree, standby: Tree, topics: Sequence[str], fence: Fence) -> None:
    """Let ``standby`` copy ``topics`` from ``active``, which copied them before.

    These are steps 103 and 104 of DiDi's own job (3.1), in this order, so that no record is copied back.
    """
    stop(active, topics, fence)
    start(active, standby, topics, fence)


def _refuse_loops(source: Tree, destination: Tree, topics: Sequence[str]) -> None:
    loops = sorted(t for t, held in source_of(source, topics).items() if held == destination.cluster_id)
    if loops:
        raise BindingConflict(
            say(
                "%(source)s copies %(topics)s from %(destination)s: both ways at once would be a loop.",
                source=source.name,
                topics=", ".join(loops),
                destination=destination.name,
            )
        )
