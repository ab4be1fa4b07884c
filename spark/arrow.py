"""The Arrow schemas of the tables of facts; :mod:`spark.schemas` explains the columns."""

from __future__ import annotations

import pyarrow as pa

from hadash.lake.access import SCHEMA

#: The columns that identify a fact: who used what, on which cluster, from where and how, and the source of the
#: report.
FACT_KEY = (
    "pair",
    "appid",
    "client_id",
    "kind",
    "resource",
    "cluster",
    "host",
    "library",
    "version",
    "acks",
    "idempotent",
    "transactional",
    "assignors",
    "session_timeout_ms",
    "source",
)

#: The columns that are summed up; ``reports`` is the number of reports.
SUMS = ("reports", "requests", "records", "bytes")

#: One row for each fact and day on which reports of it came (or several, if a day was processed in parts).
#: ``member`` is 1 where a report said that the client is a member of the group. (It is not part of the key,
#: because that would change the buckets of facts.)
DAILY = pa.schema(
    [
        *(SCHEMA.field(name) for name in FACT_KEY),
        *((name, pa.int64()) for name in SUMS),
        ("first_seen", pa.timestamp("ms", tz="UTC")),
        ("last_seen", pa.timestamp("ms", tz="UTC")),
        ("member", pa.int64()),
    ]
)

#: One row for each fact. ``days``: a bit mask of the last days on which it was seen, the lowest bit for the
#: newest.
FACTS = DAILY.append(pa.field("days", pa.int64()))
