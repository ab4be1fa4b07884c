"""What the audit of a mirror says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hadash.auditors.models import AuditedPartition
from hadash.auditors.proofs import Proof, Standing, standing_of
from hadash.kafka.values import Partition
from hadash.sentences import say

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STALE = 60.0


def row(number: int = 0, **values: Any) -> AuditedPartition:
    """A partition whose 1,000 records were all compared two seconds ago."""
    known: dict[str, Any] = {
        "source_begin": 0, "target_begin": 0, "source_next": 1000, "target_next": 1000, "source_start": 0,
        "source_end": 1000, "equal": 1000, "compared_at": NOW - timedelta(seconds=2),
        "updated_at": NOW - timedelta(seconds=1),
    }  # fmt: skip
    return AuditedPartition(topic="orders", partition=number, **{**known, **values})


def standing(*rows: AuditedPartition, expected: int | None = None) -> Standing:
    count = len(rows) if expected is None else expected
    return standing_of(rows, {Partition("orders", n) for n in range(count)}, NOW, STALE)


def test_all_partitions_are_proved_equal() -> None:
    found = standing(row(0), row(1, compared_at=NOW - timedelta(seconds=9)))
    assert found.proof is Proof.EQUAL and found.share == 1.0
    assert (
        str(found.sentence) == "Proved equal, record by record (partitions: 2); the oldest proof is 9 s old."
    )


def test_one_that_differs_is_not_hidden_by_others() -> None:
    found = standing(row(0), row(1, different=3), row(2, fault=say("The mirror is being turned round.")))
    assert found.proof is Proof.DIFFERENT
    assert str(found.sentence) == "Both sides differ in 1 of 3 partitions (differences: 3)."


def test_one_that_differs_still_does_when_nobody_compares_any_more() -> None:
    assert standing(row(different=1, updated_at=NOW - timedelta(days=1))).proof is Proof.DIFFERENT


def test_without_auditors_nothing_is_proved() -> None:
    found = standing(expected=4)
    assert found.proof is Proof.UNKNOWN and found.share is None and found.age is None
    assert str(found.sentence) == "No auditor has compared this mirror."


def test_an_old_comparison_proves_nothing() -> None:
    old = NOW - timedelta(seconds=300)
    found = standing(row(compared_at=old, updated_at=old))
    assert found.proof is Proof.UNKNOWN
    assert "The last comparison is 300 s old: look at the auditors." in str(found.sentence)


def test_a_partition_that_nobody_has_compared_is_missed() -> None:
    found = standing(row(0), expected=3)
    assert found.proof is Proof.UNKNOWN and "Partitions that were not compared yet: 2." in str(found.sentence)


def test_why_a_partition_is_not_compared_is_told() -> None:
    found = standing(row(0), row(1, fault=say("The Topic is compacted.")))
    assert found.proof is Proof.UNKNOWN
    assert str(found.sentence).endswith("orders-1: The Topic is compacted.")


@pytest.mark.parametrize("compared_at", [None, NOW - timedelta(seconds=90)])
def test_one_whose_comparison_is_behind_is_under_way(compared_at: datetime | None) -> None:
    assert standing(row(compared_at=compared_at)).proof is Proof.UNDER_WAY


def test_what_the_target_lacks_for_long_is_no_proof() -> None:
    found = standing(row(waiting_since=NOW - timedelta(seconds=90)))
    assert found.proof is Proof.UNKNOWN
    assert "orders-0: the target lacks records that the source holds." in str(found.sentence)


@pytest.mark.parametrize(("seconds", "is_waiting"), [(2, False), (30, True)])
def test_a_target_that_lacks_records_for_long_is_told(seconds: int, is_waiting: bool) -> None:
    found = standing(row(waiting_since=NOW - timedelta(seconds=seconds)))
    assert found.partitions[0].is_waiting is is_waiting and found.proof is Proof.EQUAL


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ({"source_begin": 500}, 0.5),
        ({"source_next": 250}, 0.25),
        ({"source_begin": 100, "source_start": 200}, 1.0),
        ({"source_start": 1000}, 1.0),
        ({"source_next": 100, "source_start": 200}, 0.0),
        ({"source_end": None}, None),
    ],
)
def test_the_share_is_of_what_the_source_still_holds(values: dict[str, Any], share: float | None) -> None:
    assert standing(row(**values)).share == share


def test_the_share_of_a_mirror_counts_records_not_partitions() -> None:
    assert standing(row(0), row(1, source_end=100_000, source_next=0)).share == pytest.approx(1000 / 101_000)
