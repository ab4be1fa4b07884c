"""Updates findings over runs: they are opened, stay open, get worse, are resolved, and are opened again. This
is part of the transaction that publishes a run.
"""

from __future__ import annotations

import json
from typing import Any

import psycopg

from hadash.governance.catalogue import CATALOGUE
from hadash.governance.catalogue.figures import WORSE_BY, WORSE_TIMES

#: The acceptance of a ``finding`` that holds today (as :func:`hadash.governance.selectors.in_force`).
IN_FORCE = (
    "SELECT FROM governance_acceptance WHERE finding_id = finding.id AND withdrawn_at IS NULL"
    " AND until >= (now() AT TIME ZONE 'UTC')::date"
)

#: The measure of a finding; null where its rule has none.
_MEASURE = r"CASE WHEN evidence ->> rules.measure ~ '^[0-9]+(\.[0-9]+)?$' THEN (evidence ->> rules.measure)::float8 END"

#: Whether an open finding is worse now: its rule has a higher severity, or its measure is much larger, which is
#: reported once a day at most. (False where the measure is null.)
_WORSE = (
    "coalesce(excluded.weight > known.weight OR"
    " (excluded.measure >= known.least + %(by)s AND excluded.measure >= known.least * %(times)s"
    " AND (known.worse_at IS NULL OR known.worse_at <= now() - interval '1 day')), false)"
)


def carry_on(cursor: psycopg.Cursor[Any], run: int, undecided: frozenset[tuple[str, str]]) -> None:
    """Update ``governance_finding`` with the findings of ``run`` (its rows in ``governance_found``).

    :param undecided: (pair, code) that the run could not judge: open findings of these stay open.
    """
    cursor.execute(
        "CREATE TEMPORARY TABLE rules (code text PRIMARY KEY, weight smallint NOT NULL, measure text NOT "
        "NULL) ON COMMIT DROP"
    )
    cursor.executemany(
        "INSERT INTO rules VALUES (%s, %s, %s)",
        [(code.value, entry.weight, entry.measure) for code, entry in CATALOGUE.items()],
    )
    cursor.execute(
        f"""
        INSERT INTO governance_finding AS known (
            pair, code, appid, name, weight, evidence, measure, least, state, first_at, opened_at, reopened, last_run
        )
        SELECT
            pair, found.code, appid, name, weight, evidence, {_MEASURE}, {_MEASURE}, 'open', now(), now(), 0, %(run)s
        FROM governance_found AS found JOIN rules ON rules.code = found.code WHERE run_id = %(run)s
        ON CONFLICT (pair, code, appid, name) DO UPDATE SET
            weight = excluded.weight,
            evidence = excluded.evidence,
            measure = excluded.measure,
            least = CASE
                WHEN known.state <> 'open' OR {_WORSE} THEN excluded.measure
                WHEN excluded.measure * %(times)s <= known.least THEN excluded.measure
                ELSE coalesce(known.least, excluded.measure)
            END,
            worse_at = CASE
                WHEN known.state <> 'open' THEN NULL
                WHEN {_WORSE} THEN now()
                ELSE known.worse_at
            END,
            last_run = excluded.last_run,
            state = 'open',
            opened_at = CASE WHEN known.state = 'open' THEN known.opened_at ELSE now() END,
            reopened = known.reopened + CASE WHEN known.state = 'open' THEN 0 ELSE 1 END
        """,
        {"run": run, "times": WORSE_TIMES, "by": WORSE_BY},
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
