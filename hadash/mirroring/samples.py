"""How long samples of lag are kept: all of them for some hours, and of each hour the worst one for a month."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from hadash.mirroring.models import LagHour, LagSample, Mirror, PairLag

HOUR = timedelta(hours=1)


def keep_hours(now: datetime) -> int:
    """Keep of each hour that is over the sample in which a mirror was furthest behind, and in how many it did not run;
    return how many were new.

    Samples whose lag was not known count as the best ones: an hour is unknown only when all of its samples are.
    """
    newest = LagHour.objects.order_by("-at").values_list("at", flat=True).first()
    since = newest or now - timedelta(hours=settings.LAG_KEPT_HOURS)
    until = now.replace(minute=0, second=0, microsecond=0)
    with connection.cursor() as cursor:
        # (For each mirror by itself: the index begins with it, and a whole fleet has millions of samples.)
        cursor.execute(
            "INSERT INTO mirroring_laghour (mirror_id, at, records, seconds, state, partitions, partition_seconds,"
            " down)"
            " SELECT mirror.id, worst.* FROM mirroring_mirror AS mirror CROSS JOIN LATERAL ("
            "SELECT DISTINCT ON (hour) date_bin(%s, at, 'epoch'::timestamptz) AS hour, records, seconds, state,"
            " partitions, partition_seconds, count(*) FILTER (WHERE state = ANY(%s)) OVER"
            " (PARTITION BY date_bin(%s, at, 'epoch'::timestamptz)) AS down FROM mirroring_lagsample"
            " WHERE mirror_id = mirror.id AND at >= date_bin(%s, %s, 'epoch'::timestamptz) AND at < %s"
            " ORDER BY hour, records DESC NULLS LAST) AS worst ON CONFLICT (mirror_id, at) DO NOTHING",
            [HOUR, sorted(Mirror.DOWN), HOUR, HOUR, since, until],  # type: ignore[list-item]
        )
        return int(cursor.rowcount)


def trim(now: datetime) -> int:
    """Delete samples that are older than they are kept, after the worst of each hour has been kept; return how many of
    mirrors.
    """
    keep_hours(now)
    LagHour.objects.filter(at__lt=now - timedelta(days=settings.LAG_HOURS_KEPT_DAYS)).delete()
    before = now - timedelta(hours=settings.LAG_KEPT_HOURS)
    PairLag.objects.filter(at__lt=before).delete()
    deleted, _ = LagSample.objects.filter(at__lt=before).delete()
    return deleted
