"""Samples of what Gateways do: all of them for some hours, and the most of each hour for a month."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from django.conf import settings
from django.db.models import BigIntegerField, FloatField, Max
from django.db.models.functions import Cast, Extract, Floor
from django.utils import timezone

from hadash.inventory.gateway_rates import Counted, Rate, highest, rates, stored
from hadash.inventory.gateways import ask, gateway_members
from hadash.inventory.models import GatewayHour, GatewaySample

log = logging.getLogger(__name__)

HOUR = timedelta(hours=1)


def sample_gateways() -> int:
    """Store the status of every live Gateway; return how many have answered."""
    found = []
    for member in gateway_members():
        if not member.live or member.excluded or not member.admin_url:
            continue
        try:
            found.append(sample_of(member.id, ask(member, "/status"), timezone.now()))
        except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
            log.warning("Gateway %s did not say how it is: %s", member.id, error)
    GatewaySample.objects.bulk_create(found)
    return len(found)


def sample_of(gateway: str, status: Mapping[str, Any], at: datetime) -> GatewaySample:
    """Return the sample of a Gateway from its ``/status``.

    :raises KeyError: a value is missing (the Gateway has an older version).
    """
    requests: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for kind, _cluster, *counts in status["requests"]:
        requests[kind] = [total + count for total, count in zip(requests[kind], counts, strict=True)]
    return GatewaySample(
        gateway=gateway,
        at=at,
        started=datetime.fromtimestamp(status["started"], UTC),
        applied=status["applied"],
        connections=status["connections_by_cluster"],
        reached=status["reached"],
        parked=status["parked"],
        expired=status["expired"],
        overflowed=status["overflowed"],
        refused=status["refused"],
        requests=dict(requests),
        cpu_seconds=status["cpu_seconds"],
        memory_bytes=status["memory_bytes"],
    )


def counted(sample: GatewaySample, newest: int = 0) -> Counted:
    """Return a sample as rates are made of it.

    :param newest: the newest epoch that any Gateway had in effect then.
    """
    return Counted(
        sample.at,
        sample.started,
        sample.connections,
        sample.parked,
        sample.expired,
        sample.overflowed,
        sample.refused,
        sample.requests,
        sample.cpu_seconds,
        sample.memory_bytes,
        max(0, newest - sample.applied),
    )


def rates_within(gateway: str, begin: datetime, end: datetime) -> list[Rate]:
    """Return a Gateway's rates within a time, in order. Two queries."""
    newest = _newest_epochs(begin, end)
    samples = GatewaySample.objects.filter(gateway=gateway, at__gte=begin, at__lt=end).order_by("at")
    return rates([counted(sample, newest.get(_round_of(sample.at), 0)) for sample in samples])


def _round_of(at: datetime) -> int:
    """Return the number of the round in which Gateways were asked at this time."""
    return int(at.timestamp() // settings.GATEWAY_SAMPLE_SECONDS)


def _newest_epochs(begin: datetime, end: datetime) -> dict[int, int]:
    """Return round → the newest epoch that a Gateway had in effect in it, or in an earlier one. One query."""
    seconds = Extract("at", "epoch", tzinfo=UTC, output_field=FloatField())
    rows = (
        GatewaySample.objects.filter(at__gte=begin, at__lt=end)
        .order_by()
        .annotate(round=Cast(Floor(seconds / settings.GATEWAY_SAMPLE_SECONDS), BigIntegerField()))
        .values_list("round")
        .annotate(newest=Max("applied"))
    )
    found: dict[int, int] = {}
    newest = 0
    for number, applied in sorted(rows):
        found[number] = newest = max(newest, applied)
    return found


def keep_hours(now: datetime) -> int:
    """Keep what each Gateway did at most within each hour that is over; return how many hours were new. The rates
    of an hour begin with the last sample before it.
    """
    until = now.replace(minute=0, second=0, microsecond=0)
    first = now - timedelta(hours=settings.SAMPLES_KEPT_HOURS)
    done = set(GatewayHour.objects.filter(at__gte=first).values_list("gateway", "at"))
    sampled = GatewaySample.objects.filter(at__gte=first, at__lt=until)
    new: list[GatewayHour] = []
    for gateway in sampled.values_list("gateway", flat=True).distinct():
        kept = [at for name, at in done if name == gateway]
        since = max(kept) + HOUR if kept else first
        by_hour: dict[datetime, list[Rate]] = defaultdict(list)
        for rate in rates_within(gateway, since - _before(), until):
            hour = rate.at.replace(minute=0, second=0, microsecond=0)
            if hour >= since or not kept:
                by_hour[hour].append(rate)
        new += [
            GatewayHour(gateway=gateway, at=hour, most=stored(highest(found)))
            for hour, found in by_hour.items()
            if (gateway, hour) not in done
        ]
    return len(GatewayHour.objects.bulk_create(new, ignore_conflicts=True))


def _before() -> timedelta:
    """Return how long before an hour its first rate may begin."""
    return timedelta(seconds=4 * settings.GATEWAY_SAMPLE_SECONDS)


def trim(now: datetime) -> None:
    """Delete samples that are older than they are kept, after the most of each hour has been kept."""
    keep_hours(now)
    GatewayHour.objects.filter(at__lt=now - timedelta(days=settings.GATEWAY_HOURS_KEPT_DAYS)).delete()
    GatewaySample.objects.filter(at__lt=now - timedelta(hours=settings.SAMPLES_KEPT_HOURS)).delete()
