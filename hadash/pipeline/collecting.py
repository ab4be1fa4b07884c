"""Takes a snapshot: writes the state of every cluster, and hadash's own data, at one moment to the lake
(:mod:`hadash.lake.snapshots`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from hadash.bindings.model import BindingDocument
from hadash.bindings.store import BindingStore
from hadash.inventory import cluster_states
from hadash.inventory.gateways import zookeeper
from hadash.inventory.models import AppID, Cluster, Declaration, InstanceID, Pair
from hadash.kafka.errors import KafkaError
from hadash.kafka.survey import Survey, survey
from hadash.kafka.values import Quotas
from hadash.lake import generated, snapshots
from hadash.lake.store import Store
from hadash.mirroring.models import LagSample, Mirror, WriteDenial
from hadash.mirroring.services import cluster_client
from hadash.sentences import written
from hadash.switching import policy

log = logging.getLogger(__name__)

Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True)
class Taken:
    """A snapshot that was taken. ``rows``: the number of rows by table. ``away``: clusters that did not answer;
    ``lacking``: sentences about other data that could not be read.
    """

    at: datetime
    rows: dict[str, int]
    away: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)


def take(store: Store, tell: Callable[[str, int, int], None] = lambda step, done, total: None) -> Taken:
    """Collect a snapshot and write it. Clusters are asked one after the other; a cluster that does not answer
    is marked as such. The data of generated clusters are read from the lake.

    :param tell: called with the current step, the number of clusters done, and their total.
    :raises OSError: the lake cannot be written to.
    :raises StoreUnavailable: ZooKeeper does not answer, so the bindings are not known. No snapshot is made
        then.
    """
    at = timezone.now()
    before = snapshots.newest(store)
    tables: Tables = {name: [] for name in snapshots.TABLES}
    away: list[str] = []
    lacking: list[str] = []
    quotas: dict[str, Quotas] = {}
    clusters = list(Cluster.objects.filter(generated=False))
    made_up = [generated.tables(store, c.name) for c in Cluster.objects.filter(generated=True)]
    for done, cluster in enumerate(clusters):
        tell(cluster.name, done, len(clusters))
        try:
            found = survey(cluster_client(cluster), _zookeeper_of(cluster))
        except KafkaError as error:
            log.warning("the snapshot lacks cluster %s: %s", cluster, error)
            away.append(cluster.name)
            tables["clusters"].append({"cluster": cluster.name, "fault": written(error.sentence)})
        else:
            lacking += found.lacking
            lacking += _note_quotas(cluster, quotas)
            _add(tables, of_cluster(cluster.name, found, _own_denials(cluster)))
        tables["own_users"] += [
            {"cluster": cluster.name, "user": user}
            for user in sorted({cluster.admin_username, cluster.mirror_username})
        ]
    tell("hadash", len(clusters), len(clusters))
    _add(tables, _known())
    tables["lag"] = list(_lag(before.at if before else None, at))
    snapshots.write(store, at, tables, made_up)
    cluster_states.note_clusters(at, tables, quotas)
    rows = {
        name: len(known) + sum(len(each[name]) for each in made_up if name in each)
        for name, known in tables.items()
    }
    return Taken(at, rows, away, lacking)


def _note_quotas(cluster: Cluster, quotas: dict[str, Quotas]) -> list[str]:
    """Add the quotas of a cluster to ``quotas``; return why they are not known, if so."""
    try:
        quotas[cluster.name] = cluster_client(cluster).quotas()
    except KafkaError as error:
        return [written(error.sentence)]
    return []


def _add(tables: Tables, more: Tables) -> None:
    for name, rows in more.items():
        tables[name] += rows


# -- clusters ----------------------------------------------------------------------------------------------------


def _zookeeper_of(cluster: Cluster) -> str:
    """Return the hosts of a cluster's own ZooKeeper: as registered, or as registered for DiDi's engine; else
    empty.
    """
    if cluster.zookeeper_hosts:
        return cluster.zookeeper_hosts
    pairs = Pair.objects.filter(dialect=Pair.Dialect.DIDI)
    found = (pair.didi_zookeeper.get(cluster.name, "") for pair in pairs if cluster in pair.clusters)
    return next((hosts for hosts in found if hosts), "")


def _own_denials(cluster: Cluster) -> set[tuple[str, str]]:
    """Return (Topic, principal) of the rules that hadash has made on a cluster."""
    return set(WriteDenial.objects.filter(cluster=cluster).values_list("topic", "principal"))


def of_cluster(cluster: str, found: Survey, own_denials: set[tuple[str, str]]) -> Tables:
    """Return the rows of one cluster that has answered. Pure."""
    return {
        "clusters": [
            {
                "cluster": cluster,
                "kafka_cluster_id": found.cluster_id,
                "mode": "kraft" if found.engine.kraft else "zookeeper",
                "version": found.engine.version,
                "controller": found.controller,
                "controller_epoch": found.epoch,
                "fault": "",
                "authorizer": found.acls is not None,
            }
        ],
        "brokers": [
            {
                "cluster": cluster,
                "broker": broker.id,
                "host": broker.host,
                "port": broker.port,
                "rack": broker.rack,
                "configs": found.broker_configs.get(broker.id, {}),
            }
            for broker in found.brokers
        ],
        "topics": [
            {"cluster": cluster, "topic": topic, "configs": configs}
            for topic, configs in found.topic_configs.items()
        ],
        "partitions": [
            {
                "cluster": cluster,
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "leader": each.leader,
                "replicas": list(each.replicas),
                "in_sync": list(each.in_sync),
            }
            for each in found.partitions
        ],
        "acls": [
            {
                "cluster": cluster,
                "resource_type": acl.resource_type,
                "resource": acl.resource,
                "pattern": acl.pattern,
                "principal": acl.principal,
                "host": acl.host,
                "operation": acl.operation,
                "permission": acl.permission,
                "by_hadash": acl.permission == "DENY"
                and acl.operation == "WRITE"
                and acl.resource_type == "TOPIC"
                and (acl.resource, acl.principal) in own_denials,
            }
            for acl in sorted(found.acls or ())
        ],
        "users": [
            {"cluster": cluster, "user": user, "mechanisms": sorted(mechanisms)}
            for user, mechanisms in sorted(found.users.items())
        ],
        "groups": [
            {
                "cluster": cluster,
                "group": group.name,
                "state": group.state,
                "protocol": group.protocol,
                "coordinator": group.coordinator,
            }
            for group in found.groups.values()
        ],
        "members": [
            {
                "cluster": cluster,
                "group": group.name,
                "member_id": member.member_id,
                "client_id": member.client_id,
                "host": member.host,
                "partitions": [str(partition) for partition in member.partitions],
                "topics": None if member.topics is None else list(member.topics),
            }
            for group in found.groups.values()
            for member in group.members
        ],
    }


# -- hadash's own data -------------------------------------------------------------------------------------------


def _known() -> Tables:
    pairs = list(Pair.objects.select_related("first", "second", "default"))
    pairs_of_appid: dict[str, list[str]] = {}
    for name, pair in AppID.objects.values_list("name", "pair__name"):
        pairs_of_appid.setdefault(name, []).append(pair)
    mirrors = Mirror.objects.select_related("pair__first", "pair__second", "source")
    return {
        "pairs": [
            {
                "pair": pair.name,
                "first": pair.first.name,
                "second": pair.second.name,
                "default": pair.default.name,
                "dialect": pair.dialect,
                "rpo_seconds": policy.rpo_of(pair),
                "quiesce_seconds": policy.limits_of(pair).quiesce,
            }
            for pair in pairs
        ],
        "appids": list(
            _named(
                AppID.objects.values_list("pair__name", "name", "owner", "critical"),
                "pair",
                "appid",
                "owner",
                "critical",
            )
        ),
        "instances": list(
            _named(
                InstanceID.objects.values_list("appid__pair__name", "appid__name", "name"),
                "pair",
                "appid",
                "name",
            )
        ),
        "declarations": list(
            _named(
                Declaration.objects.values_list(
                    "appid__pair__name", "appid__name", "instance_id", "kind", "resource"
                ),
                "pair",
                "appid",
                "name",
                "kind",
                "resource",
            )
        ),
        "documents": list(_documents(BindingStore(zookeeper()).all_documents(), pairs_of_appid)),
        "mirrors": [
            {
                "pair": mirror.pair.name,
                "mirror": mirror.name,
                "source": mirror.source.name,
                "target": mirror.target.name,
                "topics": mirror.topics,
                # (While a switch turns it round it is stopped for a moment, which is not a fault.)
                "state": Mirror.State.TURNING.value if mirror.turning else mirror.state,
                "fault": written(mirror.fault),
            }
            for mirror in mirrors
        ],
    }


def _named(rows: QuerySet[Any, Any], *names: str) -> Iterator[Row]:
    """Yield tuples of values as rows of a table. (A fleet may have a million declarations: they are read in
    pieces.)
    """
    for row in rows.iterator():
        yield dict(zip(names, row, strict=True))


def _documents(
    documents: dict[str, BindingDocument | None], pairs_of_appid: dict[str, list[str]]
) -> Iterator[Row]:
    """Yield the rows of binding documents, without those that cannot be read or whose AppID is in no pair."""
    for appid, document in documents.items():
        if document is not None:
            for pair in pairs_of_appid.get(appid, ()):
                yield {"pair": pair, "appid": appid, "content": document.to_bytes().decode()}


def _lag(since: datetime | None, until: datetime) -> Iterator[Row]:
    """Yield the lag samples of all mirrors since the previous snapshot: each is in one snapshot."""
    found = LagSample.objects.filter(at__lte=until)
    if since is not None:
        found = found.filter(at__gt=since)
    rows = found.order_by("at").values_list("mirror__pair__name", "mirror__name", "at", "records", "seconds")
    return _named(rows, "pair", "mirror", "at", "records", "seconds")
