"""The lags of the mirrors of a generated fleet: a second or two, more at noon, with some incidents; and which of their
partitions are behind. Pure.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import pi
from typing import Any

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
#: Partitions are noted of all mirrors of so many Topics, and of so many larger ones: a hundred partitions in each
#: sample of a month of all mirrors would be gigabytes.
FEW_TOPICS, MANY_NOTED = 10, 20
#: Records that a Topic holds, at least and at most.
RECORDS_HELD = 10_000, 5_000_000


def samples(fleet: Fleet, names: Side, begin: datetime, end: datetime, every: timedelta) -> pa.Table:
    """The table ``lag`` of a snapshot: a sample of each mirror at each step after ``begin``, until ``end``."""
    count = int((end - begin) / every)
    #: Minutes since the beginning.
    moments = np.arange(1, count + 1) * (every / timedelta(minutes=1))
    mirrors = len(fleet.mirrors)
    random = np.random.default_rng([fleet.size.seed, int(begin.timestamp())])
    hour = (begin.hour + moments / 60) % 24
    busy = 1.5 + np.sin((hour - 6) / 24 * 2 * pi)
    seconds = random.gamma(2.0, 0.4, (mirrors, count)) * busy[None, :]
    with_incident = INCIDENTS * ((end - begin) / timedelta(days=1))
    for mirror in np.flatnonzero(random.random(mirrors) < with_incident):
        at = random.integers(0, max(1, int(moments[-1])))
        away = np.abs(moments - at) / (INCIDENT_MINUTES / 2)
        seconds[mirror] += INCIDENT_SECONDS * np.clip(1 - away, 0, None)
    unknown = random.random((mirrors, count)).ravel() < UNKNOWN
    flat = np.round(seconds.ravel(), 2)
    at_ms = int(begin.timestamp() * 1000) + np.tile((moments * 60_000).astype(np.int64), mirrors)
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


def noted(fleet: Fleet) -> list[str]:
    """The mirrors of which partitions are noted."""
    many = [name for name, (topics, _) in fleet.mirrors.items() if len(topics) > FEW_TOPICS]
    others = frozenset(many[MANY_NOTED:])
    return [name for name in fleet.mirrors if name not in others]


def by_partition(fleet: Fleet, lag: pa.Table) -> pa.Table:
    """How far each partition is behind in each sample of :func:`samples`, as hadash notes it: JSON objects by
    ``topic-partition``. ``partitions``: records; ``partition_seconds``: seconds, of partitions that are behind.
    """
    mirrors = noted(fleet)
    topics = [[f'"{fleet.topic_names[n]}-0": ' for n in fleet.mirrors[name][0]] for name in mirrors]
    names = pa.array([name for own in topics for name in own])
    many = np.array([len(own) for own in topics])
    first = np.cumsum(many) - many
    # (An entry that comes twice has its last value, in PostgreSQL as in Python.)
    zeros = pa.array(["".join(f"{name}0, " for name in own) for own in topics])
    place = pc.index_in(lag["mirror"], pa.array(mirrors)).combine_chunks()
    is_noted = pc.and_(pc.is_valid(place), pc.is_valid(lag["seconds"].combine_chunks()))
    mirror = pc.fill_null(place, 0).to_numpy()
    hour = lag["at"].cast(pa.int64()).to_numpy() // 3_600_000
    turn = (mirror * 7 + hour // TURN_HOURS) % many[mirror]
    furthest = names.take(pa.array(first[mirror] + turn))
    other = names.take(pa.array(first[mirror] + (turn + 1) % many[mirror]))
    records, seconds = lag["records"].combine_chunks(), lag["seconds"].combine_chunks()
    most = pc.cast(pc.floor(pc.multiply(pc.cast(records, pa.float64()), FURTHEST)), pa.int64())
    rest = pc.subtract(records, most)
    later = pc.round(pc.multiply(seconds, 1 - FURTHEST), 2)
    nothing = pa.scalar("")
    of_all = pc.if_else(is_noted, zeros.take(pa.array(mirror)), nothing)
    return pa.table(
        {
            "partitions": _objects(is_noted, of_all, furthest, most, other, rest),
            "partition_seconds": _objects(is_noted, nothing, furthest, seconds, other, later),
        }
    )


def _objects(
    is_noted: pa.Array, before: Any, one: pa.Array, its: pa.Array, other: pa.Array, others: pa.Array
) -> pa.Array:
    """JSON objects of two entries after those of ``before``; empty ones where nothing is noted."""
    text = pa.string()
    entries = [before, one, pc.cast(its, text), ", ", other, pc.cast(others, text)]
    return pc.if_else(is_noted, pc.binary_join_element_wise("{", *entries, "}", ""), "{}")


def ends(fleet: Fleet, topics: Numbers) -> list[list[str | int]]:
    """The ends of a mirror's source, as ``[[topic, partition, end], …]``."""
    least, most = RECORDS_HELD
    return [[fleet.topic_names[n], 0, least + int(n) * 7919 % (most - least)] for n in topics]
