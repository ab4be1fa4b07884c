"""Reads what auditors have noted. Nothing here changes anything."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Count, F, QuerySet, Sum
from django.utils import timezone

from hadash.auditing.findings import Kind
from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.auditors.proofs import Standing, standing_of
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror


def audited(mirror: Mirror) -> QuerySet[AuditedPartition]:
    """Return the partitions of a mirror that auditors know."""
    return AuditedPartition.objects.filter(pair=mirror.pair_id, topic__in=mirror.topics)


def standing(mirror: Mirror) -> Standing:
    """Return what the audit of a mirror says. One query."""
    expected = {Partition(topic, number) for topic, number, _ in mirror.known_ends}
    return standing_of(
        list(audited(mirror).select_related("source").defer("windows")),
        expected,
        timezone.now(),
        settings.AUDIT_STALE_SECONDS,
    )


def stops_switches(mirror: Mirror) -> bool:
    """Whether what was found stops a switch: records that are missing, altered or in another order; and more records
    too many than a Connect worker that died is known to have copied again, which a switch allows for. (Drain and
    translate check by themselves what offsets that have shifted alone would do.)
    """
    counts = dict(
        AuditDifference.objects.filter(audited__in=audited(mirror), acceptance=None)
        .values_list("kind")
        .annotate(Count("pk"))
        .order_by()
    )
    known = mirror.syncs.aggregate(known=Sum(F("source_repeated") + F("target_repeated")))["known"] or 0
    harmless = {Kind.EXTRA.value, Kind.OFFSETS.value}
    return bool(counts.keys() - harmless) or counts.get(Kind.EXTRA.value, 0) > known


def differences_by_pair() -> dict[int, int]:
    """Return the number of differences that nobody has accepted, of each pair that has any, by its key. Cheap: every
    overview asks for it.
    """
    differing = AuditedPartition.objects.filter(different__gt=0).filter(different__gt=F("accepted"))
    found = differing.values_list("pair").annotate(open_ones=Sum(F("different") - F("accepted")))
    return dict(found.order_by())


def differing_topics() -> dict[int, list[str]]:
    """Return the Topics with differences that nobody has accepted, of each pair that has any, by its key."""
    differing = AuditedPartition.objects.filter(different__gt=0).filter(different__gt=F("accepted"))
    found: dict[int, list[str]] = {}
    for pair, topic in differing.values_list("pair", "topic").distinct().order_by():
        found.setdefault(pair, []).append(topic)
    return found


def differences(mirror: Mirror) -> QuerySet[AuditDifference]:
    """Return the differences of a mirror, the newest first, with their partitions and why they are accepted."""
    return AuditDifference.objects.filter(
        audited__pair=mirror.pair_id, audited__topic__in=mirror.topics
    ).select_related("audited", "acceptance__by")
