"""What has changed from one run of a job to another. The database compares: runs may have a million rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import connection
from psycopg import sql

from hadash.governance.models import Run
from hadash.governance.selectors import TABLES

#: By table: what makes rows of two runs the same, and what of them is compared. (Counts of requests grow all the time: an edge that is
#: there in both is the same, and the cells of the map of coverage are of other AppIDs each time.) What is compared has a key without nulls.
COMPARED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "edges": (("pair", "appid", "client_id", "kind", "resource", "cluster"), ()),
    "nodes": (("pair", "kind", "appid", "names"), ("cluster", "radius_instance", "radius_appid")),
    "islands": (
        ("pair", "kind", "appid", "names"),
        ("cluster", "things", "appids", "topics", "groups", "radius_instance"),
    ),
    "sharing": (
        ("pair", "appid"),
        ("clients", "hosts", "libraries", "groups", "topics", "applications", "radius", "radius_by_appid"),
    ),
    "coverage": (
        ("pair", "appid"),
        ("clients", "registered", "nameless", "new_clients", "duplicates", "bypassing", "topics", "mirrored"),
    ),
    "advice": (("pair", "appid"), ("place", "before", "after", "critical_before", "critical_after")),
    "findings": (("pair", "code", "appid", "name"), ()),
    "lag_days": (("pair", "mirror", "date"), ("over_rpo", "seconds_p95", "seconds_most")),
}

#: Rows of each kind of difference that are shown.
SHOWN = 200

#: Differences of a table that a process remembers: who has looked once may look again.
REMEMBERED = 64


@dataclass(frozen=True)
class Change:
    """A row that is in both runs, and not alike: ``values`` are (column, before, now) of those that differ."""

    key: tuple[Any, ...]
    values: list[tuple[str, Any, Any]]


@dataclass(frozen=True)
class Difference:
    """How a table of a run differs from that of an earlier one: the keys of rows that came and went, and what changed. Of each at most
    :data:`SHOWN`; how many there are say the counts."""

    table: str
    columns: tuple[str, ...]
    added: list[tuple[Any, ...]]
    gone: list[tuple[Any, ...]]
    changed: list[Change]
    added_count: int
    gone_count: int
    changed_count: int

    @property
    def is_empty(self) -> bool:
        return not (self.added_count or self.gone_count or self.changed_count)


def tables_of(run: Run) -> list[str]:
    """The tables of its job that can be compared."""
    return [name for name in TABLES.get(Run.Job(run.job), {}) if name in COMPARED]


def difference(name: str, before: Run, now: Run, pairs: Iterable[str]) -> Difference:
    """What is other in one table of ``now``. Of a large estate it takes seconds, once: published runs do not change.

    :param pairs: of which rows are compared.
    """
    table = TABLES[Run.Job(now.job)][name]._meta.db_table
    return _difference(name, table, before.pk, now.pk, tuple(sorted(pairs)))


def differences(before: Run, now: Run, pairs: Iterable[str]) -> list[Difference]:
    """The same of all tables."""
    wanted = list(pairs)
    return [difference(name, before, now, wanted) for name in tables_of(now)]


@lru_cache(maxsize=REMEMBERED)
def _difference(name: str, table: str, before: int, now: int, wanted: tuple[str, ...]) -> Difference:
    pairs = list(wanted)
    key, values = COMPARED[name]
    added, added_count = _only(table, key, now, before, pairs)
    gone, gone_count = _only(table, key, before, now, pairs)
    changed, changed_count = _changed(table, key, values, before, now, pairs) if values else ([], 0)
    return Difference(name, key, added, gone, changed, added_count, gone_count, changed_count)


def _columns(names: Iterable[str], of: str = "") -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(of, name) if of else sql.Identifier(name) for name in names)


def _only(
    table: str, key: tuple[str, ...], here: int, there: int, pairs: list[str]
) -> tuple[list[tuple[Any, ...]], int]:
    """(keys that are in run ``here`` and not in ``there``, how many). (For EXCEPT two nulls are alike.)"""
    query = sql.SQL(
        "WITH alone AS (SELECT {key} FROM {table} WHERE run_id = %s AND pair = ANY(%s)"
        " EXCEPT SELECT {key} FROM {table} WHERE run_id = %s AND pair = ANY(%s))"
        " SELECT {key}, (SELECT count(*) FROM alone) FROM alone ORDER BY {key} LIMIT %s"
    ).format(key=_columns(key), table=sql.Identifier(table))
    return _rows(query, [here, pairs, there, pairs, SHOWN])


def _changed(
    table: str, key: tuple[str, ...], values: tuple[str, ...], before: int, now: int, pairs: list[str]
) -> tuple[list[Change], int]:
    differing = sql.SQL(" OR ").join(
        sql.SQL("a.{0} IS DISTINCT FROM b.{0}").format(sql.Identifier(name)) for name in values
    )
    query = sql.SQL(
        "WITH differing AS (SELECT {keys}, {then}, {since} FROM {table} AS a JOIN {table} AS b USING ({key})"
        " WHERE a.run_id = %s AND b.run_id = %s AND pair = ANY(%s) AND ({differing}))"
        " SELECT differing.*, (SELECT count(*) FROM differing) FROM differing ORDER BY {key} LIMIT %s"
    ).format(
        keys=_columns(key),
        key=_columns(key),
        table=sql.Identifier(table),
        differing=differing,
        then=sql.SQL(", ").join(
            sql.SQL("a.{} AS {}").format(sql.Identifier(n), sql.Identifier(f"then_{n}")) for n in values
        ),
        since=sql.SQL(", ").join(
            sql.SQL("b.{} AS {}").format(sql.Identifier(n), sql.Identifier(f"now_{n}")) for n in values
        ),
    )
    rows, count = _rows(query, [before, now, pairs, SHOWN])
    first, second = len(key), len(key) + len(values)
    return [
        Change(
            row[:first],
            [
                (name, then, since)
                for name, then, since in zip(values, row[first:second], row[second:], strict=True)
                if then != since
            ],
        )
        for row in rows
    ], count


def _rows(query: sql.Composed, values: list[Any]) -> tuple[list[tuple[Any, ...]], int]:
    """(the rows without their last column, which has the count of all)."""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        found = cursor.fetchall()
    return [tuple(map(_read, row[:-1])) for row in found], int(found[0][-1]) if found else 0


def _read(value: Any) -> Any:
    """(Django's connections answer JSON as text: the only texts here that begin so are lists of names.)"""
    return json.loads(value) if isinstance(value, str) and value.startswith('["') else value
