"""Compares the rights of one pair's AppIDs in one task: takes rows, returns rows. The comparison itself is in
:mod:`hadash.mirroring.effective_rights`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from hadash.kafka.values import Acl
from hadash.mirroring.acls import Existing
from hadash.mirroring.effective_rights import Rules, Side, beyond

#: The kinds of rows of :data:`COMPARED`.
RULE, USE, MIRRORED, PAIR = "rule", "use", "mirrored", "pair"

_EVERYBODY = "*"


def _texts(*names: str) -> StructType:
    return StructType([StructField(name, StringType(), True) for name in names])


#: ``what`` says which columns are set: a ``rule`` of an AppID (``*``: of all users) on a cluster, a ``use``
#: (AppID, type, name), a Topic that is ``mirrored``, and the ``pair`` itself with its two clusters.
COMPARED = _texts(
    "pair", "what", "appid", "cluster", "resource_type", "resource", "pattern", "principal", "host", "operation",
    "permission", "first", "second",
)  # fmt: skip

#: The rights that an AppID has on one cluster only.
BEYOND = _texts("pair", "appid", "cluster", "right")


def of_pair(rows: pa.Table) -> pa.Table:
    """Return the differences (:data:`BEYOND`) of one pair's rows (:data:`COMPARED`)."""
    return pa.Table.from_pylist(list(_beyond(rows.to_pylist())), schema=to_arrow_schema(BEYOND))


def _beyond(rows: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    rules: dict[tuple[str, str], list[Acl]] = defaultdict(list)
    used: dict[str, list[tuple[str, str]]] = defaultdict(list)
    mirrored: set[str] = set()
    pair, clusters = "", None
    for row in rows:
        if row["what"] == RULE:
            rules[row["appid"], row["cluster"]].append(_acl(row))
        elif row["what"] == USE:
            used[row["appid"]].append((row["resource_type"], row["resource"]))
        elif row["what"] == MIRRORED:
            mirrored.add(row["resource"])
        else:
            pair, clusters = row["pair"], (row["first"], row["second"])
    if clusters is None:
        return
    existing = Existing(mirrored)
    everybodys = {cluster: Rules(rules.get((_EVERYBODY, cluster), ())) for cluster in clusters}
    for appid in {appid for appid, _ in rules} - {_EVERYBODY} | used.keys():
        first, second = (
            Side(Rules(rules.get((appid, cluster), ())), everybodys[cluster]) for cluster in clusters
        )
        for cluster, rights in zip(clusters, beyond(first, second, used[appid], existing), strict=True):
            for right in rights:
                yield {"pair": pair, "appid": appid, "cluster": cluster, "right": str(right)}


def _acl(row: dict[str, Any]) -> Acl:
    names = ("resource_type", "resource", "pattern", "principal", "host", "operation", "permission")
    return Acl(*(row[name] for name in names))
