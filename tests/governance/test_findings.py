"""What rules find about clients: each with somebody it is about, and somebody it is not."""

from __future__ import annotations

from typing import Any

import pytest

from hadash.governance.catalogue import CATALOGUE, Code
from hadash.governance.client_risks import Seen
from hadash.governance.findings import RULES, STOPPING, Circumstances, Finding, findings

REPLICATED = Circumstances(replicated=frozenset({"orders"}))


def found(code: Code, *seen: Seen, circumstances: Circumstances = REPLICATED) -> Finding | None:
    return next((f for f in findings(seen, circumstances) if f.code is code), None)


def writer(client_id: str = "web", topic: str = "orders", **details: Any) -> Seen:
    return Seen("shop", client_id, "produce", topic, details=details)


def reader(client_id: str = "bill", topic: str = "orders", **details: Any) -> Seen:
    return Seen("shop", client_id, "consume", topic, details=details)


def member(client_id: str = "bill", library: str = "", version: str = "", **details: Any) -> Seen:
    return Seen("shop", client_id, "group", "billing", library, version, {"member": True, **details})


class TestAcks:
    @pytest.mark.parametrize("acks", [0, 1])
    def test_what_is_acknowledged_too_early(self, acks: int) -> None:
        finding = found(Code.ACKS, writer(acks=acks))
        assert finding is not None
        assert finding.who == ("shop › web",)
        assert f"shop › web (acks={acks})" in str(finding.sentence)

    @pytest.mark.parametrize(
        "row", [writer(acks=-1), writer(), writer(topic="single", acks=1), reader(acks=1)]
    )
    def test_nobody_else(self, row: Seen) -> None:
        assert found(Code.ACKS, row) is None


class TestSelfAssigned:
    def test_who_reads_and_is_in_no_group(self) -> None:
        finding = found(Code.SELF_ASSIGNED, reader("tool"), reader("bill"), member("bill"))
        assert finding is not None
        assert finding.who == ("shop › tool",)
        assert "orders" in str(finding.sentence)

    def test_equal_offsets_on_both_sides_make_it_movable(self) -> None:
        same = Circumstances(same_offsets=frozenset({"orders"}))
        assert found(Code.SELF_ASSIGNED, reader("tool"), circumstances=same) is None

    @pytest.mark.parametrize("details", [{}, {"member": False}])
    def test_a_client_that_commits_in_a_group_without_joining_it_is_no_member(
        self, details: dict[str, Any]
    ) -> None:
        """Flink, or Spring with partitions that it assigns itself: nobody would translate its place."""
        committer = Seen("shop", "flink", "group", "billing", details=details)
        finding = found(Code.SELF_ASSIGNED, reader("flink"), committer)
        assert finding is not None
        assert finding.who == ("shop › flink",)

    @pytest.mark.parametrize("details", [{"member": True}, {"session_timeout_ms": 45_000}])
    def test_a_client_that_has_joined_its_group_is_a_member(self, details: dict[str, Any]) -> None:
        joined = Seen("shop", "tool", "group", "billing", details=details)
        assert found(Code.SELF_ASSIGNED, reader("tool"), joined) is None


class TestOthers:
    def test_transactions(self) -> None:
        finding = found(Code.TRANSACTIONS, writer(transactional=True), writer("plain", transactional=False))
        assert finding is not None
        assert finding.who == ("shop › web",)

    @pytest.mark.parametrize(
        ("library", "version", "hit"),
        [
            ("apache-kafka-java", "2.6.1", True),
            ("apache-kafka-java", "2.7.0-cp2", True),
            ("apache-kafka-java", "2.7.1", False),
            ("apache-kafka-java", "2.6.10", False),
            ("apache-kafka-java", "", False),
            ("librdkafka", "2.6.1", False),
        ],
    )
    def test_consumers_that_can_hang(self, library: str, version: str, hit: bool) -> None:
        assert (found(Code.KAFKA_10793, member("bill", library, version)) is not None) is hit

    @pytest.mark.parametrize(("timeout", "hit"), [(45_000, False), (45_001, True), (None, False)])
    def test_session_timeouts(self, timeout: int | None, hit: bool) -> None:
        details = {} if timeout is None else {"session_timeout_ms": timeout}
        assert (found(Code.LONG_SESSION, member(**details)) is not None) is hit


def test_every_rule_is_in_the_catalogue_and_the_gravest_come_first() -> None:
    assert set(RULES) <= set(CATALOGUE) == set(Code)
    grave = ["high", "medium", "low"]
    order = [grave.index(rule.severity.value) for rule in RULES.values()]
    assert order == sorted(order)
    assert STOPPING == (
        "appid-in-two-pairs",
        "acks-not-all",
        "self-assigned-partitions",
        "transactional-producer",
    )


def test_what_is_found_does_not_depend_on_the_order_in_which_it_was_seen() -> None:
    rows = [writer(acks=1), writer("b", acks=0), reader("tool"), member("x", "apache-kafka-java", "2.5.0")]
    assert findings(rows, REPLICATED) == findings(rows[::-1], REPLICATED)
