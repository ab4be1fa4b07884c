"""The table of client risks: each with versions and values on both sides of its bounds.

(That Spark reads it in the same way: ``tests/spark_jobs/test_risky.py``.)
"""

from __future__ import annotations

from typing import Any

import pytest

from hadash.governance.catalogue import CATALOGUE, Code
from hadash.governance.client_risks import RISKS, Seen, clients, hit, release

JOINED = {"member": True}


def use(kind: str, resource: str = "orders", client_id: str = "web", **details: Any) -> Seen:
    return Seen("shop", client_id, kind, resource, details=details)


def java(version: str, *, library: str = "apache-kafka-java", **details: Any) -> Seen:
    return Seen("shop", "bill", "group", "billing", library, version, details)


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("3.9.0", (3, 9, 0)),
        ("3.9", (3, 9, 0)),
        ("2.6.1-cp1", (2, 6, 1)),
        ("7.4.0.Final", (7, 4, 0)),
        ("3", None),
        ("unknown", None),
        ("", None),
        ("20261127.1234567.1", None),
    ],
)
def test_what_of_a_version_is_read(version: str, numbers: tuple[int, int, int] | None) -> None:
    assert release(version) == numbers


@pytest.mark.parametrize(
    ("code", "details", "versions"),
    [
        (
            Code.KAFKA_10793,
            JOINED,
            {"2.4.1": 0, "2.5.0": 1, "2.6.1": 1, "2.6.2": 0, "2.7.0": 1, "2.7.1": 0, "2.8.0": 0},
        ),
        # What mended the one brought the other.
        (
            Code.KAFKA_13563,
            {},
            {"2.6.1": 0, "2.6.2": 1, "2.7.0": 0, "2.7.1": 1, "3.1.1": 1, "3.1.2": 0, "3.2.0": 0},
        ),
    ],
)
def test_versions_of_kafkas_own_consumer(
    code: Code, details: dict[str, Any], versions: dict[str, int]
) -> None:
    assert {version: len(hit(RISKS[code], [java(version, **details)])) for version in versions} == versions
    for library in ("librdkafka", ""):
        assert not any(hit(RISKS[code], [java(version, library=library, **details)]) for version in versions)


def test_a_consumer_hit_by_one_is_not_hit_by_the_other() -> None:
    for minor in range(12):
        for patch in range(4):
            rows = [java(f"{major}.{minor}.{patch}") for major in (2, 3)]
            members = [java(row.version, **JOINED) for row in rows]
            hanging = {row.version for row in hit(RISKS[Code.KAFKA_10793], members)}
            assert not hanging & {row.version for row in hit(RISKS[Code.KAFKA_13563], rows)}


@pytest.mark.parametrize(
    ("code", "row", "is_hit"),
    [
        (Code.ACKS, use("produce", acks=0), True),
        (Code.ACKS, use("produce", acks=1), True),
        (Code.ACKS, use("produce", acks=-1), False),
        (Code.ACKS, use("produce"), False),
        (Code.ACKS, use("consume", acks=1), False),
        (Code.TRANSACTIONS, use("produce", transactional=True), True),
        (Code.TRANSACTIONS, use("produce", transactional=False), False),
        (Code.TRANSACTIONS, use("produce"), False),
        (Code.IDEMPOTENT, use("produce", idempotent=True), True),
        (Code.IDEMPOTENT, use("produce", idempotent=True, transactional=False), True),
        (Code.IDEMPOTENT, use("produce", idempotent=True, transactional=True), False),
    ],
)
def test_what_a_producer_says(code: Code, row: Seen, is_hit: bool) -> None:
    assert bool(hit(RISKS[code], [row])) is is_hit


def test_who_is_in_a_group_is_so_by_client_not_by_use() -> None:
    """Who joins one group reads as its member. To commit in another is another thing."""
    reads = use("consume")
    joins, commits = use("group", "billing", **JOINED), use("group", "billing")
    of_another = use("group", "billing", "bill", **JOINED)
    alone = RISKS[Code.SELF_ASSIGNED]
    assert hit(alone, [reads]) == hit(alone, [reads, commits]) == hit(alone, [reads, of_another]) == [reads]
    assert hit(alone, [reads, joins]) == []


def test_an_outsider_is_one_of_the_very_group() -> None:
    joins_one = Seen("shop", "bill", "group", "billing", "apache-kafka-java", "3.0.0", JOINED)
    commits_in_another = Seen("shop", "bill", "group", "refunds", "apache-kafka-java", "3.0.0")
    assert hit(RISKS[Code.KAFKA_13563], [joins_one, commits_in_another]) == [commits_in_another]


def test_clients_are_named_once() -> None:
    assert clients([use("produce"), use("produce", "carts"), use("produce", client_id="")]) == (
        "shop › web",
        "shop",
    )


def test_every_risk_is_in_the_catalogue() -> None:
    assert set(RISKS) <= set(CATALOGUE)
    assert all(code is risk.code for code, risk in RISKS.items())
