"""What rules are made from, kept in memory: all of it, from however many files and parts it comes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from hadash.lake import snapshots
from hadash.lake.store import Store
from spark.rules import holding
from spark.rules.holding import Held
from spark.session import BYTES_A_PARTITION

pytestmark = pytest.mark.spark

AT = datetime(2026, 11, 21, 17, tzinfo=UTC)

#: More than Spark takes from Arrow at once (``spark.sql.execution.arrow.maxRecordsPerBatch``).
MANY = 25_000


def sample(number: int) -> dict[str, object]:
    return {
        "pair": "main",
        "mirror": "m",
        "at": AT + timedelta(seconds=number),
        "records": number,
        "seconds": 0.5,
    }


@pytest.mark.parametrize("bytes_at_hand", [holding.BYTES_AT_HAND, 0], ids=["at hand", "read by tasks"])
def test_a_table_of_several_snapshots_has_the_rows_of_all_of_them(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch, bytes_at_hand: int
) -> None:
    monkeypatch.setattr(holding, "BYTES_AT_HAND", bytes_at_hand)
    rows = [[], [sample(1)], [], [sample(number) for number in range(MANY)]]
    taken = [
        snapshots.write(store, AT + timedelta(minutes=minute), {"lag": lag})
        for minute, lag in enumerate(rows)
    ]
    held = Held(spark, 0)
    assert held.snapshot_table(store, taken, "lag").count() == MANY + 1
    assert held.snapshot_table(store, [], "lag").count() == 0


@pytest.mark.parametrize("bytes_at_hand", [holding.BYTES_AT_HAND, 0], ids=["at hand", "read by tasks"])
def test_it_says_when_each_row_was_noted(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch, bytes_at_hand: int
) -> None:
    monkeypatch.setattr(holding, "BYTES_AT_HAND", bytes_at_hand)
    taken = [
        snapshots.write(store, AT + timedelta(minutes=minute), {"clusters": [{"cluster": f"east-{minute}"}]})
        for minute in (1, 2)
    ]
    rows = Held(spark, 0).snapshot_table(store, taken, "clusters", with_moment=True).orderBy("at").collect()
    assert [row["cluster"] for row in rows] == ["east-1", "east-2"]


@pytest.mark.parametrize("size", [0, BYTES_A_PARTITION + 1], ids=["small", "large"])
def test_what_is_held_stays_as_it_was(spark: SparkSession, size: int) -> None:
    frame = spark.range(MANY).selectExpr(
        "id", "array(cast(id as string)) AS names", "current_timestamp() AS at"
    )
    held = Held(spark, size)
    kept = held.hold(frame)
    assert kept.schema.names == frame.schema.names
    assert kept.count() == kept.select("id").distinct().count() == MANY
    held.release()
