"""``make bench-gateway``: what counts as measured, without a Gateway."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, encode_response, response_module
from hadash_sandbox.bench.gateway import run, stranger
from hadash_sandbox.bench.gateway.pacing import paced
from hadash_sandbox.bench.gateway.stranger import LEAST_ROUND_TRIPS, Latencies, Steady, judge
from hadash_sandbox.bench.report import Report
from hadash_sandbox.errors import SandboxError


def answer(code: ErrorCode, version: int = 7) -> bytes:
    """Of a PRODUCE to one partition."""
    module = response_module(ApiKey.PRODUCE, version)
    partition = build(module.PartitionProduceResponse, index=0, error_code=code, base_offset=0)
    topic = build(module.TopicProduceResponse, name="t", partition_responses=(partition,))
    return encode_response(ApiKey.PRODUCE, version, 1, build(module.ProduceResponse, responses=(topic,)))[4:]


class Connection:
    """Answers at once, with each of these in turn."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = answers
        self.sent = 0

    def send(self, data: bytes) -> asyncio.Future[bytes]:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        future.set_result(self.answers[self.sent % len(self.answers)])
        self.sent += 1
        return future


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Both ways in which PRODUCE is measured, for as long as ten requests take."""
    monkeypatch.setattr(stranger, "REQUESTS_A_SECOND", 1000)
    return {
        "latency": lambda connection: paced(connection, b"", 0.01, 1000),
        "stranger": lambda connection: Steady(connection, b"").run(0.01),
    }


@pytest.mark.parametrize("part", ["latency", "stranger"])
class TestRoundTrips:
    def test_each_that_was_carried_out_is_one(self, ways: Any, part: str) -> None:
        assert len(asyncio.run(ways[part](Connection(answer(ErrorCode.none))))) == 10

    def test_a_refused_one_is_none(self, ways: Any, part: str) -> None:
        connection = Connection(answer(ErrorCode.none), answer(ErrorCode.topic_authorization_failed))
        with pytest.raises(SandboxError, match=r"refused.*topic_authorization_failed"):
            asyncio.run(ways[part](connection))


class TestStranger:
    @staticmethod
    def missed(beside_ms: float, idle: float = 0.5, count: int = LEAST_ROUND_TRIPS) -> list[str]:
        """The missed goals, of a Gateway that adds 1 ms without the stranger and ``beside_ms`` beside it."""
        report = Report()
        alone = Latencies([0.002] * count, [0.001] * count)
        beside = Latencies([0.001 + beside_ms / 1000] * count, [0.001] * count)
        judge(report, "floods", alone, beside, idle)
        assert len(report.goals) == 2
        return [goal["name"] for goal in report.goals if not goal["met"]]

    def test_a_rise_of_five_milliseconds_is_met_and_more_is_not(self) -> None:
        assert self.missed(6.0) == []
        assert self.missed(6.1) == ["stranger floods: rise of the p99 that the Gateway adds"]

    def test_it_is_idle_within_a_second_of_the_strangers_end(self) -> None:
        assert self.missed(1.0, idle=1.0) == []
        assert self.missed(1.0, idle=1.1) == ["stranger floods: idle after its end"]

    def test_too_few_round_trips_say_nothing(self) -> None:
        assert self.missed(1.0, count=LEAST_ROUND_TRIPS - 1) == [
            "stranger floods: rise of the p99 that the Gateway adds"
        ]


class TestRuns:
    @pytest.fixture
    def stack(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """None of the servers."""

        class Stack:
            def __init__(self, *_: object, **__: object) -> None:
                pass

            def __enter__(self) -> Stack:
                return self

            def __exit__(self, *_: object) -> None:
                pass

        nothing = SimpleNamespace(stop=lambda: None, close=lambda: None)
        bench = SimpleNamespace(stop=lambda: None, zookeeper=nothing)
        monkeypatch.setattr(run, "Stack", Stack)
        monkeypatch.setattr(run, "Bench", lambda *_: bench)
        monkeypatch.setattr(run, "ROOT", tmp_path)

    @pytest.mark.usefixtures("stack")
    def test_one_that_measures_nothing_ends_with_1(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(run, "PARTS", {"nothing": lambda bench, report: None})
        assert run.bench_gateway() == 1

    @pytest.mark.usefixtures("stack")
    def test_one_without_a_gateway_ends_with_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_gateway(bench: object, report: Report) -> None:
            report.at_most("met before", 1, 0, "s")
            raise SandboxError("bench gateway is not ready")

        monkeypatch.setattr(run, "PARTS", {"gone": no_gateway})
        with pytest.raises(SandboxError, match="not ready"):
            run.bench_gateway()
        assert not (run.ROOT / "var" / "bench" / "gateway.json").exists()
