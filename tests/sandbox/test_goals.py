"""A goal is met only when it was measured: what ends a benchmark with 0, on made-up results."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from support.environment import Cluster

from hadash.bindings.epochs import Report as Applied
from hadash.bindings.member import Member
from hadash_sandbox import check
from hadash_sandbox.__main__ import main
from hadash_sandbox.bench.batch import judge_batch
from hadash_sandbox.bench.gateway import presence
from hadash_sandbox.bench.records import explain, judge_records
from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.check import bench_switch, judge_bench, judge_check
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault.outcome import Outcome, Row
from hadash_sandbox.fault.run import judge_cells
from hadash_sandbox.trial import Measured


def verdict(logs: dict[str, Any] | None = None, **values: Any) -> dict[str, Any]:
    """A clean one over 1,000 records, but for ``values``."""
    logged = {"records": 2000, "written_twice": 0, "out_of_order": 0, "missing": 0, "different": 0}
    counts = dict.fromkeys(("lost", "duplicated", "out_of_order", "ambiguous", "delivery_failures"), 0)
    lists: dict[str, Any] = {
        name: [] for name in ("unknown", "damaged", "clients_restarted", "faults", "groups")
    }
    whole = {"records_sent": 1000, "clients": 4, "logs": {**logged, "examples": [], **(logs or {})}}
    return {**counts, **lists, **whole, **values}


def switch(status: str = "succeeded", rto: float | None = 0.2, **values: Any) -> Measured:
    pauses: dict[str, Any] = {
        "write_pauses": {"writer": 0.2},
        "consume_pauses": {"reader": 3.2},
        "consume_beyond_join": {"reader": 0.2},
        "spacing": {"writer": 0.06, "reader": 0.06},
    }
    return Measured("shop", "east", "west", status, "", {}, rto=rto, **{**pauses, **values})


def missed(report: Report) -> list[str]:
    return [goal["name"] for goal in report.goals if not goal["met"]]


class TestAGoal:
    @pytest.mark.parametrize(
        ("measured", "met"), [(0.9, True), (1.0, True), (1.1, False), (None, False), (float("nan"), False)]
    )
    def test_is_met_by_a_figure_and_not_by_none(self, measured: float | None, met: bool) -> None:
        report = Report()
        report.at_most("pause", 1.0, measured, "s")
        assert (report.goals[0]["met"], report.exit_code) == (met, 0 if met else 1)

    @pytest.mark.parametrize(("samples", "met"), [(0, False), (4, False), (5, True)])
    def test_is_missed_with_fewer_samples_than_it_needs(self, samples: int, met: bool) -> None:
        report = Report()
        report.at_most("pause", 1.0, 0.0, "s", samples=samples, needed=5)
        report.at_least("throughput", 0.9, 1.0, "ratio", samples=samples, needed=5)
        assert [goal["met"] for goal in report.goals] == [met, met]
        assert (report.goals[0]["samples"], report.goals[0]["needed"]) == (samples, 5)

    def test_without_any_goal_nothing_was_measured(self) -> None:
        assert Report().exit_code == 1

    def test_one_that_is_missed_fails_all(self) -> None:
        report = Report()
        report.at_most("met", 1, 0, "s")
        report.at_most("missed", 1, 2, "s")
        assert report.exit_code == 1


class TestTheFile:
    def test_it_has_goals_whatever_else_and_the_exit_code_is_theirs(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        report = begin(tmp_path / "bench" / "x.json")
        report.at_most("pause", 1.0, None, "s", samples=0)
        report.row("table", case="a", value=1)
        assert report.conclude(tmp_path / "bench" / "x.json") == 1
        written = json.loads((tmp_path / "bench" / "x.json").read_text())
        assert written["table"] == [{"case": "a", "value": 1}]
        (goal,) = written["goals"]
        assert {"name", "goal", "measured", "unit", "met"} <= goal.keys()
        assert written["machine"]["ten_million_additions_seconds"] > 0, "runs on other machines compare by it"
        printed = capsys.readouterr().out
        assert "MISSED pause" in printed
        assert f"within {written['machine']['ten_million_additions_seconds']} s" in printed

    def test_a_run_that_breaks_leaves_no_result_of_an_earlier_one(self, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        path.write_text('{"goals": [{"met": true}]}')
        begin(path)
        assert not path.exists()


class TestRecords:
    def test_clean(self) -> None:
        report = Report()
        judge_records(report, [verdict(), verdict()])
        assert (missed(report), report.exit_code) == ([], 0)

    @pytest.mark.parametrize(
        "found",
        [
            {"lost": 1},
            {"duplicated": 1},
            {"out_of_order": 1},
            {"ambiguous": 1},
            {"delivery_failures": 1},
            {"unknown": ["writer: k 1 (no answer) is on no cluster"]},
            {"damaged": ["reader read damaged: k 1 (header None)"]},
            {"clients_restarted": ["writer"]},
            {"faults": ["the journal of reader cannot be read at line 3"]},
            {"logs": {"written_twice": 1}},
            {"logs": {"out_of_order": 1}},
            {"logs": {"missing": 1}},
            {"logs": {"different": 1}},
        ],
        ids=str,
    )
    def test_each_count_has_a_goal(self, found: dict[str, Any]) -> None:
        """Of one fleet among several."""
        report = Report()
        judge_records(report, [verdict(), verdict(**found)])
        assert len(missed(report)) == 1
        assert report.exit_code == 1

    @pytest.mark.parametrize("nothing", [[], [verdict(records_sent=0, clients=0, logs={"records": 0})]])
    def test_nothing_sent_is_nothing_proved(self, nothing: list[dict[str, Any]]) -> None:
        report = Report()
        judge_records(report, nothing)
        assert not any(goal["met"] for goal in report.goals)

    def test_what_is_not_as_it_should_be_is_said(self) -> None:
        group = {"group": "g", "examples": ["lost k 3"]}
        found = verdict(
            logs={"examples": ["written twice: k 4"]}, faults=["f"], groups=[group], damaged=["d"]
        )
        assert explain(found) == ["f", "d", "group g: lost k 3", "written twice: k 4"]


class TestBenchSwitch:
    @pytest.mark.parametrize("count", [0, -3])
    def test_no_switches_are_refused(self, count: int, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SandboxError, match="measure nothing"):
            bench_switch(count)
        assert main(["bench-switch", "-n", str(count)]) == 1
        assert "error: " in capsys.readouterr().err

    @pytest.mark.parametrize(("found", "code"), [(verdict(), 0), (verdict(duplicated=1), 1)])
    def test_the_file_the_table_and_the_exit_code(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        found: dict[str, Any],
        code: int,
    ) -> None:
        monkeypatch.setattr(check, "ROOT", tmp_path)
        monkeypatch.setattr(check, "_run", lambda *_, switches, calm: ([switch()] * switches, found))
        assert bench_switch(2) == code
        written = json.loads((tmp_path / "var" / "bench" / "switch.json").read_text())
        assert len(written["goals"]) > 10
        assert written["distributions"]["spacing of writes before a switch"]["samples"] == 2
        assert "RTO (block to forward in effect)" in capsys.readouterr().out

    @staticmethod
    def judged(asked: int, *switches: Measured) -> Report:
        report = Report()
        judge_bench(report, asked, switches, verdict())
        return report

    def test_all_good(self) -> None:
        assert missed(self.judged(2, switch(), switch())) == []

    @pytest.mark.parametrize(
        "switches",
        [(), (switch(),), (switch(), switch("rolled_back", None)), (switch(), switch("needs_attention"))],
        ids=["none", "one of two", "one returned", "one asks for a person"],
    )
    def test_a_switch_that_did_not_succeed_or_was_not_made_is_missed(
        self, switches: tuple[Measured, ...]
    ) -> None:
        assert "switches that did not succeed" in missed(self.judged(2, *switches))

    def test_pauses_that_were_not_measured_are_not_short(self) -> None:
        report = self.judged(1, switch(write_pauses={}, consume_beyond_join={}))
        assert missed(report) == [
            "write pause p50",
            "write pause p99",
            "consume pause beyond join delay, p99",
        ]

    def test_a_switch_of_many_clients_does_not_measure_for_another_one(self) -> None:
        many = switch(write_pauses={"a": 0.2, "b": 0.2}, consume_beyond_join={"c": 0.2, "d": 0.2})
        found = self.judged(2, many, switch(write_pauses={}, consume_beyond_join={}))
        assert missed(found) == [
            "write pause p50",
            "write pause p99",
            "consume pause beyond join delay, p99",
        ]

    @pytest.mark.parametrize(
        ("delays", "met"), [([0.1, 0.1, 0.2, 0.9], True), ([0.1, 0.1, 0.2, 5.2], False), ([0.1] * 3, False)]
    )
    def test_a_check_has_the_goal_that_switches_begin_at_once(self, delays: list[float], met: bool) -> None:
        """Beat would find them after 5 s, and all else would look well."""
        report = Report()
        judge_check(report, [switch(start_delay=seconds) for seconds in delays], verdict())
        (goal,) = [goal for goal in report.goals if goal["name"].startswith("approval to first stage")]
        assert (goal["goal"], goal["unit"], goal["met"]) == (1.0, "s", met)
        assert (report.exit_code == 0) is met

    def test_of_a_client_without_pauses_nothing_is_said(self) -> None:
        assert switch(write_pauses={}).summary()["write_pause"] is None


class TestBatch:
    @staticmethod
    def judged(asked: int, *switches: Measured) -> list[str]:
        report = Report()
        judge_batch(report, "", asked, switches, verdict())
        return missed(report)

    def test_all_good(self) -> None:
        assert self.judged(2, switch(), switch()) == []

    def test_a_switch_that_returned_has_no_time_and_so_the_time_is_not_measured(self) -> None:
        found = self.judged(2, switch(), switch("rolled_back", None))
        assert found == ["first block to last forward, slowest", "switches that did not succeed"]


class TestFault:
    CLEAN = Row("redis", "block", Outcome.SUCCEEDED)

    def test_all_good(self) -> None:
        assert judge_cells([self.CLEAN], [verdict()], 1).exit_code == 0

    @pytest.mark.parametrize(
        "values",
        [
            {"outcome": Outcome.NOT_REACHED},
            {"outcome": Outcome.NEVER},
            {"outcome": Outcome.PERSON},
            {"late_writes": ["epoch: 1 → 2"]},
            {"lost": 1},
            {"duplicated": 1},
            {"out_of_order": 1},
            {"ambiguous": 1},
            {"ended": ["worker"]},
        ],
        ids=str,
    )
    def test_each_fault_of_a_cell_has_a_goal(self, values: dict[str, Any]) -> None:
        row = Row(**{"fault": "redis", "stage": "block", "outcome": Outcome.SUCCEEDED, **values})
        report = judge_cells([self.CLEAN, row], [verdict()], 2)
        assert len(missed(report)) == 1

    def test_what_was_lost_between_cells_counts(self) -> None:
        report = judge_cells([self.CLEAN], [verdict(lost=1, delivery_failures=2, out_of_order=1)], 1)
        assert missed(report) == [
            "over all: records lost",
            "over all: records out of order",
            "over all: records that a producer failed to deliver",
        ]

    def test_everything_that_the_verdict_knows_has_a_goal(self) -> None:
        names = ("lost", "duplicated", "out_of_order", "ambiguous", "delivery_failures", "unknown", "damaged")
        clean = verdict()
        for name in names:
            found = ["a record"] if isinstance(clean[name], list) else 1
            assert len(missed(judge_cells([self.CLEAN], [verdict(**{name: found})], 1))) == 1, name

    def test_cells_that_were_not_run_are_missed(self) -> None:
        assert not any(goal["met"] for goal in judge_cells([], [], 8).goals)


@pytest.mark.stack
class TestPresence:
    """A block is in effect when so many processes say so: none are not enough."""

    def test_a_client_that_is_sent_past_the_gateway_would_measure_the_broker(
        self, clusters: dict[str, Cluster]
    ) -> None:
        east = clusters["east"]
        address = east.bootstrap_servers
        with pytest.raises(SandboxError, match="the Gateway would not be measured"):
            presence.check_addresses(address, east.client_config(), own=[1])
        own = [int(one.rpartition(":")[2]) for one in address.split(",")]
        presence.check_addresses(address, east.client_config(), own)

    def test_no_gateway_has_no_block(self, zookeeper: KazooClient) -> None:
        with pytest.raises(SandboxError, match="0 processes of the Gateway instead of 2"):
            presence.await_effect(zookeeper, epoch=1, processes=2)

    def test_the_block_is_in_effect_when_all_have_reported_it(
        self, connect_client: Callable[..., KazooClient]
    ) -> None:
        client = connect_client()
        gateways = [Member(client, name, "127.0.0.1:1", "http://127.0.0.1:2", "0", 1) for name in ("a", "b")]
        for gateway in gateways:
            gateway.join(Applied(0))
        gateways[0].report_applied(Applied(1))
        with pytest.raises(SandboxError, match="not in effect"):
            presence.await_effect(client, epoch=1, processes=2, seconds=0)
        before = time.perf_counter()
        gateways[1].report_applied(Applied(1))
        assert presence.await_effect(client, epoch=1, processes=2) >= before
