"""Stores the daily figures of each pair, for charts over months, when runs and their rows no longer exist. This
is part of the transaction that publishes a run.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import psycopg

from hadash.governance.catalogue import WEIGHTS
from spark.publishing.findings import IN_FORCE

_WEIGHTS = {severity.value: weight for severity, weight in WEIGHTS.items()}

#: By table of a run: the columns of figures, and the query that returns ``pair`` and these columns, in order.
_SAID: Mapping[str, tuple[tuple[str, ...], str]] = {
    "coverage": (
        ("appids", "mirrored_appids", "clients", "registered"),
        """
        SELECT pair, count(*), count(*) FILTER (WHERE mirrored >= topics), sum(clients), sum(registered)
        FROM governance_coverage WHERE run_id = %(run)s GROUP BY pair
        """,
    ),
    "sharing": (
        ("shared_appids",),
        """
        SELECT pair, count(*) FILTER (WHERE clients > 1) FROM governance_sharing WHERE run_id = %(run)s GROUP BY pair
        """,
    ),
    "nodes": (
        ("largest_radius", "largest_radius_by_appid"),
        """
        SELECT pair, max(radius_instance), max(radius_appid) FROM governance_node WHERE run_id = %(run)s GROUP BY pair
        """,
    ),
    # (For a pair without findings the figures are 0, not null.)
    "findings": (
        ("high", "medium", "low"),
        f"""
        SELECT pairs.name, count(counting.id) FILTER (WHERE weight = %(high)s),
            count(counting.id) FILTER (WHERE weight = %(medium)s),
            count(counting.id) FILTER (WHERE weight = %(low)s)
        FROM inventory_pair AS pairs LEFT JOIN (
            SELECT * FROM governance_finding AS finding WHERE state = 'open' AND NOT EXISTS ({IN_FORCE})
        ) AS counting ON counting.pair = pairs.name GROUP BY pairs.name
        """,
    ),
}


def note(cursor: psycopg.Cursor[Any], run: int, tables: Container[str]) -> None:
    """Store a run's figures as those of today. :param tables: the names of the run's tables."""
    for table, (columns, said) in _SAID.items():
        if table not in tables:
            continue
        names = ", ".join(columns)
        new = ", ".join(f"{column} = excluded.{column}" for column in columns)
        cursor.execute(
            f"INSERT INTO governance_posture (pair, day, {names})"
            f" SELECT pair, (now() AT TIME ZONE 'UTC')::date, {names} FROM ({said}) AS said (pair, {names})"
            f" ON CONFLICT (pair, day) DO UPDATE SET {new}",
            {"run": run, **_WEIGHTS},
        )
