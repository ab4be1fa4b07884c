"""The demo's client: what its library refuses is in its journal, and it goes on as an application would."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from hadash.sandbox.traffic import client
from hadash.sandbox.traffic.journal import Writer, load


class Stop:
    wanted = False


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


def test_a_record_that_is_refused_at_once_is_a_failure_and_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIENT_PASSWORD", "x")
    stop = Stop()
    producer = Refusing(stop)
    monkeypatch.setattr(client, "Producer", lambda _: producer)
    journal = Writer(tmp_path / "w.jsonl", "acked", {"role": "produce"})
    options = argparse.Namespace(
        bootstrap="b",
        mechanism="PLAIN",
        user="u",
        client_id="",
        config=[],
        name="w",
        topic=["t"],
        rate=1000.0,
    )
    client.produce(options, journal, stop)  # type: ignore[arg-type]
    journal.close()
    assert producer.asked == 3
    failed = load(tmp_path / "w.jsonl").failed
    assert len(failed) == 2
    assert all("_UNKNOWN_PARTITION" in str(failure) for failure in failed)
