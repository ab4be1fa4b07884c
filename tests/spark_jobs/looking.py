"""All rules over what lies in a lake."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from hadash.lake.store import Store
from spark.jobs import facts
from spark.jobs.given import Reader, Settings
from spark.jobs.governance import PARTS_AT_ONCE
from spark.rules.all import RULES
from spark.rules.base import findings_of

WINDOW_DAYS = 7


def found_in(spark: SparkSession, store: Store) -> list[Any]:
    """What the rules find, once its reports have become facts: rows of :data:`spark.schemas.FINDINGS`."""
    facts.run(spark, store, {})
    given = Reader(spark, store).read(Settings(window_days=WINDOW_DAYS))
    with ThreadPoolExecutor(PARTS_AT_ONCE) as rules:
        found = rules.map(lambda code: findings_of(code, given.inputs).collect(), RULES)
        return [row for rows in found for row in rows]
