"""Findings over runs: they open, stay, are resolved, and come up again. Within the transaction that publishes a run."""

from __future__ import annotations

import json
from typing import Any

import psycopg

from hadash.governance.catalogue import CATALOGUE

#: The acceptance of a ``finding`` that holds today (as :func:`hadash.governance.selectors.in_force`).
IN_FORCE = (
    "SELECT FROM governance_acceptance WHERE finding_id = finding.id AND withdrawn_at IS NULL"
    " AND until >= (now() AT TIME ZONE 'UTC')::date"
)


def carry_on(cursor: psycopg.Cursor[Any], run: int, undecided: frozenset[tuple[str, str]]) -> None:
    """Bring ``governance_finding`` up to what ``run`` has found (its rows in ``governance_found``).

    :param undecided: (pair, code) of what nobody could look at: what is open there stays open.
    """
    cursor.execute(
        "CREATE TEMPORARY TABLE weights (code text PRIMARY KEY, weight smallint NOT NULL) ON COMMIT DROP"
    )
    cursor.executemany(
        "INSERT INTO weights VALUES (%s, %s)",
        [(code.value, entry.weight) for code, entry in CATALOGUE.items()],
    )
    cursor.execute(
        """
        INSERT INTO governance_finding AS known
            (pair, code, appid, name, weight, evidence, state, first_at, opened_at, reopened, last_run)
        SELECT pair, found.code, appid, name, weight, evidence, 'open', now(), now(), 0, %(run)s
        FROM governance_found AS found JOIN weights ON weights.code = found.code WHERE run_id = %(run)s
        ON CONFLICT (pair, code, appid, name) DO UPDATE SET
            weight = excluded.weight,
            evidence = excluded.evidence,
            last_run = excluded.last_run,
            state = 'open',
            opened_at = CASE WHEN known.state = 'open' THEN known.opened_at ELSE now() END,
            reopened = known.reopened + CASE WHEN known.state = 'open' THEN 0 ELSE 1 END
        """,
        {"run": run},
    )
    pairs = [{"pair": pair, "code": code} for pair, code in sorted(undecided)]
    cursor.execute(
        """
        UPDATE governance_finding AS known SET state = 'resolved', resolved_at = now()
        WHERE state = 'open' AND last_run <> %s
        AND NOT EXISTS (
            SELECT FROM jsonb_to_recordset(%s::jsonb) AS away (pair text, code text)
            WHERE away.pair = known.pair AND away.code = known.code
        )
        """,
        [run, json.dumps(pairs)],
    )
