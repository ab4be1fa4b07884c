"""Where consumer groups stand, noted again and again: all that is known of it when their cluster is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from hadash.inventory.models import Access, Cluster, Pair
from hadash.inventory.selectors import access_since
from hadash.kafka.cluster import client_for
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.models import GroupPosition, Mirror


def note_positions(pair: Pair, clock: Callable[[], float] = time.monotonic) -> int:
    """Note the committed offsets of groups that were seen lately, on the cluster that their Topics are
    mirrored from; how many groups those are.

    Those that were noted longest ago come first, and what is not reached in ``HADASH_POSITION_NOTE_SECONDS``
    is the next look's: a pair may have very many groups, and each part that was read is kept whatever becomes
    of the others.

    :raises KafkaError: a cluster does not answer. What was noted before stands.
    """
    share = settings.POSITION_NOTE_SECONDS / len(pair.clusters)
    return sum(_note(pair, cluster, share, clock) for cluster in pair.clusters)


def _note(pair: Pair, cluster: Cluster, seconds: float, clock: Callable[[], float]) -> int:
    until = clock() + seconds
    mirrored = {topic for m in Mirror.objects.filter(pair=pair, source=cluster) for topic in m.topics}
    seen = Access.objects.filter(
        pair=pair, cluster=cluster.name, kind=Access.Kind.GROUP, last_seen__gte=access_since()
    )
    groups = set(seen.order_by().values_list("resource", flat=True))
    if not mirrored or not groups:
        return 0
    before = GroupPosition.objects.filter(pair=pair, cluster=cluster).values_list("group", "at")
    noted = {group: at for group, at in before.iterator() if group in groups}
    # (Those that were never noted first of all.)
    waiting = sorted(groups, key=lambda group: (group in noted, noted.get(group), group))
    count = 0
    for first in range(0, len(waiting), settings.POSITION_GROUPS_AT_ONCE):
        count += _note_some(
            pair, cluster, waiting[first : first + settings.POSITION_GROUPS_AT_ONCE], mirrored
        )
        if clock() >= until:
            break
    return count


def _note_some(pair: Pair, cluster: Cluster, groups: list[str], mirrored: set[str]) -> int:
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
    """What was noted last of ``groups`` on ``cluster``: commits by group (a group of which nothing is known
    is missing), and the time of the oldest of these notes.
    """
    rows = list(GroupPosition.objects.filter(pair=pair, cluster=cluster, group__in=list(groups)))
    found = {
        row.group: {Partition(t, p): Committed(*commit) for t, p, *commit in row.offsets} for row in rows
    }
    return found, min((row.at for row in rows), default=None)


def trim_positions() -> int:
    """Forget the groups that were not seen for as long as access is kept."""
    deleted, _ = GroupPosition.objects.filter(at__lt=access_since()).delete()
    return deleted
