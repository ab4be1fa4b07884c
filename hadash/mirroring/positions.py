"""Periodically stores the committed offsets of consumer groups, for when their cluster is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime

from django.conf import settings
from django.db import connection
from django.utils import timezone

from hadash.inventory.models import Access, Cluster, Pair
from hadash.inventory.selectors import access_since
from hadash.kafka.cluster import client_for
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.models import GroupPosition, Mirror

#: Groups that one note looks at on a cluster, at most: more than it can read in its time.
MOST_WAITING = 10_000


def note_positions(pair: Pair, clock: Callable[[], float] = time.monotonic) -> int:
    """Store the committed offsets of recently seen groups on the cluster that their Topics are mirrored from;
    return the number of groups.

    Groups that were stored longest ago come first, and those not reached in half of
    ``HADASH_POSITION_NOTE_SECONDS`` are left for the next call: a pair may have very many groups. Each part is
    stored as soon as it is read. Groups that could not be read come last for a while, so that they do not delay
    others.

    :raises KafkaError: the first failure, after all other groups were stored.
    """
    # Half of the interval: a pair with very many groups would otherwise keep its clusters and the worker busy
    # all the time.
    share = settings.POSITION_NOTE_SECONDS / 2 / len(pair.clusters)
    count, failed = 0, None
    for cluster in pair.clusters:
        noted, error = _note(pair, cluster, share, clock)
        count, failed = count + noted, failed or error
    if failed is not None:
        raise failed
    return count


def _note(
    pair: Pair, cluster: Cluster, seconds: float, clock: Callable[[], float]
) -> tuple[int, KafkaError | None]:
    """Store the offsets on one cluster; return the number of groups, and the first error."""
    until = clock() + seconds
    copied = Mirror.objects.filter(pair=pair, source=cluster).values_list("topics", flat=True)
    mirrored = {topic for topics in copied for topic in topics}
    waiting = _waiting(pair, cluster, _unread_now(cluster, clock())) if mirrored else []
    count, failed = 0, None
    for first in range(0, len(waiting), settings.POSITION_GROUPS_AT_ONCE):
        part = waiting[first : first + settings.POSITION_GROUPS_AT_ONCE]
        try:
            count += _note_some(pair, cluster, part, mirrored)
        except KafkaError as error:
            failed = failed or error
            _UNREAD.setdefault(cluster.pk, {}).update(dict.fromkeys(part, clock()))
        if clock() >= until:
            break
    return count, failed


def _waiting(pair: Pair, cluster: Cluster, unread: set[str]) -> list[str]:
    """Return the groups whose offsets are to be stored next, at most :data:`MOST_WAITING`.

    Those that were never stored come first, then those that were stored longest ago; ``unread`` ones come last.
    PostgreSQL chooses them: to sort the groups of a large pair here would take the time in which they could be read.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT seen.resource FROM (
                SELECT DISTINCT resource FROM inventory_access
                WHERE pair_id = %(pair)s AND cluster = %(name)s AND kind = %(kind)s AND last_seen >= %(since)s
            ) AS seen LEFT JOIN mirroring_groupposition AS noted
                ON noted.pair_id = %(pair)s AND noted.cluster_id = %(cluster)s AND noted."group" = seen.resource
            ORDER BY seen.resource = ANY(%(unread)s), noted.at NULLS FIRST, seen.resource LIMIT %(most)s
            """,
            {
                "pair": pair.pk,
                "name": cluster.name,
                "kind": Access.Kind.GROUP.value,
                "since": access_since(),
                "cluster": cluster.pk,
                "unread": sorted(unread),
                "most": MOST_WAITING,
            },
        )
        return [group for (group,) in cursor.fetchall()]


#: By cluster, groups that could not be read, and when that was last tried. It is local to this process, which
#: suffices to let other groups go first.
_UNREAD: dict[int, dict[str, float]] = {}


def _unread_now(cluster: Cluster, now: float) -> set[str]:
    """Return the groups that could not be read within ``POSITION_AGAIN_SECONDS``."""
    known = _UNREAD.get(cluster.pk, {})
    _UNREAD[cluster.pk] = {g: at for g, at in known.items() if now - at < settings.POSITION_AGAIN_SECONDS}
    return set(_UNREAD[cluster.pk])


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
    """Return the stored commits of ``groups`` on ``cluster`` by group (unknown groups are missing), and the
    time of the oldest of them.
    """
    rows = list(GroupPosition.objects.filter(pair=pair, cluster=cluster, group__in=list(groups)))
    found = {
        row.group: {Partition(t, p): Committed(*commit) for t, p, *commit in row.offsets} for row in rows
    }
    return found, min((row.at for row in rows), default=None)


def trim_positions() -> int:
    """Delete positions that were last stored before the access window; return how many."""
    deleted, _ = GroupPosition.objects.filter(at__lt=access_since()).delete()
    return deleted
