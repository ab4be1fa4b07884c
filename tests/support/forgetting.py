"""A PostgreSQL that forgets: what it holds of a switch and of all mirrors is kept, and put back later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

#: Tables whose rows are changed back, and those whose rows are replaced, each with the rows that belong to a switch.
CHANGED = {"switching_switch": "key = %(key)s", "mirroring_mirror": "TRUE"}
REPLACED = {
    "switching_stagerecord": "switch_id = (SELECT id FROM switching_switch WHERE key = %(key)s)",
    "switching_switchevent": "switch_id = (SELECT id FROM switching_switch WHERE key = %(key)s)",
    "mirroring_mirroroffsetsync": "TRUE",
}


@dataclass(frozen=True)
class Kept:
    """The rows of each table, as they were."""

    key: str
    rows: dict[str, list[dict[str, Any]]]


def keep(database_url: str, key: str) -> Kept:
    """What is committed of switch ``key`` now."""
    with psycopg.connect(database_url) as database:
        rows = {}
        for table, condition in (CHANGED | REPLACED).items():
            query = sql.SQL(f"SELECT to_jsonb(t) FROM {table} t WHERE {condition}")
            rows[table] = [row for (row,) in database.execute(query, {"key": key})]
    return Kept(key, rows)


def put_back(database_url: str, kept: Kept) -> None:
    """All of it is again as it was, as on a replica without the commits since."""
    with psycopg.connect(database_url) as database:
        for table, condition in REPLACED.items():
            database.execute(sql.SQL(f"DELETE FROM {table} WHERE {condition}"), {"key": kept.key})
            for row in kept.rows[table]:
                query = sql.SQL(f"INSERT INTO {table} SELECT * FROM jsonb_populate_record(NULL::{table}, %s)")
                database.execute(query, [Jsonb(row)])
        for table in CHANGED:
            for row in kept.rows[table]:
                columns = sql.SQL(", ").join(map(sql.Identifier, row))
                query = sql.SQL(
                    "UPDATE {table} SET ({columns}) = "
                    "(SELECT {columns} FROM jsonb_populate_record(NULL::{table}, %s)) WHERE id = %s"
                ).format(table=sql.Identifier(table), columns=columns)
                database.execute(query, [Jsonb(row), row["id"]])
