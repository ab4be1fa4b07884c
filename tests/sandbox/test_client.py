"""The demo's client: what its library refuses is in its journal, and it goes on as an application would."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from hadash_sandbox.traffic import client, libraries
from hadash_sandbox.traffic.journal import Writer, load
from hadash_sandbox.traffic.records import Headers, headers_of, number_of, plain_number_of, value_of


class Stop:
    wanted = False


class Message:
    """What a library gives its application."""

    def __init__(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        self._key, self._value, self._offset = key, value, offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def offset(self) -> int:
        return self._offset

    def topic(self) -> str:
        return "billing.invoices"

    def partition(self) -> int:
        return 2

    def headers(self) -> Headers:
        return headers_of(number_of(self._key, self._value) or 0)

    def error(self) -> None:
        return None


class Reading:
    """A consumer of a Topic into which somebody writes with a console producer, between our own records."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        ours = b"invoice-writer/1700000000.000/2"
        self.left = [
            Message(ours, value_of(0, "invoice-writer"), 0),
            Message(None, b"hello", 1),
            Message(None, None, 2),
            Message(b"\xff\xfe", b"1 invoice-writer \xff", 3),
            Message(None, b"0", 4),
            Message(ours, value_of(1, "invoice-writer"), 5),
        ]

    def subscribe(self, topics: list[str]) -> None:
        pass

    def poll(self, seconds: float) -> Message:
        self.stop.wanted = len(self.left) == 1
        return self.left.pop(0)

    def close(self) -> None:
        pass


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    monkeypatch.setenv("CLIENT_PASSWORD", "x")
    return argparse.Namespace(
        bootstrap="b",
        mechanism="PLAIN",
        user="u",
        client_id="",
        config=[],
        name="w",
        group="g",
        topic=["t"],
        rate=1000.0,
        pace="rate",
    )


def test_a_strangers_record_is_noted_and_not_the_end(
    options: argparse.Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that holds a number like ours count as a record that was read twice."""
    stop = Stop()
    monkeypatch.setattr(client, "Consumer", lambda _: Reading(stop))
    journal = Writer(tmp_path / "ledger.jsonl", "read", {"role": "consume"})
    client.consume(options, journal, stop)  # type: ignore[arg-type]
    journal.close()
    found = load(tmp_path / "ledger.jsonl")
    assert [(run.first, run.last) for run in found.read] == [(0, 1)]
    assert [(offset, value) for _topic, _partition, offset, value in found.strangers] == [
        (1, "hello"),
        (2, ""),
        (3, "1 invoice-writer \ufffd"),
        (4, "0"),
    ]


@pytest.mark.parametrize("value", [b"hello", None, b"-1"])
def test_nor_of_a_client_of_another_library(value: bytes | None, tmp_path: Path) -> None:
    journal = Writer(tmp_path / "reader.jsonl", "read", {})
    for offset, each in enumerate((b"0", value, b"6")):
        headers = headers_of(plain_number_of(each) or 0)
        record = SimpleNamespace(topic="t", partition=0, offset=offset, value=each, headers=headers)
        libraries._note(record, journal)
    journal.close()
    found = load(tmp_path / "reader.jsonl")
    assert [(run.first, run.last) for run in found.read] == [(0, 1)]
    assert [stranger[2] for stranger in found.strangers] == [1]


class Acknowledging:
    """A producer whose broker acknowledges each record 5 ms after it was sent; its polls are what time passes in."""

    def __init__(self, stop: Stop, until: float) -> None:
        self.stop, self.until = stop, until
        self.now = 0.0
        self.polls = 0
        self.sent: list[float] = []
        self._answers: list[tuple[float, Callable[[], None]]] = []

    def produce(self, topic: str, value: bytes, key: bytes, on_delivery: Any, **_: Any) -> None:
        self.sent.append(self.now)
        self._answers.append((self.now + 0.005, lambda: on_delivery(None, Message(key, value, 0))))

    def poll(self, seconds: float) -> None:
        """Returns with the first answers, as the library's does; and it cuts off parts of a millisecond."""
        self.polls += 1
        end = self.now + int(1000 * seconds + 1e-6) / 1000
        answered = [due for due, _ in self._answers if due <= end]
        self.now = max(self.now, min(answered, default=end)) + 1e-5
        self.stop.wanted = self.now >= self.until
        due, self._answers = (
            [answer for at, answer in self._answers if at <= self.now],
            [(at, answer) for at, answer in self._answers if at > self.now],
        )
        for answer in due:
            answer()

    def flush(self, _: float) -> None:
        pass


@pytest.mark.parametrize(("pace", "records"), [("rate", 20), ("closed-loop", 199), ("one-at-a-time", 20)])
def test_records_are_sent_at_the_rate_or_in_a_closed_loop(
    pace: str,
    records: int,
    options: argparse.Namespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An acknowledgement long before the next record is due does not bring that forward; and nobody asks all
    the time for what is due.
    """
    stop = Stop()
    producer = Acknowledging(stop, until=1.0)
    monkeypatch.setattr(client, "Producer", lambda _: producer)
    clock = SimpleNamespace(monotonic=lambda: producer.now, time=lambda: producer.now)
    monkeypatch.setattr(client, "time", clock)
    options.rate, options.pace = 20.0, pace
    journal = Writer(tmp_path / "w.jsonl", "acked", {})
    client.produce(options, journal, stop)  # type: ignore[arg-type]
    journal.close()
    assert abs(len(producer.sent) - records) <= 1
    assert producer.polls <= 3 * len(producer.sent)
    assert sum(run.last - run.first + 1 for run in load(tmp_path / "w.jsonl").acked) >= len(producer.sent) - 1


class Refusing:
    """A producer whose library believes for two records that the Topic is gone."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.asked = 0

    def produce(self, *_: Any, **__: Any) -> None:
        self.asked += 1
        self.stop.wanted = self.asked == 3
        if self.asked < 3:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))

    def poll(self, _: float) -> None:
        pass

    flush = poll


def options_with(tmp_path: Path, **values: Any) -> argparse.Namespace:
    settings: dict[str, Any] = {
        "bootstrap": "b",
        "mechanism": "PLAIN",
        "user": "u",
        "client_id": "",
        "config": [],
        "name": "w",
        "topic": ["t"],
        "rate": 1000.0,
        "pace": "rate",
        "role": "produce",
        "journal": tmp_path / "w.jsonl",
    }
    return argparse.Namespace(**settings | values)


class After:
    """Wants to stop after some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def wanted(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_records_without_an_answer_at_the_end_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody: str
) -> None:
    """What ``flush()`` leaves is neither acknowledged nor failed: the verdict has to look for it."""
    monkeypatch.setenv("CLIENT_PASSWORD", "x")
    monkeypatch.setattr(client, "FLUSH_AT_END_SECONDS", 0.1)
    journal = Writer(tmp_path / "w.jsonl", "acked", {"role": "produce"})
    client.produce(options_with(tmp_path, bootstrap=nobody), journal, After(8))  # type: ignore[arg-type]
    journal.close()
    found = load(tmp_path / "w.jsonl")
    assert (found.acked, found.failed) == ([], [])
    assert sorted(number for _, number, _ in found.unknown) == [0, 0, 0, 0, 0, 0, 1, 1]


def test_a_tool_that_ends_by_itself_did_not_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries.JavaTool, "_command", lambda *_: ["sh", "-c", "exit 3"])
    monkeypatch.setattr(libraries.JavaTool, "_consumer", lambda _: ())
    journal = Writer(tmp_path / "w.jsonl", "read", {"role": "consume"})
    tool = libraries.JavaTool(options_with(tmp_path, role="consume"), "3.9.1")
    tool.run(journal, lambda: False)
    journal.close()
    assert load(tmp_path / "w.jsonl").unfinished == ["the tool ended by itself with exit code 3"]


def test_a_record_that_is_refused_at_once_is_a_failure_and_not_the_end(
    options: argparse.Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop()
    producer = Refusing(stop)
    monkeypatch.setattr(client, "Producer", lambda _: producer)
    journal = Writer(tmp_path / "w.jsonl", "acked", {"role": "produce"})
    client.produce(options, journal, stop)  # type: ignore[arg-type]
    journal.close()
    assert producer.asked == 3
    failed = load(tmp_path / "w.jsonl").failed
    assert len(failed) == 2
    assert all("_UNKNOWN_PARTITION" in str(failure) for failure in failed)
