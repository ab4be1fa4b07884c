"""The tables of facts as Arrow knows them: :mod:`spark.schemas` says what the columns mean."""

from __future__ import annotations

import pyarrow as pa

from hadash.lake.access import SCHEMA

#: What makes two reports ones of the same fact: who used what, on which cluster, from where and how, and who says so.
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

#: What is summed up: ``reports`` is how many there were.
SUMS = ("reports", "requests", "records", "bytes")

#: One row a fact and day on which reports of it came (or several, of a day that was worked off in parts).
#: ``member`` is 1 where a report said that the client is a member of the group. (It is no part of the key:
#: which bucket a fact is in would be another one than before.)
DAILY = pa.schema(
    [
        *(SCHEMA.field(name) for name in FACT_KEY),
        *((name, pa.int64()) for name in SUMS),
        ("first_seen", pa.timestamp("ms", tz="UTC")),
        ("last_seen", pa.timestamp("ms", tz="UTC")),
        ("member", pa.int64()),
    ]
)

#: One row a fact. ``days``: on which of the last days it was seen, a bit each, the lowest for the newest.
FACTS = DAILY.append(pa.field("days", pa.int64()))
