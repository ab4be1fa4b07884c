"""Access reports for tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from hadash.lake.access import FIRST_COLUMNS, Hour, table_of
from hadash.lake.store import Store

#: When the tests' reports were made, unless they say otherwise.
NOON = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def report(client_id: str = "web-1", at: datetime = NOON, **others: Any) -> dict[str, Any]:
    """Somebody has written five records at a moment."""
    return {
        "gateway": "gateway-1",
        "appid": "shop",
        "client_id": client_id,
        "kind": "produce",
        "resource": "orders",
        "cluster": "east",
        "host": "10.0.0.1",
        "library": "librdkafka",
        "version": "2.10.0",
        "acks": -1,
        "idempotent": True,
        "transactional": False,
        "requests": 1,
        "records": 5,
        "bytes": 500,
        "first_seen": at,
        "last_seen": at,
        "pair": "main",
        "source": "gateway",
        **others,
    }


def put(store: Store, name: str, *rows: dict[str, Any], at: datetime = NOON, version: int = 2) -> str:
    """A batch of that name in the folder of the hour; its whole name.

    :param version: of the schema.
    """
    table = table_of(rows)
    if version == 1:
        table = first_version(table)
    whole = f"{Hour.of(at).folder}/{name}.parquet"
    store.write_table(whole, table)
    return whole


def first_version(table: pa.Table) -> pa.Table:
    """The same rows as they were written before columns were added."""
    return table.select(table.column_names[:FIRST_COLUMNS]).replace_schema_metadata(
        {"hadash.schema": "access/1"}
    )
