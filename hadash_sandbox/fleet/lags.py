"""The lags of the mirrors of a generated fleet: a second or two, more at noon, with some incidents; and which of their
partitions are behind. Pure.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import pi

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hadash_sandbox.fleet.model import Fleet, Numbers, Side

#: Share of mirrors that have an incident on a day, its length, and the lag at its height.
INCIDENTS, INCIDENT_MINUTES, INCIDENT_SECONDS = 0.01, 90, 400.0
#: Records for each second of lag.
RECORDS = 80
#: Share of samples that could not be taken.
UNKNOWN = 0.001
#: Share of a mirror's records that its furthest partition lacks; its next Topic lacks the others. (A mirror's Topics
#: have one partition each.) And hours after which it is another partition's turn.
FURTHEST, TURN_HOURS = 0.7, 6
#: Records that a Topic holds, at least and at most.
RECORDS_HELD = 10_000, 5_000_000


def samples(fleet: Fleet, names: Side, begin: datetime, end: datetime, minutes: int) -> pa.Table:
    """The table ``lag`` of a snapshot: a sample of each mirror every ``minutes``, after ``begin`` until ``end``."""
    count = int((end - begin) / timedelta(minutes=minutes))
    moments = np.arange(1, count + 1) * minutes
    mirrors = len(fleet.mirrors)
    random = np.random.default_rng([fleet.size.seed, int(begin.timestamp())])
    hour = (begin.hour + moments / 60) % 24
    busy = 1.5 + np.sin((hour - 6) / 24 * 2 * pi)
    seconds = random.gamma(2.0, 0.4, (mirrors, count)) * busy[None, :]
    with_incident = INCIDENTS * ((end - begin) / timedelta(days=1))
    for mirror in np.flatnonzero(random.random(mirrors) < with_incident):
        at = random.integers(0, max(1, moments[-1]))
        away = np.abs(moments - at) / (INCIDENT_MINUTES / 2)
        seconds[mirror] += INCIDENT_SECONDS * np.clip(1 - away, 0, None)
    unknown = random.random((mirrors, count)).ravel() < UNKNOWN
    flat = np.round(seconds.ravel(), 2)
    at_ms = int(begin.timestamp() * 1000) + np.tile(moments * 60_000, mirrors)
    mirror_names = pa.array(list(fleet.mirrors))
    return pa.table(
        {
            "pair": pa.array([names.pair] * len(flat)),
            "mirror": mirror_names.take(pa.array(np.repeat(np.arange(mirrors), count))),
            "at": pa.array(at_ms, pa.timestamp("ms", tz="UTC")),
            "records": pa.array((flat * RECORDS).astype(np.int64), mask=unknown),
            "seconds": pa.array(flat, mask=unknown),
        }
    )


def by_partition(fleet: Fleet, lag: pa.Table) -> pa.Table:
    """Who is behind in each sample of :func:`samples`, as JSON objects: ``partitions`` (records by ``topic-partition``)
    and ``partition_seconds``. As hadash notes them: partitions that are not behind are left out.
    """
    topics = [numbers for numbers, _ in fleet.mirrors.values()]
    first = np.concatenate(([0], np.cumsum([len(numbers) for numbers in topics])[:-1]))
    many = np.array([len(numbers) for numbers in topics])
    names = pa.array(f'"{fleet.topic_names[n]}-0": ' for numbers in topics for n in numbers)
    mirror = pc.index_in(lag["mirror"], pa.array(list(fleet.mirrors))).combine_chunks().to_numpy()
    hour = lag["at"].cast(pa.int64()).to_numpy() // 3_600_000
    turn = (mirror * 7 + hour // TURN_HOURS) % many[mirror]
    furthest = names.take(pa.array(first[mirror] + turn))
    other = names.take(pa.array(first[mirror] + (turn + 1) % many[mirror]))
    records, seconds = lag["records"].combine_chunks(), lag["seconds"].combine_chunks()
    most = pc.cast(pc.floor(pc.multiply(pc.cast(records, pa.float64()), FURTHEST)), pa.int64())
    rest = pc.subtract(records, most)
    later = pc.round(pc.multiply(seconds, 1 - FURTHEST), 2)
    return pa.table(
        {
            "partitions": _objects(furthest, most, other, rest),
            "partition_seconds": _objects(furthest, seconds, other, later),
        }
    )


def _objects(one: pa.Array, its: pa.Array, other: pa.Array, others: pa.Array) -> pa.Array:
    """JSON objects of two entries; empty ones where the values are not known."""
    text = pa.string()
    first = pc.binary_join_element_wise("{", one, pc.cast(its, text), "")
    second = pc.binary_join_element_wise(", ", other, pc.cast(others, text), "}", "")
    return pc.fill_null(pc.binary_join_element_wise(first, second, ""), "{}")


def ends(fleet: Fleet, topics: Numbers) -> list[list[str | int]]:
    """The ends of a mirror's source, as ``[[topic, partition, end], …]``."""
    least, most = RECORDS_HELD
    return [[fleet.topic_names[n], 0, least + int(n) * 7919 % (most - least)] for n in topics]
