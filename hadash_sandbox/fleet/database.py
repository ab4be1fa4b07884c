"""Writes a generated fleet into hadash's own tables, by COPY: a million rows take seconds."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from django.db import connection, transaction

from hadash.bindings.store import BindingStore, Edit
from hadash.governance.models.posture import Posture
from hadash.identity.identity import Identity
from hadash.inventory.models import AppID, Cluster, ClusterSample, ClusterState, Pair
from hadash.mirroring.models import Mirror, PairLag
from hadash.mirroring.samples import keep_hours
from hadash_sandbox.fleet import lags, reports
from hadash_sandbox.fleet.model import DAYS, GROUP, PRODUCE, Fleet, Side
from hadash_sandbox.fleet.servers import BROKERS

#: Number of the first generated cluster: far from those of registered ones.
FIRST_NUMBER = 900
#: Bindings that are written in one change.
BOUND_AT_ONCE = 500
#: Share of AppIDs for which a use has been declared.
DECLARED = 0.02
#: The time between two samples of a mirror's lag, as close as its page draws them: within the last hour, and within the
#: day before that; and the time between two samples of a cluster.
CLOSE, WIDE, OF_CLUSTER = timedelta(seconds=10), timedelta(minutes=2), timedelta(minutes=5)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@transaction.atomic
def add_pair(names: Side) -> Pair:
    """Create the generated pair and its clusters, as if they had been registered; no engine learns of them."""
    clusters = [
        Cluster.objects.create(
            name=name,
            number=FIRST_NUMBER + place,
            bootstrap_servers=f"{name}.example:9092",
            kafka_cluster_id=f"id-{name}",
            brokers=[{"id": n, "host": f"{name}-{n}.example", "port": 9092} for n in range(1, BROKERS + 1)],
            generated=True,
        )
        for place, name in enumerate(names.clusters)
    ]
    return Pair.objects.create(name=names.pair, first=clusters[0], second=clusters[1], default=clusters[0])


def fill(fleet: Fleet, names: Side, now: datetime) -> None:
    """Create AppIDs, InstanceIDs, access, declarations and mirrors of the existing pair.

    :param now: the time at which everything was last seen.
    """
    pair = Pair.objects.select_related("first", "second").get(name=names.pair)
    with transaction.atomic():
        _add_appids(fleet, pair)
        numbers = dict(AppID.objects.filter(pair=pair).values_list("name", "pk"))
        _add_instances(fleet, numbers, now)
        _copy("inventory_access", access(fleet, names, pair.pk, now))
        _add_declarations(fleet, numbers, now)
        _add_mirrors(fleet, pair, now)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def bind(fleet: Fleet, names: Side, store: BindingStore) -> None:
    """Write the bindings of the AppIDs that have been switched into ZooKeeper."""
    edits = [Edit(Identity(document.appid), document.default) for document in reports.documents(fleet, names)]
    for first in range(0, len(edits), BOUND_AT_ONCE):
        store.change(edits[first : first + BOUND_AT_ONCE])


def _add_appids(fleet: Fleet, pair: Pair) -> None:
    known = set(AppID.objects.filter(pair=pair).values_list("name", flat=True))
    count = fleet.size.appids
    rows = pa.table(
        {
            "pair_id": pa.array(np.full(count, pair.pk)),
            "name": fleet.appid_names,
            "owner": [fleet.owner(n) for n in range(count)],
            "note": [""] * count,
            "critical": pa.array(fleet.critical),
        }
    )
    _copy("inventory_appid", rows.filter(pa.array([name not in known for name in fleet.appid_names])))


def _add_instances(fleet: Fleet, numbers: Mapping[str, int], now: datetime) -> None:
    found = reports.registered(fleet, 0)
    ages = {fleet.appid_names[n]: int(age) for n, age in enumerate(fleet.registered)}
    _copy(
        "inventory_instanceid",
        pa.table(
            {
                "appid_id": [numbers[appid] for appid, _ in found],
                "name": [name for _, name in found],
                "note": [""] * len(found),
                "registered_at": pa.array(
                    [now - timedelta(days=ages[appid]) for appid, _ in found], pa.timestamp("ms", tz="UTC")
                ),
            }
        ),
    )


def access(fleet: Fleet, names: Side, pair: int, now: datetime) -> pa.Table:
    """The rows of ``inventory_access``: uses of now, or of the last week."""
    chosen = fleet.until < 7
    uses = fleet.table(names, chosen)
    kind = fleet.kind[chosen]
    details = pa.array(
        [
            '{"acks": -1, "idempotent": true, "transactional": false}',
            "{}",
            '{"assignors": ["range", "cooperative-sticky"], "session_timeout_ms": 45000, "member": true}',
        ]
    )
    of_kind = np.where(kind == PRODUCE, 0, np.where(kind == GROUP, 2, 1))
    day = 86_400_000
    moment = int(now.timestamp() * 1000)
    columns = {name: uses.column(name) for name in uses.column_names if name != "pair"}
    columns |= {
        "pair_id": pa.array(np.full(len(kind), pair)),
        "details": details.take(pa.array(of_kind)),
        "first_seen": pa.array(moment - (fleet.since[chosen] + 1) * day, pa.timestamp("ms", tz="UTC")),
        "last_seen": pa.array(moment - fleet.until[chosen] * day, pa.timestamp("ms", tz="UTC")),
    }
    return pa.table(columns)


def _add_declarations(fleet: Fleet, numbers: Mapping[str, int], now: datetime) -> None:
    """Declare, for some AppIDs, their first use and one that was never seen."""
    random = np.random.default_rng(fleet.size.seed + 2)
    _, first = np.unique(fleet.appid, return_index=True)
    rows = []
    for use in first[random.random(len(first)) < DECLARED]:
        if fleet.kind[use] == GROUP:
            continue
        appid = fleet.appid_names[fleet.appid[use]]
        kind = "produce" if fleet.kind[use] == PRODUCE else "consume"
        seen = fleet.topic_names[fleet.resource[use]]
        rows += [
            {
                "appid_id": numbers[appid],
                "instance_id": "",
                "kind": kind,
                "resource": resource,
                "note": "",
                "source": "import",
                "declared_at": now,
            }
            for resource in (seen, f"{appid}.planned")
        ]
    if rows:
        _copy("inventory_declaration", pa.Table.from_pylist(rows))


def _add_mirrors(fleet: Fleet, pair: Pair, now: datetime) -> None:
    noted = frozenset(lags.noted(fleet))
    Mirror.objects.bulk_create(
        Mirror(
            pair=pair,
            name=name,
            topics=[fleet.topic_names[n] for n in topics],
            source=pair.clusters[side],
            state=Mirror.State.RUNNING,
            known_ends=lags.ends(fleet, topics) if name in noted else [],
            known_ends_at=now,
        )
        for name, (topics, side) in fleet.mirrors.items()
    )


# -- history -----------------------------------------------------------------------------------------------------


def add_samples(fleet: Fleet, names: Side, now: datetime) -> None:
    """Write samples of the mirrors and clusters for the last hours and days."""
    begin, lately = now - DAY, now - HOUR
    for known in (
        lags.samples(fleet, names, begin, lately, WIDE),
        lags.samples(fleet, names, lately, now, CLOSE),
    ):
        _add_lags(fleet, names, "mirroring_lagsample", known)
        _add_pair_lags(names, known)
    # One an hour before, and of the hours since then the worst sample, as hadash keeps them.
    hour = begin.replace(minute=0, second=0, microsecond=0)
    hours = lags.samples(fleet, names, hour - (DAYS - 1) * DAY, hour, HOUR)
    _add_lags(fleet, names, "mirroring_laghour", hours)
    keep_hours(now)
    _note_newest(now)
    _add_clusters(names, now)


def _add_lags(fleet: Fleet, names: Side, table: str, known: pa.Table) -> None:
    numbers = dict(Mirror.objects.filter(pair__name=names.pair).values_list("name", "pk"))
    keys = pa.array([numbers[name] for name in fleet.mirrors])
    place = pc.index_in(known["mirror"], pa.array(list(fleet.mirrors)))
    state = pa.array(["running", "unknown"]).take(
        pc.cast(pc.is_null(known["seconds"]), pa.int32()).combine_chunks()
    )
    behind = lags.by_partition(fleet, known)
    rows = pa.table(
        {
            "mirror_id": keys.take(place.combine_chunks()),
            "at": known["at"],
            "records": known["records"],
            "seconds": known["seconds"],
            "state": state,
            "partitions": behind["partitions"],
            "partition_seconds": behind["partition_seconds"],
        }
    )
    _copy(table, rows)


def _add_pair_lags(names: Side, known: pa.Table) -> None:
    """Write what hadash notes of each round of looks: the mirror that is furthest behind, and how many are unknown."""
    pair = Pair.objects.get(name=names.pair)
    rounds = known.group_by("at").aggregate(
        [("seconds", "max"), ("records", "max"), ("seconds", "count", pc.CountOptions(mode="only_null"))]
    )
    columns = (rounds[name].to_pylist() for name in ("at", "seconds_max", "records_max", "seconds_count"))
    PairLag.objects.bulk_create(
        PairLag(pair=pair, at=at, seconds=seconds, records=records, unknown=unknown)
        for at, seconds, records, unknown in zip(*columns, strict=True)
    )


def _note_newest(now: datetime) -> None:
    """Set the lag of each mirror to that of its newest sample."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE mirroring_mirror AS mirror SET lag_records = last.records, lag_seconds = last.seconds, "
            "partition_seconds = last.partition_seconds, looked_at = %s"
            " FROM (SELECT DISTINCT ON (mirror_id) mirror_id, records, seconds, partition_seconds"
            " FROM mirroring_lagsample"
            " ORDER BY mirror_id, at DESC) AS last, inventory_pair AS pair, inventory_cluster AS cluster"
            " WHERE last.mirror_id = mirror.id AND pair.id = mirror.pair_id AND cluster.id = pair.first_id "
            "AND cluster.generated",
            [now],
        )


def _add_clusters(names: Side, now: datetime) -> None:
    random = np.random.default_rng(3)
    samples: list[ClusterSample] = []
    states: list[ClusterState] = []
    for cluster in Cluster.objects.filter(name__in=names.clusters):
        samples += [
            ClusterSample(
                cluster=cluster,
                at=now - place * OF_CLUSTER,
                milliseconds=float(np.round(random.gamma(3.0, 2.0), 1)),
                brokers=BROKERS,
            )
            for place in range(DAY // OF_CLUSTER)
        ]
        states += [
            ClusterState(
                cluster=cluster,
                at=now - timedelta(days=age),
                mode="kraft",
                version="3.9",
                controller=1,
                controller_epoch=41 - age // 9,
                brokers=BROKERS,
                leaderless=0,
                under_replicated=int(random.poisson(2)),
                under_min_isr=0,
                differing_settings=2 + age // 12,
                differing_quotas=0,
            )
            for age in range(DAYS)
        ]
    ClusterSample.objects.bulk_create(samples)
    ClusterState.objects.bulk_create(states)


def add_postures(known: Mapping[date, Posture], today: date) -> None:
    """Write a posture for each of the last days; the days between two known ones are interpolated.

    :param known: the postures of the pair that jobs have written, by day; at least one.
    """
    days = sorted(known)
    figures = [field.name for field in Posture._meta.fields if field.name not in ("id", "pair", "day")]
    (pair,) = {posture.pair for posture in known.values()}
    places = [day.toordinal() for day in days]
    wanted = [today - timedelta(days=age) for age in range(DAYS)]
    between = {
        name: np.interp(
            [day.toordinal() for day in wanted], places, [getattr(known[day], name) or 0 for day in days]
        )
        for name in figures
    }
    Posture.objects.filter(pair=pair).delete()
    Posture.objects.bulk_create(
        Posture(pair=pair, day=day, **{name: int(values[place]) for name, values in between.items()})
        for place, day in enumerate(wanted)
    )


# -- COPY ----------------------------------------------------------------------------------------------------------


def _copy(table: str, rows: pa.Table) -> None:
    """Write rows into a table.

    :param rows: columns by their names in the database; other columns get the database's defaults, or null.
    """
    _copy_columns(table, rows.column_names, _pieces(rows))


def _pieces(rows: pa.Table) -> Iterable[bytes]:
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    for batch in rows.to_batches(max_chunksize=100_000):
        sink = io.BytesIO()
        pyarrow.csv.write_csv(pa.Table.from_batches([batch]), sink, options)
        yield sink.getvalue()


def _copy_columns(table: str, columns: Sequence[str], pieces: Iterable[bytes]) -> None:
    names = ", ".join(columns)
    with connection.cursor() as cursor:
        copying: Any = cursor.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT csv)")
        with copying as copy:
            for piece in pieces:
                copy.write(piece)


def day_of(moment: datetime) -> date:
    """The day of a moment, in UTC."""
    return moment.astimezone(UTC).date()
