"""Where consumer groups stand, noted again and again: all that is known of it when their cluster is lost."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone

from hadash.inventory.models import Access, Cluster, Pair
from hadash.inventory.selectors import access_since
from hadash.kafka.cluster import client_for
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.models import GroupPosition, Mirror


def note_positions(pair: Pair) -> int:
    """Note the committed offsets of every group that was seen lately, on the cluster that its Topics are mirrored from; how
    many groups those are.

    :raises KafkaError: a cluster does not answer. What was noted before stands.
    """
    return sum(_note(pair, cluster) for cluster in pair.clusters)


def _note(pair: Pair, cluster: Cluster) -> int:
    mirrored = {topic for m in Mirror.objects.filter(pair=pair, source=cluster) for topic in m.topics}
    seen = Access.objects.filter(
        pair=pair, cluster=cluster.name, kind=Access.Kind.GROUP, last_seen__gte=access_since()
    )
    groups = sorted(set(seen.order_by().values_list("resource", flat=True)))
    if not mirrored or not groups:
        return 0
    now = timezone.now()
    found = client_for(cluster.access).group_commits(groups)
    rows = [
        GroupPosition(
            pair=pair,
            cluster=cluster,
            group=group,
            offsets=[
                [p.topic, p.partition, *commit]
                for p, commit in sorted(commits.items())
                if p.topic in mirrored
            ],
            at=now,
        )
        for group, commits in found.items()
    ]
    GroupPosition.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["pair", "cluster", "group"],
        update_fields=["offsets", "at"],
    )
    return len(rows)


def positions_of(
    pair: Pair, cluster: Cluster, groups: Iterable[str]
) -> tuple[dict[str, dict[Partition, Committed]], datetime | None]:
    """What was noted last of ``groups`` on ``cluster``: commits by group (a group of which nothing is known is missing), and
    the time of the oldest of these notes."""
    rows = list(GroupPosition.objects.filter(pair=pair, cluster=cluster, group__in=list(groups)))
    found = {
        row.group: {Partition(t, p): Committed(*commit) for t, p, *commit in row.offsets} for row in rows
    }
    return found, min((row.at for row in rows), default=None)


def trim_positions() -> int:
    """Forget the groups that were not seen for as long as access is kept."""
    deleted, _ = GroupPosition.objects.filter(at__lt=access_since()).delete()
    return deleted
