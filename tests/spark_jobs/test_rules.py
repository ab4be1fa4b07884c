"""The rules over a whole fleet: on made-up fleets each finds all that is wrong, and nothing else."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from hadash.governance.catalogue import CATALOGUE, Code
from hadash.lake.store import Store
from hadash.sentences import fill
from spark import session
from spark.fleet.clean import Size
from spark.fleet.model import Answer, faults, write
from spark.fleet.seeded import SEEDED_FAULTS, generate
from spark.rules.all import RULES
from spark_jobs.looking import found_in

pytestmark = pytest.mark.spark


def test_every_rule_of_the_catalogue_is_there_once_and_is_tried() -> None:
    assert set(RULES) == set(CATALOGUE) == set(SEEDED_FAULTS) == set(Code)


@pytest.mark.parametrize(
    ("seed", "bytes_a_partition"),
    [
        (7, session.BYTES_A_PARTITION),
        pytest.param(2026, 40_000, marks=pytest.mark.long, id="plans of a large fleet"),
    ],
)
def test_what_is_wrong_in_a_fleet_is_found_and_nothing_else(
    spark: SparkSession, store: Store, seed: int, bytes_a_partition: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "BYTES_A_PARTITION", bytes_a_partition)
    fleet = generate(Size(appids=120, seed=seed), times=3)
    write(store, fleet)
    rows = found_in(spark, store)
    found = [Answer(Code(row["code"]), row["pair"], row["appid"], row["name"]) for row in rows]
    wrong, missed = faults(found, fleet)
    assert (wrong, missed) == ([], []), "precision and recall of every rule are 1"
    assert len(found) == len(set(found)), "nothing is found twice"
    for row in rows:
        said = fill(CATALOGUE[Code(row["code"])].evidence.text, row["evidence"])
        assert "%(" not in said and "None" not in said, f"{row['code']} gives all values of its sentence"
