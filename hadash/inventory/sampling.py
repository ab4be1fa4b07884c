"""Takes samples of Gateways and clusters, for the charts on their pages."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from django.conf import settings
from django.utils import timezone

from hadash.inventory.gateways import ask, gateway_members
from hadash.inventory.models import Cluster, ClusterSample, ClusterState, GatewaySample

log = logging.getLogger(__name__)

#: Kafka's setting for the number of replicas that have to be in sync for ``acks=all``, and its default.
MIN_ISR, DEFAULT_MIN_ISR = "min.insync.replicas", 1


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


def note_clusters(at: datetime, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Store the state of each cluster in a snapshot.

    :param tables: the tables of the snapshot (:data:`hadash.lake.snapshots.TABLES`).
    """
    clusters = {cluster.name: cluster for cluster in Cluster.objects.all()}
    ClusterState.objects.bulk_create(
        ClusterState(cluster=clusters[row["cluster"]], at=at, **_state(row, tables))
        for row in tables["clusters"]
        if row["cluster"] in clusters and not row["fault"]
    )


def _state(row: Mapping[str, Any], tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    own = [each for each in tables["partitions"] if each["cluster"] == row["cluster"]]
    brokers = [each for each in tables["brokers"] if each["cluster"] == row["cluster"]]
    asked = min_isr_of(row["cluster"], tables["topics"], brokers)
    return {
        "mode": row["mode"],
        "version": row["version"],
        "controller": row["controller"],
        "controller_epoch": row["controller_epoch"],
        "brokers": len(brokers),
        "topics": len({each["topic"] for each in own}),
        "partitions": len(own),
        "leaderless": sum(is_leaderless(each) for each in own),
        "under_replicated": sum(is_under_replicated(each) for each in own),
        "under_min_isr": sum(
            len(each["in_sync"]) < asked.get(each["topic"], DEFAULT_MIN_ISR) for each in own
        ),
    }


def is_leaderless(partition: Mapping[str, Any]) -> bool:
    return partition["leader"] is None or partition["leader"] < 0


def is_under_replicated(partition: Mapping[str, Any]) -> bool:
    return len(partition["in_sync"]) < len(partition["replicas"])


def min_isr_of(
    cluster: str, topics: Iterable[Mapping[str, Any]], brokers: Iterable[Mapping[str, Any]]
) -> dict[str, int]:
    """Return ``min.insync.replicas`` of each Topic of a cluster: its own setting, else that of the brokers (of
    several the highest), else Kafka's default.
    """
    of_brokers = [dict(broker["configs"]).get(MIN_ISR) for broker in brokers]
    default = max((int(value) for value in of_brokers if value), default=DEFAULT_MIN_ISR)
    return {
        row["topic"]: int(dict(row["configs"]).get(MIN_ISR) or default)
        for row in topics
        if row["cluster"] == cluster
    }


def trim() -> None:
    """Delete samples and states that are older than the settings keep them."""
    now = timezone.now()
    recent = now - timedelta(hours=settings.SAMPLES_KEPT_HOURS)
    ClusterSample.objects.filter(at__lt=recent).delete()
    GatewaySample.objects.filter(at__lt=recent).delete()
    long_ago = now - timedelta(days=settings.CLUSTER_STATES_KEPT_DAYS)
    ClusterState.objects.filter(at__lt=long_ago).delete()
