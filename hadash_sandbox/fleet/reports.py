"""Writes the access reports and the snapshots of a generated fleet into the lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from hadash.bindings.model import Binding, BindingDocument
from hadash.lake import generated, snapshots
from hadash.lake.access import GATEWAY, SCHEMA, Hour
from hadash.lake.store import Store
from hadash_sandbox.fleet import servers
from hadash_sandbox.fleet.lags import samples
from hadash_sandbox.fleet.model import GROUP, PRODUCE, Fleet, Side

#: For earlier snapshots: the RPO of a pair that has not set one, and the time that a switch waits for consumers.
RPO_SECONDS, QUIESCE_SECONDS = 60.0, 45.0
#: The time between two samples of lag in earlier snapshots.
EVERY = timedelta(minutes=30)
#: Milliseconds within which all uses of a day begin, and for which each lasts at most.
SEEN_WITHIN_MS, LASTS_MS = 3_000_000, 60_000

_TIME = pa.timestamp("ms", tz="UTC")


def write_day(store: Store, fleet: Fleet, names: Side, day: date, age: int, now: datetime) -> int:
    """Write the reports of one day, as one batch that a Gateway sends at noon; return their number.

    :param age: the days since then. :param now: today's batch comes before this, but for the first hour of the day.
    """
    seen = fleet.seen_on(age)
    uses = fleet.table(names, seen)
    count = uses.num_rows
    kind = fleet.kind[seen]
    appid = fleet.appid[seen]
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    earlier = max(midnight, now - timedelta(milliseconds=SEEN_WITHIN_MS + LASTS_MS))
    sent = int(min(midnight + timedelta(hours=12), earlier).timestamp() * 1000)
    random = np.random.default_rng([fleet.size.seed, age])
    first = sent + random.integers(0, SEEN_WITHIN_MS, count)
    records = random.integers(1, 10_000, count)
    of_group, of_produce = kind == GROUP, kind == PRODUCE
    assignors = pa.array([["range", "cooperative-sticky"], None]).take(
        pa.array(np.where(of_group, 0, 1), pa.int32())
    )
    columns: dict[str, Any] = {name: uses.column(name) for name in uses.column_names}
    columns |= {
        "gateway": pa.array(["generated"] * count),
        "source": pa.array([GATEWAY] * count),
        "acks": pa.array(np.full(count, -1), pa.int16(), mask=~of_produce),
        "idempotent": pa.array(appid % 50 == 0, mask=~of_produce),
        "transactional": pa.array(np.full(count, False), mask=~of_produce),
        "assignors": assignors,
        "session_timeout_ms": pa.array(np.full(count, 45_000), pa.int32(), mask=~of_group),
        "member": pa.array(np.full(count, True), mask=~of_group),
        "requests": pa.array(records // 10 + 1),
        "records": pa.array(np.where(of_group, 0, records)),
        "bytes": pa.array(np.where(of_group, 0, records * 200)),
        "first_seen": pa.array(first, _TIME),
        "last_seen": pa.array(first + random.integers(0, LASTS_MS, count), _TIME),
    }
    twice = _second_hosts(columns, fleet, seen)
    table = pa.table({field.name: columns[field.name] for field in SCHEMA}, schema=SCHEMA)
    table = pa.concat_tables([table, twice])
    store.write_table(
        f"{Hour.of(datetime.fromtimestamp(sent / 1000, UTC)).folder}/generated-{sent}.parquet", table
    )
    return int(table.num_rows)


def _second_hosts(columns: Mapping[str, Any], fleet: Fleet, seen: Any) -> pa.Table:
    """The reports of second clients: AppIDs of which one client runs twice have its client.id on another host too."""
    again = fleet.twice[fleet.appid[seen]] & (fleet.client[seen] == fleet.first_client[fleet.appid[seen]])
    index = pa.array(np.flatnonzero(again))
    rows = pa.table({field.name: columns[field.name] for field in SCHEMA}, schema=SCHEMA).take(index)
    place = SCHEMA.get_field_index("host")
    return rows.set_column(place, SCHEMA.field("host"), pa.array(["10.250.250.8"] * len(index)))


def put_servers(store: Store, fleet: Fleet, names: Side) -> None:
    """Store what the clusters would answer, for the snapshots that jobs take from now on."""
    for side, cluster in enumerate(names.clusters):
        for name, rows in servers.tables_of(fleet, names, side).items():
            generated.put(store, cluster, name, rows)


def write_snapshot(store: Store, fleet: Fleet, names: Side, day: date, age: int, whole: bool) -> None:
    """Write the snapshot at the end of a day.

    :param whole: with everything that jobs read; else only with the state of the clusters and the lag of the mirrors.
    """
    at = datetime(day.year, day.month, day.day, 23, 30, tzinfo=UTC)
    tables: dict[str, list[dict[str, Any]]] = {"pairs": [pair_row(names)]}
    more: list[dict[str, pa.Table]] = [{"lag": samples(fleet, names, at - timedelta(days=1), at, EVERY)}]
    if whole:
        tables |= known(fleet, names, age)
        more += [generated.tables(store, cluster) for cluster in names.clusters]
    else:
        more += [{"clusters": servers.cluster_row(names, side)} for side in (0, 1)]
    snapshots.write(store, at, tables, more)


def pair_row(names: Side) -> dict[str, Any]:
    """The pair's row of the table ``pairs`` of a snapshot."""
    return {
        "pair": names.pair,
        "first": names.first,
        "second": names.second,
        "default": names.first,
        "dialect": "native",
        "rpo_seconds": RPO_SECONDS,
        "quiesce_seconds": QUIESCE_SECONDS,
    }


def known(fleet: Fleet, names: Side, age: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of a snapshot that come from hadash's own database and ZooKeeper, as of ``age`` days ago."""
    pair = names.pair
    return {
        "appids": [
            {"pair": pair, "appid": name, "owner": fleet.owner(n), "critical": bool(fleet.critical[n])}
            for n, name in enumerate(fleet.appid_names)
        ],
        "instances": [{"pair": pair, "appid": appid, "name": name} for appid, name in registered(fleet, age)],
        "documents": [
            {"pair": pair, "appid": document.appid, "content": document.to_bytes().decode()}
            for document in documents(fleet, names)
        ],
        "mirrors": [
            {
                "pair": pair,
                "mirror": mirror,
                "source": names.clusters[side],
                "target": names.clusters[1 - side],
                "topics": [fleet.topic_names[n] for n in topics],
                "state": "running",
                "fault": "",
            }
            for mirror, (topics, side) in fleet.mirrors.items()
        ],
    }


def registered(fleet: Fleet, age: int) -> Sequence[tuple[str, str]]:
    """(AppID, InstanceID) of the clients that were registered ``age`` days ago or earlier."""
    is_registered = fleet.is_registered(age)
    found = []
    for appid in np.flatnonzero(is_registered):
        first = int(fleet.first_client[appid])
        names = fleet.client_names[first : first + int(fleet.clients[appid])]
        found += [(fleet.appid_names[appid], name) for name in names if name]
    return found


def documents(fleet: Fleet, names: Side) -> list[BindingDocument]:
    """The bindings of the AppIDs that have been switched."""
    bound = Binding(names.second, epoch=1, since=1)
    return [BindingDocument(fleet.appid_names[n], default=bound) for n in np.flatnonzero(fleet.side)]
