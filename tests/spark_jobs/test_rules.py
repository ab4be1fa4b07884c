"""The rules over a whole estate: on made-up estates each finds all that is wrong, and nothing else."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from hadash.governance.catalogue import CATALOGUE, Code
from hadash.lake import snapshots
from hadash.lake.store import Store
from hadash.sentences import fill
from spark import manifest
from spark.estate.clean import Size
from spark.estate.model import Answer, faults, write
from spark.estate.planted import PLANTS, generate
from spark.jobs import facts
from spark.rules import inputs
from spark.rules.all import RULES
from spark.rules.base import findings

pytestmark = pytest.mark.spark

WINDOW_DAYS = 7


def test_every_rule_of_the_catalogue_is_there_once_and_is_tried() -> None:
    assert set(RULES) == set(CATALOGUE) == set(PLANTS) == set(Code)


@pytest.mark.parametrize("seed", [7, pytest.param(2026, marks=pytest.mark.long)])
def test_what_is_wrong_in_an_estate_is_found_and_nothing_else(
    spark: SparkSession, store: Store, seed: int
) -> None:
    estate = generate(Size(appids=120, seed=seed), times=3)
    write(store, estate)
    facts.run(spark, store, {})
    known = manifest.read(store)
    snapshot = snapshots.newest(store)
    assert snapshot is not None
    all_facts = facts.read_facts(spark, store, known)
    given = inputs.read(spark, store, all_facts, known.newest, snapshot, WINDOW_DAYS)
    rows = findings(given).collect()
    found = [Answer(Code(row["code"]), row["pair"], row["appid"], row["name"]) for row in rows]
    wrong, missed = faults(found, estate)
    assert (wrong, missed) == ([], []), "precision and recall of every rule are 1"
    assert len(found) == len(set(found)), "nothing is found twice"
    for row in rows:
        said = fill(CATALOGUE[Code(row["code"])].evidence.text, row["evidence"])
        assert "%(" not in said and "None" not in said, f"{row['code']} gives all values of its sentence"
