"""A pool does not begin to read a Topic while a switch moves it: its members would read on where nothing is written.
And what an open switch holds is let go by it alone.
"""

from __future__ import annotations

from django.db.models import Q

from hadash.coordinator.pool_view import PoolView
from hadash.inventory.by_address import cluster_of
from hadash.inventory.models import Cluster, Pair
from hadash.pools.actions import Action, Change
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.models.switches import Switch
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy


def pairs_read_by(change: Change) -> list[Pair]:
    """The pairs with the cluster of which a pool would begin to read a Topic; none for other changes."""
    if change.action is not Action.ADD_TOPIC:
        return []
    servers = str((change.consumer or {}).get("bootstrap.servers", ""))
    cluster = cluster_of(servers, Cluster.objects.all())
    if cluster is None:
        return []  # hadash moves nothing there
    return list(Pair.objects.filter(Q(first=cluster) | Q(second=cluster)))


def refuse_while_moving(change: Change) -> None:
    """:raises Busy: an open switch or a batch holds the Topic that the pool would begin to read.

    It is certain only under :func:`hadash.switching.planning.overlaps.lock`: nobody asks for a switch then.
    """
    for pair in pairs_read_by(change):
        for holder in overlaps.holders(pair.name):
            if change.topic in holder.plan.topics:
                raise Busy(holder.sentence)


def refuse_what_goes_on(change: Change, view: PoolView | None) -> None:
    """:raises Refused: the Topic that is to be read again is held by a switch that can still let it go by itself.

    :param view: the pool as it is; ``None``: there is none.
    """
    hold = view.holds.get(change.topic) if view is not None and change.action is Action.RELEASE else None
    if hold is None:
        return
    found = Switch.objects.filter(key=hold[0].switch).first()
    if found is not None and found.open:
        raise Refused(
            say(
                "Switch %(switch)s is not over: it lets the Topic be read again by itself. Look at it.",
                switch=found.key,
            )
        )
