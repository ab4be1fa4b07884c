"""Generates access reports in bulk, for tests of size and for the benchmark.

The fleet has AppIDs that share Topics as in real fleets (a few Topics have very many users), each with some
clients, and one AppID with half of all traffic. Reports are drawn from its facts, hour by hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hadash.lake.access import SCHEMA, Hour
from hadash.lake.store import Store

#: How unevenly Topics are shared: the exponent from a trial with real fleets (docs/background.md).
SHARING = 1.1
#: The share of all reports that belongs to one AppID.
LARGEST_SHARE = 0.5

_LIBRARIES = (
    ("apache-kafka-java", "3.9.0"),
    ("apache-kafka-java", "2.6.1"),
    ("librdkafka", "2.10.0"),
    ("kafka-python", "2.2.3"),
    ("sarama", "v1.46.3"),
)
_SCALARS = ("appid", "client_id", "kind", "resource", "cluster", "host", "library", "version", "pair")


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a fleet."""

    reports: int
    facts: int = 200_000
    days: int = 30
    gateways: int = 4
    seed: int = 7
    last_day: str = "2026-11-20"

    @property
    def files(self) -> int:
        """The number of files of equal size: one for each hour and Gateway."""
        return self.days * 24 * self.gateways


def facts(size: Size) -> pa.Table:
    """Return the facts of the fleet: the columns of a report that say who used what, and how."""
    random = np.random.default_rng(size.seed)
    count = size.facts
    appids = max(2, count // 20)
    topics = max(4, count // 10)
    # The first AppID has half of the facts: grouping by AppID gives one group as large as all others.
    appid = np.where(random.random(count) < LARGEST_SHARE, 0, random.integers(1, appids, count))
    instance = random.integers(0, 8, count)
    kind = random.choice(3, count, p=[0.4, 0.4, 0.2])
    shares = 1.0 / np.arange(1, topics + 1) ** SHARING
    resource = random.choice(topics, count, p=shares / shares.sum())
    host = (appid * 13 + instance) % 5000
    library = (appid * 7 + instance) % len(_LIBRARIES)
    cluster = (appid % 10 == 0).astype(np.int64)
    # A transactional producer has a producer id, and a producer with one waits for all replicas, as libraries
    # ensure.
    transactional = appid % 97 == 0
    acks = np.where((appid % 9 == 0) & ~transactional, 1, -1)
    idempotent = (acks == -1) & ((appid % 2 == 0) | transactional)
    names = {
        "appid": _named("app-{:06d}", appid, appids),
        "client_id": _named("client-{:02d}", instance, 8),
        "kind": _of(["produce", "consume", "group"], kind),
        "resource": _named("orders.topic-{:06d}", resource, topics),
        "cluster": _of(["east", "west"], cluster),
        "host": _named("10.20.{}.7", host, 5000),
        "library": _of([name for name, _ in _LIBRARIES], library),
        "version": _of([version for _, version in _LIBRARIES], library),
        "pair": _of(["main"], np.zeros(count, np.int64)),
        "acks": pa.array(acks, pa.int16(), mask=kind != 0),
        "idempotent": pa.array(idempotent, mask=kind != 0),
        "transactional": pa.array(transactional, mask=kind != 0),
        "session_timeout_ms": pa.array(np.full(count, 45_000), pa.int32(), mask=kind != 2),
        "member": pa.array(np.full(count, True), mask=kind != 2),
    }
    return pa.table(names)


def write(store: Store, size: Size) -> int:
    """Write all reports of a fleet to the lake; return their number."""
    return sum(write_day(store, size, day) for day in range(size.days))


def write_day(store: Store, size: Size, day: int) -> int:
    """Write the reports of one day (0 is the first), with one file for each hour and Gateway; return their number."""
    known = facts(size)
    begin = datetime.fromisoformat(size.last_day).replace(tzinfo=UTC) - timedelta(days=size.days - 1 - day)
    each = size.reports // size.files
    total = 0
    for hour in range(24):
        at = begin + timedelta(hours=hour)
        for gateway in range(size.gateways):
            random = np.random.default_rng([size.seed, day, hour, gateway])
            table = _reports(known, random, at, gateway, each)
            name = f"gateway-{gateway + 1}-{int(at.timestamp() * 1000) + 3_599_000}.parquet"
            store.write_table(f"{Hour.of(at).folder}/{name}", table)
            total += each
    return total


def dates(size: Size) -> Iterator[str]:
    """Yield the days of the fleet, in order."""
    last = datetime.fromisoformat(size.last_day)
    for day in range(size.days):
        yield f"{last - timedelta(days=size.days - 1 - day):%Y-%m-%d}"


def _reports(
    known: pa.Table, random: np.random.Generator, at: datetime, gateway: int, count: int
) -> pa.Table:
    rows = known.take(pa.array(random.integers(0, known.num_rows, count)))
    first = int(at.timestamp() * 1000) + random.integers(0, 3_000_000, count)
    last = first + random.integers(0, 60_000, count)
    records = random.integers(1, 10_000, count)
    columns = {name: rows.column(name) for name in rows.column_names}
    columns |= {
        "gateway": _of([f"gateway-{gateway + 1}"], np.zeros(count, np.int64)),
        "source": _of(["gateway"], np.zeros(count, np.int64)),
        "assignors": pa.nulls(count, pa.list_(pa.string())),
        "requests": pa.array(records // 10 + 1),
        "records": pa.array(records),
        "bytes": pa.array(records * 200),
        "first_seen": pa.array(first, pa.timestamp("ms", tz="UTC")),
        "last_seen": pa.array(last, pa.timestamp("ms", tz="UTC")),
    }
    arrays = [columns[field.name] for field in SCHEMA]
    return pa.table(dict(zip(SCHEMA.names, arrays, strict=True)))


def _named(pattern: str, codes: NDArray[np.int64], count: int) -> pa.DictionaryArray:
    return _of([pattern.format(number) for number in range(count)], codes)


def _of(names: list[str], codes: NDArray[np.int64]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names))
