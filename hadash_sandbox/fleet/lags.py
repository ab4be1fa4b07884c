"""How late the mirrors of a generated fleet are: a second or two, more at noon, with an incident now and
then. Pure.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import pi

import numpy as np
import pyarrow as pa

from hadash_sandbox.fleet.model import Fleet, Side

#: Of all mirrors, those that have had an incident on a day, how long it lasts, and how late they are at its height.
INCIDENTS, INCIDENT_MINUTES, INCIDENT_SECONDS = 0.01, 90, 400.0
#: Records for each second of lag.
RECORDS = 80
#: Of all samples, those that nobody could take.
UNKNOWN = 0.001


def samples(fleet: Fleet, names: Side, begin: datetime, end: datetime, minutes: int) -> pa.Table:
    """The columns of ``lag`` in a snapshot: of each mirror a sample every so many minutes, after ``begin``
    and until ``end``.
    """
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
