"""Compacts small files of reports into one for each hour, with one task for each hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from hadash.lake import compaction
from hadash.lake.store import Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result: the number of compacted hours, and of the files and rows in them."""

    hours: int = 0
    files: int = 0
    rows: int = 0


def run(spark: SparkSession, store: Store) -> Outcome:
    """Compact all hours that are settled. :raises OSError: the lake cannot be read or written to; nothing is lost."""
    settled = compaction.settled(store, datetime.now(UTC))
    if not settled:
        return Outcome()
    url = store.url
    done = (
        spark.sparkContext.parallelize(settled, len(settled))
        .map(lambda hour: compaction.compact(Store(url), hour))
        .collect()
    )
    compacted = [each for each in done if each is not None]
    return Outcome(
        len(compacted), sum(each.files_before for each in compacted), sum(each.rows for each in compacted)
    )
