"""The differences between two runs of a job. The database compares them: runs may have a million rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import Any

from django.db import connection
from psycopg import sql

from hadash.governance.models.runs import Run
from hadash.governance.selectors import TABLES

#: By table: the columns that identify a row in both runs, and the columns that are compared. (Counts of
#: requests grow all the time, so an edge that is in both runs counts as unchanged. The cells of the map of
#: coverage are of other AppIDs in each run and are not compared.) Where columns are compared, the key has no
#: nulls.
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
    "shared_by": (("pair", "appid", "application"), ("clients", "hosts")),
    "coverage": (
        ("pair", "appid"),
        ("clients", "registered", "nameless", "new_clients", "duplicates", "bypassing", "topics", "mirrored"),
    ),
    "advice": (("pair", "appid"), ("place", "before", "after", "critical_before", "critical_after")),
    "findings": (("pair", "code", "appid", "name"), ()),
    "lag_days": (("pair", "mirror", "date"), ("over_rpo", "seconds_p95", "seconds_most")),
}

#: Rows of each kind of difference that are shown, at most.
SHOWN = 200

#: Of each kind of difference, where all are wanted: more than a run can have.
ALL = 2**31 - 1

#: Rows that are read from the database at a time where all are wanted.
CHUNK = 2000

#: Differences of a table that a process caches: the same comparison is often looked at again.
REMEMBERED = 64


@dataclass(frozen=True)
class Change:
    """A row that is in both runs with different values: ``values`` are (column, before, now) of those."""

    key: tuple[Any, ...]
    values: list[tuple[str, Any, Any]]


@dataclass(frozen=True)
class Difference:
    """The difference between a table of a run and that of an earlier one: the keys of added and gone rows, and
    the changed rows. Of each at most :data:`SHOWN` are listed, those of one page; the counts are complete.
    """

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

    @property
    def pages(self) -> int:
        """How many pages it takes until all rows of each kind have been listed."""
        return max(1, ceil(max(self.added_count, self.gone_count, self.changed_count) / SHOWN))


def tables_of(run: Run) -> list[str]:
    """Return the names of the run's tables that can be compared."""
    return [name for name in TABLES.get(Run.Job(run.job), {}) if name in COMPARED]


def difference(name: str, before: Run, now: Run, pairs: Iterable[str], page: int = 1) -> Difference:
    """Return the difference between one table of ``before`` and of ``now``. For a large fleet this takes
    seconds; the result is cached, because published runs do not change.

    :param pairs: the pairs whose rows are compared.
    :param page: from 1; one that does not exist is the nearest one that does.
    """
    table = TABLES[Run.Job(now.job)][name]._meta.db_table
    asked = (name, table, before.pk, now.pk, tuple(sorted(pairs)))
    first = _difference(*asked, 1)
    nearest = min(max(page, 1), first.pages)
    if nearest == 1:
        return first
    # (A kind that has no rows on this page has no count in its answer.)
    counts = {name: getattr(first, name) for name in ("added_count", "gone_count", "changed_count")}
    return replace(_difference(*asked, nearest), **counts)


def differences(before: Run, now: Run, pairs: Iterable[str]) -> list[Difference]:
    """Return the differences of all tables, as :func:`difference` does for one."""
    wanted = list(pairs)
    return [difference(name, before, now, wanted) for name in tables_of(now)]


def every_difference(
    name: str, before: Run, now: Run, pairs: Iterable[str]
) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return (the names of columns, every row) of the difference between one table of ``before`` and of ``now``: what
    has happened to the row (added, gone, changed), its key, and before and now of each column that is compared.
    """
    key, values = COMPARED[name]
    table = TABLES[Run.Job(now.job)][name]._meta.db_table
    head = ["difference", *key]
    for column in values:
        head += [f"{column} before", f"{column} now"]
    return head, _every_row(_query(table, key, values), len(key), (before.pk, now.pk), sorted(pairs))


def _every_row(
    query: sql.Composed, keys: int, runs: tuple[int, int], pairs: list[str]
) -> Iterator[tuple[Any, ...]]:
    # (A cursor of the server: the rows of a large fleet would not fit into memory many times.)
    with connection.chunked_cursor() as cursor:
        cursor.execute(query, [runs[0], pairs, runs[1], pairs, 0, ALL])
        while rows := cursor.fetchmany(CHUNK):
            for how, _, *cells in rows:
                read = list(map(_read, cells))
                told = read[keys:]
                half = len(told) // 2
                yield (
                    how,
                    *read[:keys],
                    *(v for both in zip(told[:half], told[half:], strict=True) for v in both),
                )


@lru_cache(maxsize=REMEMBERED)
def _difference(
    name: str, table: str, before: int, now: int, pairs: tuple[str, ...], page: int
) -> Difference:
    key, values = COMPARED[name]
    places = [(page - 1) * SHOWN, page * SHOWN]
    with connection.cursor() as cursor:
        cursor.execute(_query(table, key, values), [before, list(pairs), now, list(pairs), *places])
        rows = cursor.fetchall()
    keys: dict[str, list[tuple[Any, ...]]] = {"added": [], "gone": []}
    changed: list[Change] = []
    counts = dict.fromkeys(("added", "gone", "changed"), 0)
    for how, count, *cells in rows:
        counts[how] = count
        read = tuple(map(_read, cells))
        own, told = read[: len(key)], read[len(key) :]
        if how == "changed":
            both = zip(values, told[: len(values)], told[len(values) :], strict=True)
            changed.append(Change(own, [each for each in both if each[1] != each[2]]))
        else:
            keys[how].append(own)
    return Difference(
        name, key, keys["added"], keys["gone"], changed, counts["added"], counts["gone"], counts["changed"]
    )


def _query(table: str, key: tuple[str, ...], values: tuple[str, ...]) -> sql.Composed:
    """Return a query for rows of (kind of difference, number of rows of that kind, the key, the values before,
    the values now), in order. Its last two parameters are the places of each kind after which and up to which rows
    are wanted.

    It groups the rows of both runs by their keys: a join would depend on PostgreSQL's estimates for runs that
    have just been published (with a million rows it took minutes). GROUP BY treats nulls as equal.
    """
    names = [sql.Identifier(name) for name in (*key, *values)]
    then, now = ([sql.Identifier(f"{side}_{name}") for name in values] for side in ("then", "now"))
    side = sql.SQL("SELECT {names}, {side} AS side FROM {table} WHERE run_id = %s AND pair = ANY(%s)")
    sides = [side.format(names=_listed(names), side=number, table=sql.Identifier(table)) for number in (0, 1)]
    told = [
        sql.SQL("max({}) FILTER (WHERE side = {}) AS {}").format(sql.Identifier(name), number, as_name)
        for number, as_names in enumerate((then, now))
        for name, as_name in zip(values, as_names, strict=True)
    ]
    differing = [
        sql.SQL("{} IS DISTINCT FROM {}").format(one, other) for one, other in zip(then, now, strict=True)
    ]
    keys = [sql.Identifier(name) for name in key]
    query = sql.SQL(
        "WITH together AS (SELECT {together} FROM ({sides}) AS sides GROUP BY {keys}),"
        " differing AS (SELECT CASE WHEN NOT was THEN 'added' WHEN NOT still THEN 'gone' ELSE 'changed' "
        "END AS how, {all} FROM together"
        " WHERE NOT was OR NOT still OR {differ}),"
        " ranked AS (SELECT how, count(*) OVER (PARTITION BY how) AS many, row_number() OVER (PARTITION BY "
        "how ORDER BY {keys}) AS place, {all}"
        " FROM differing)"
        " SELECT how, many, {all} FROM ranked WHERE place > %s AND place <= %s ORDER BY how, place"
    )
    return query.format(
        together=_listed(
            [*keys, sql.SQL("bool_or(side = 0) AS was"), sql.SQL("bool_or(side = 1) AS still"), *told]
        ),
        sides=sql.SQL(" UNION ALL ").join(sides),
        keys=_listed(keys),
        all=_listed([*keys, *then, *now]),
        differ=sql.SQL(" OR ").join(differing) if differing else sql.SQL("FALSE"),
    )


def _listed(parts: Iterable[sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(parts)


def _read(value: Any) -> Any:
    """Decode a value that is a JSON list. (Django's connections return JSON as text; no other text here begins
    with ``["``.)
    """
    return json.loads(value) if isinstance(value, str) and value.startswith('["') else value
