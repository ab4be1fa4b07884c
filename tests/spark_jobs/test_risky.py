"""Plans and the risk job read one table of client risks: over rows and over columns it hits the same uses."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from hadash.governance.client_risks import RISKS, Seen, hit, release
from spark.rules import risky
from spark.schemas import FACTS

pytestmark = pytest.mark.spark

VERSIONS = (
    *(f"2.{minor}.{patch}" for minor in range(9) for patch in range(4)),
    *(f"3.{minor}.{patch}" for minor in range(3) for patch in range(4)),
    "2.6.1-cp1", "2.6", "3", "", "2.6.10", "2.7.0.1", "4.1.0-SNAPSHOT", "20261127.1234567.1", "x2.6.1", None,
)  # fmt: skip


def random_uses(seed: int, count: int) -> list[dict[str, Any]]:
    """Of few clients, Topics and groups, so that these meet."""
    rng = random.Random(seed)
    said = (None, True, False)
    return [
        {
            "pair": "main",
            "cluster": "east",
            "appid": rng.choice(("shop", "ads")),
            "client_id": rng.choice((None, "", "a", "b", "c", "d", "e", "f")),
            "kind": rng.choice(("produce", "consume", "group", "group")),
            "resource": rng.choice(("orders", "carts", "people")),
            "library": rng.choice(
                ("apache-kafka-java", "apache-kafka-java", "kafka-python", "librdkafka", "", None)
            ),
            "version": rng.choice(VERSIONS),
            "acks": rng.choice((None, -1, 0, 1)),
            "idempotent": rng.choice(said),
            "transactional": rng.choice(said),
            "member": rng.choice((None, 0, 1)),
            "session_timeout_ms": rng.choice((None, None, 45_000)),
            "source": "gateway",
        }
        for _ in range(count)
    ]


def as_seen(use: dict[str, Any]) -> Seen:
    """As collected from a Gateway: what nobody has said is not there."""
    names = ("acks", "idempotent", "transactional", "session_timeout_ms")
    details = {name: use[name] for name in names if use[name] is not None}
    if use["member"] is not None:
        details["member"] = bool(use["member"])
    return Seen(
        use["appid"],
        use["client_id"] or "",
        use["kind"],
        use["resource"],
        use["library"] or "",
        use["version"] or "",
        details,
    )


def test_the_same_uses_are_hit(spark: SparkSession) -> None:
    found = dict.fromkeys(RISKS, 0)
    worlds = [random_uses(seed, 60) for seed in range(20)]
    uses = list(itertools.chain.from_iterable(worlds))
    for world, rows in enumerate(worlds):
        for use in rows:
            use["pair"] = f"pair-{world}"  # (each is a world of its own, and one run of Spark looks at all)
    numbered = [use | {"days": number} for number, use in enumerate(uses)]
    facts = spark.createDataFrame(
        [tuple(use.get(name) for name in FACTS.names) for use in numbered], FACTS
    ).cache()
    for code, risk in RISKS.items():
        by_columns = sorted(row["days"] for row in risky.hit(risk, facts).select("days").collect())
        by_rows = []
        for world in range(len(worlds)):
            here = {use["days"]: as_seen(use) for use in numbered if use["pair"] == f"pair-{world}"}
            hits = {id(row) for row in hit(risk, list(here.values()))}
            by_rows += [number for number, row in here.items() if id(row) in hits]
        assert by_columns == sorted(by_rows), code
        found[code] = len(by_rows)
    assert min(found.values()) > 5, f"every risk is hit some times, or nothing was compared: {found}"


def test_the_same_of_a_version_is_read(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(version,) for version in VERSIONS], "version string")
    read = frame.select("version", risky.release(F.col("version")).alias("numbers")).collect()
    assert {row["version"]: row["numbers"] for row in read} == {
        version: (list(numbers) if (numbers := release(version or "")) else None) for version in VERSIONS
    }
