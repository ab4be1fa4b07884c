"""A pool does not begin to read a Topic while a switch moves it: its members would read on where nothing is written."""

from __future__ import annotations

from django.db.models import Q

from hadash.inventory.by_address import cluster_of
from hadash.inventory.models import Cluster, Pair
from hadash.pools.acts import Act, Change
from hadash.switching.planning import overlaps
from hadash.switching.refusals import Busy


def refuse_while_moving(change: Change) -> None:
    """:raises Busy: an open switch or a batch holds the Topic that the pool would begin to read.

    It is certain only under :func:`hadash.switching.planning.overlaps.lock`: nobody asks for a switch then.
    """
    if change.act is not Act.ADD_TOPIC:
        return
    servers = str((change.consumer or {}).get("bootstrap.servers", ""))
    cluster = cluster_of(servers, Cluster.objects.all())
    if cluster is None:
        return  # hadash moves nothing there
    for pair in Pair.objects.filter(Q(first=cluster) | Q(second=cluster)):
        for holder in overlaps.holders(pair.name):
            if change.topic in holder.plan.topics:
                raise Busy(holder.sentence)
