"""The answers of a generated fleet's clusters, as the tables of a snapshot (:mod:`hadash.lake.snapshots`). Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hadash.lake.snapshots import TABLES
from hadash_sandbox.fleet.model import CONSUME, GROUP, PRODUCE, Fleet, Numbers, Side

#: Brokers of each cluster, replicas of each partition, and partitions of a Topic that is shared.
BROKERS, REPLICAS, SHARED_PARTITIONS = 9, 3, 6
#: Share of partitions that lack an in-sync replica.
UNDER_REPLICATED = 0.0005
#: Share of AppIDs that have rights on their own cluster only.
LACKING_RIGHTS = 0.015
#: Members of one group that are listed, at most.
MOST_MEMBERS = 20

_CONFIGS = {
    "group.min.session.timeout.ms": "6000",
    "group.max.session.timeout.ms": "1800000",
    "min.insync.replicas": "2",
}


def tables_of(fleet: Fleet, names: Side, side: int) -> dict[str, pa.Table]:
    """All tables of one cluster.

    :param side: 0 for the first cluster, 1 for the second.
    """
    cluster = names.clusters[side]
    topics = _topics_on(fleet, side)
    return {
        "clusters": cluster_row(names, side),
        "brokers": _rows(
            "brokers",
            [
                {
                    "cluster": cluster,
                    "broker": broker,
                    "host": f"{cluster}-{broker}.example",
                    "port": 9092,
                    "rack": f"rack-{broker % 3}",
                    "configs": list(_CONFIGS.items()),
                }
                for broker in range(1, BROKERS + 1)
            ],
        ),
        "topics": _topics(fleet, cluster, topics),
        "partitions": _partitions(fleet, cluster, topics),
        "acls": _acls(fleet, cluster, side),
        **_groups(fleet, cluster, side),
    }


def cluster_row(names: Side, side: int, controller_epoch: int = 41) -> pa.Table:
    """The cluster's row of the table ``clusters``."""
    cluster = names.clusters[side]
    row = {
        "cluster": cluster,
        "kafka_cluster_id": f"id-{cluster}",
        "mode": "kraft",
        "version": "3.9",
        "controller": 1,
        "controller_epoch": controller_epoch,
        "fault": "",
        "authorizer": True,
    }
    return _rows("clusters", [row])


def _rows(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=TABLES[name])


def _topics_on(fleet: Fleet, side: int) -> Numbers:
    """The Topics on one cluster: those of AppIDs there, mirrored ones, and on the first cluster all shared ones."""
    own = np.repeat(fleet.side, fleet.topics)
    there = np.concatenate((own, np.zeros(len(fleet.topic_names) - len(own), np.int64))) == side
    for carried, _ in fleet.mirrors.values():
        there[carried] = True
    return np.flatnonzero(there)


def _topics(fleet: Fleet, cluster: str, topics: Numbers) -> pa.Table:
    names = pa.array(fleet.topic_names).take(pa.array(topics))
    settings = pa.array([[("retention.ms", "604800000")]], TABLES["topics"].field("configs").type)
    return pa.table(
        {
            "cluster": _same(cluster, len(topics)),
            "topic": names,
            "configs": settings.take(pa.array(np.zeros(len(topics), np.int64))),
        }
    )


def _partitions(fleet: Fleet, cluster: str, topics: Numbers) -> pa.Table:
    own = int(fleet.topics.sum())
    counts = np.where(topics < own, 1, SHARED_PARTITIONS)
    of_topic = np.repeat(topics, counts)
    number = np.arange(len(of_topic)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = (of_topic * 7 + number) % BROKERS
    replicas = np.stack([(first + place) % BROKERS + 1 for place in range(REPLICAS)], axis=1)
    random = np.random.default_rng(fleet.size.seed)
    in_sync = np.where(random.random(len(of_topic)) < UNDER_REPLICATED, REPLICAS - 1, REPLICAS)
    kept = np.arange(REPLICAS)[None, :] < in_sync[:, None]
    ends = np.concatenate(([0], np.cumsum(in_sync)))
    return pa.table(
        {
            "cluster": _same(cluster, len(of_topic)),
            "topic": pa.array(fleet.topic_names).take(pa.array(of_topic)),
            "partition": pa.array(number),
            "leader": pa.array(replicas[:, 0]),
            "replicas": _lists(np.arange(len(of_topic) + 1) * REPLICAS, replicas.ravel()),
            "in_sync": _lists(ends, replicas[kept]),
        }
    )


def _lists(ends: Numbers, values: Numbers) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(values, pa.int32()))


def _acls(fleet: Fleet, cluster: str, side: int) -> pa.Table:
    """The ACLs: each AppID may use Topics and groups with its name as prefix, and the shared Topics that it uses."""
    random = np.random.default_rng(fleet.size.seed + 1)
    lacking = (random.random(fleet.size.appids) < LACKING_RIGHTS) & (fleet.side != side)
    rows: list[tuple[str, str, str, str, str]] = []
    for appid in np.flatnonzero(~lacking):
        name = fleet.appid_names[appid]
        rows += [("TOPIC", f"{name}.", "PREFIXED", name, operation) for operation in ("READ", "WRITE")]
        rows.append(("GROUP", f"{name}.", "PREFIXED", name, "READ"))
    foreign = (fleet.kind != GROUP) & (fleet.resource >= int(fleet.topics.sum()))
    rights = np.unique(np.stack([fleet.appid[foreign], fleet.resource[foreign], fleet.kind[foreign]]), axis=1)
    for appid, resource, kind in rights.T:
        if not lacking[appid]:
            operation = {PRODUCE: "WRITE", CONSUME: "READ"}[int(kind)]
            rows.append(
                ("TOPIC", fleet.topic_names[resource], "LITERAL", fleet.appid_names[appid], operation)
            )
    kinds, resources, patterns, users, operations = zip(*rows, strict=True)
    return pa.table(
        {
            "cluster": _same(cluster, len(rows)),
            "resource_type": kinds,
            "resource": resources,
            "pattern": patterns,
            "principal": [f"User:{user}" for user in users],
            "host": _same("*", len(rows)),
            "operation": operations,
            "permission": _same("ALLOW", len(rows)),
            "by_hadash": pa.array(np.zeros(len(rows), bool)),
        }
    )


def _groups(fleet: Fleet, cluster: str, side: int) -> dict[str, pa.Table]:
    """A group for each AppID that reads; partitions are assigned to the members by round-robin."""
    reads = fleet.kind == CONSUME
    groups: list[dict[str, Any]] = []
    members: list[dict[str, Any]] = []
    joined = fleet.kind == GROUP
    readers = _by(fleet.appid[joined], fleet.client[joined])
    read = _by(fleet.appid[reads], fleet.resource[reads])
    for appid, clients in readers.items():
        topics = read.get(appid)
        if fleet.side[appid] != side or topics is None:
            continue
        name = fleet.group_names[appid]
        groups.append(
            {
                "cluster": cluster,
                "group": name,
                "state": "Stable",
                "protocol": "roundrobin",
                "coordinator": appid % BROKERS + 1,
            }
        )
        subscribed = sorted({fleet.topic_names[topic] for topic in topics})
        partitions = [f"{topic}-0" for topic in subscribed]
        present = sorted({int(client) for client in clients})[:MOST_MEMBERS]
        for place, client in enumerate(present):
            members.append(
                {
                    "cluster": cluster,
                    "group": name,
                    "member_id": f"{name}-{place}",
                    "client_id": fleet.client_names[client],
                    "host": f"10.{client // 250 % 250}.{client % 250}.7",
                    "partitions": partitions[place :: len(present)],
                    "topics": subscribed,
                }
            )
    return {"groups": _rows("groups", groups), "members": _rows("members", members)}


def _by(keys: Numbers, values: Numbers) -> dict[int, Numbers]:
    """By key, its values."""
    order = np.argsort(keys, kind="stable")
    found, begins = np.unique(keys[order], return_index=True)
    return dict(zip(found.tolist(), np.split(values[order], begins[1:]), strict=True))


def _same(text: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text])).cast(
        pa.string()
    )
