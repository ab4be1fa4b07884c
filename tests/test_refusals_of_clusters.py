"""Why a cluster does not answer, as hadash says it: what it has refused, and only while that is the cause."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import ClusterUnavailable, KafkaError
from hadash.kafka.values import ClusterAccess

REFUSED = "sasl_plaintext://e1:9092/1: SASL authentication error: Authentication failed (after 12ms in state AUTH_REQ)"


class Library:
    """Tells what has happened when it is polled, as librdkafka does."""

    def __init__(self, client: ClusterClient) -> None:
        self.client = client
        self.untold: list[ClientError] = []

    def poll(self, _: float) -> None:
        while self.untold:
            self.client._heard(self.untold.pop(0))

    def refuses(self) -> None:
        self.untold.append(ClientError(ClientError._AUTHENTICATION, REFUSED))


@pytest.fixture
def client() -> ClusterClient:
    return ClusterClient(ClusterAccess("east", "127.0.0.1:1", "SASL_PLAINTEXT", "PLAIN", "admin", "secret"))


@pytest.fixture
def library(client: ClusterClient, monkeypatch: pytest.MonkeyPatch) -> Library:
    library = Library(client)
    monkeypatch.setattr(client, "_admin", library)
    return library


def done(error: int | None = None) -> Future[Any]:
    future: Future[Any] = Future()
    if error is None:
        future.set_result("answer")
    else:
        future.set_exception(KafkaException(ClientError(error)))
    return future


def said_when_away(client: ClusterClient) -> str:
    with pytest.raises(ClusterUnavailable) as failed:
        client._result(done(ClientError._TRANSPORT), "does not answer")
    return str(failed.value)


def test_a_refusal_is_the_cause_once(client: ClusterClient, library: Library) -> None:
    library.refuses()
    assert "refuses account admin (PLAIN): SASL authentication error" in said_when_away(client)
    assert "refuses" not in said_when_away(client)


def test_one_before_an_answer_is_not(client: ClusterClient, library: Library) -> None:
    library.refuses()
    assert client._result(done(), "does not answer") == "answer"
    assert "refuses" not in said_when_away(client)


def test_nor_one_before_an_answer_that_says_no(client: ClusterClient, library: Library) -> None:
    library.refuses()
    with pytest.raises(KafkaError):
        client._result(done(ClientError.TOPIC_AUTHORIZATION_FAILED), "could not read")
    assert "refuses" not in said_when_away(client)
