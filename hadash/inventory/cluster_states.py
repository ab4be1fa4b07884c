"""Notes the state of each cluster at each snapshot, for its page: its controller, its partitions, and in how much it
differs from its twin.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.utils import timezone

from hadash.inventory.cluster_differences import differing_of, differing_quotas
from hadash.inventory.models import Cluster, ClusterSample, ClusterState, Pair
from hadash.kafka.values import Quotas

#: Kafka's setting for the number of replicas that have to be in sync for ``acks=all``, and its default.
MIN_ISR, DEFAULT_MIN_ISR = "min.insync.replicas", 1


def note_clusters(
    at: datetime,
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    quotas: Mapping[str, Quotas] = MappingProxyType({}),
) -> None:
    """Store the state of each cluster in a snapshot.

    :param tables: the tables of the snapshot (:data:`hadash.lake.snapshots.TABLES`).
    :param quotas: those of the clusters that have told them, by cluster. (Snapshots have none.)
    """
    clusters = {cluster.name: cluster for cluster in Cluster.objects.all()}
    answered = {row["cluster"] for row in tables["clusters"] if not row["fault"]}
    twins = _twins()
    ClusterState.objects.bulk_create(
        ClusterState(
            cluster=clusters[row["cluster"]],
            at=at,
            **_state(row, tables),
            **_differing(row["cluster"], twins.get(row["cluster"], ""), answered, tables, quotas),
        )
        for row in tables["clusters"]
        if row["cluster"] in clusters and row["cluster"] in answered
    )


def _twins() -> dict[str, str]:
    """Return cluster → the other cluster of its pair; of several pairs that of the first by name."""
    found: dict[str, str] = {}
    for pair in Pair.objects.select_related("first", "second").order_by("name"):
        for cluster in pair.clusters:
            found.setdefault(cluster.name, pair.other(cluster).name)
    return found


def _differing(
    cluster: str,
    twin: str,
    answered: Container[str],
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    quotas: Mapping[str, Quotas],
) -> dict[str, int | None]:
    """Return in how many settings and quotas a cluster differs from its twin; ``None`` where one of them is not
    known.
    """
    both = (cluster, twin)
    of_both = {
        name: [each for each in tables[name] if each["cluster"] in both] for name in ("topics", "brokers")
    }
    return {
        "differing_settings": len(differing_of(cluster, twin, of_both["topics"], of_both["brokers"]))
        if twin in answered
        else None,
        "differing_quotas": len(differing_quotas(quotas[cluster], quotas[twin]))
        if cluster in quotas and twin in quotas
        else None,
    }


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
    long_ago = now - timedelta(days=settings.CLUSTER_STATES_KEPT_DAYS)
    ClusterState.objects.filter(at__lt=long_ago).delete()
