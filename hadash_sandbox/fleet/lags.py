"""The lags of the mirrors of a generated fleet: a second or two, more at noon, with some incidents. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import pi

import numpy as np
import pyarrow as pa

from hadash_sandbox.fleet.model import Fleet, Side

#: Share of mirrors that have an incident on a day, its length, and the lag at its height.
INCIDENTS, INCIDENT_MINUTES, INCIDENT_SECONDS = 0.01, 90, 400.0
#: Records for each second of lag.
RECORDS = 80
#: Share of samples that could not be taken.
UNKNOWN = 0.001


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
