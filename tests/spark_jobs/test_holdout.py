"""The rules on a held-out fleet: made of recorded reports, with faults that somebody seeded who had read
their sentences only.
"""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from hadash.governance.catalogue import CATALOGUE, Code
from hadash.lake.access import CSV, GATEWAY
from hadash.lake.store import Store
from spark.fleet.clean import Builder, Size
from spark.fleet.holdout.builder import HoldoutBuilder
from spark.fleet.holdout.generating import CASES, generate
from spark.fleet.model import Answer, faults, write
from spark.fleet.recorded.clients import combination, recorded
from spark.rules.all import RULES
from spark_jobs.looking import found_in

#: Of each rule at least so many that are wrong, and so many that only look like it.
LEAST = 3


@pytest.fixture(scope="module")
def builder() -> HoldoutBuilder:
    return generate(recorded())


def test_every_rule_has_faults_and_near_misses(builder: HoldoutBuilder) -> None:
    assert set(CASES) == set(CATALOGUE) == set(RULES)
    wrong = Counter(answer.code for answer in builder.fleet.answers)
    near = Counter(miss.answer.code for miss in builder.near_misses)
    assert {code for code in Code if wrong[code] < LEAST} == set()
    assert {code for code in Code if near[code] < LEAST} == set()
    assert not builder.fleet.answers & {miss.answer for miss in builder.near_misses}


def test_a_gateway_really_reports_such_clients(builder: HoldoutBuilder) -> None:
    """Library, version, acks, idempotence, transactions, assignors and session timeout stand together as they
    were recorded.
    """
    made = {combination(fact._asdict()) for fact in builder.fleet.facts if fact.source == GATEWAY}
    assert made - recorded().combinations == set()
    assert {fact.source for fact in builder.fleet.facts} >= {GATEWAY, CSV}, "importers say something, too"


def test_so_does_it_of_the_applications_in_fleets_with_nothing_wrong() -> None:
    made = {combination(fact._asdict()) for fact in Builder(Size(appids=60, seed=3)).fleet.facts}
    assert made - recorded().combinations == set()


@pytest.mark.in_turn
@pytest.mark.spark
def test_the_rules_find_what_is_wrong_and_nothing_else(
    spark: SparkSession, store: Store, builder: HoldoutBuilder
) -> None:
    write(store, builder.fleet)
    rows = found_in(spark, store)
    found = [Answer(Code(row["code"]), row["pair"], row["appid"], row["name"]) for row in rows]
    wrong, missed = faults(found, builder.fleet)
    why = {miss.answer: miss.why for miss in builder.near_misses}
    evidence = {answer: row["evidence"] for answer, row in zip(found, rows, strict=True)}
    said = [f"found, but {why.get(each, 'nobody has seeded it')}: {each} {evidence[each]}" for each in wrong]
    said += [f"missed: {each}" for each in missed]
    assert not said, "\n".join(said)
