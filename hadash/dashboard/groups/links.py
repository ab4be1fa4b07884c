"""Where the page of a group leads on to: the graph, and the AppIDs whose clients are its members."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hadash.dashboard.graph.nodes import Focus
from hadash.inventory.models import Access, AppID, Cluster, Pair
from hadash.radius.nodes import GROUP, TOPIC

#: AppIDs that are named, at most; the graph has all.
NAMED = 12


@dataclass(frozen=True, slots=True)
class Around:
    """The surroundings of a group.

    :param focus: the group in the graph. :param appids: those seen as its members, in order, with their numbers.
    :param more: how many there are beyond these.
    """

    focus: Focus
    appids: list[tuple[str, int]]
    more: int

    def topic(self, name: str) -> str:
        """Return the address of a Topic of the group in the graph."""
        return Focus(self.focus.pair, TOPIC, name=name).href


def around(pairs: Iterable[Pair], cluster: Cluster, name: str) -> Around | None:
    """Return what leads on from a group; ``None`` for a cluster of no pair. Two queries.

    :param pairs: those that the user may see.
    """
    of = next((pair for pair in pairs if cluster in pair.clusters), None)
    if of is None:
        return None
    members = Access.objects.filter(pair=of, kind=Access.Kind.GROUP, resource=name, cluster=cluster.name)
    found = AppID.objects.filter(pair=of, name__in=members.values("appid")).order_by("name")
    named = list(found.values_list("name", "pk")[: NAMED + 1])
    more = found.count() - NAMED if len(named) > NAMED else 0
    return Around(Focus(of.name, GROUP, name=name), named[:NAMED], more)
