"""The state of generated clusters (``hadash_sandbox/fleet``), which have no servers: snapshots read it from
here.

``generated/<cluster>/<table>.parquet``, in the schemas of :data:`hadash.lake.snapshots.TABLES`.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from hadash.identity.names import file_name
from hadash.lake.snapshots import TABLES
from hadash.lake.store import Store

FOLDER = "generated"


def put(store: Store, cluster: str, name: str, rows: pa.Table) -> None:
    """Write one table of a generated cluster.

    :raises KeyError: a snapshot has no such table.
    :raises OSError: the lake cannot be written to.
    """
    store.write_table(_place(cluster, name), rows.cast(TABLES[name]))


def tables(store: Store, cluster: str) -> dict[str, pa.Table]:
    """Return the existing tables of a generated cluster, by name.

    :raises OSError: the lake cannot be read.
    """
    found = {}
    for name in TABLES:
        if store.exists(_place(cluster, name)):
            with store.open(_place(cluster, name)) as source:
                found[name] = pq.read_table(source)
    return found


def _place(cluster: str, name: str) -> str:
    return f"{FOLDER}/{file_name(cluster)}/{name}.parquet"
