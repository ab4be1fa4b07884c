"""Why a cluster does not answer, as hadash says it: what it has refused, and only while that is the cause."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from hadash.kafka.errors import ClusterUnavailable, KafkaError
from hadash.kafka.librdkafka_answers import Answers
from hadash.kafka.values import ClusterAccess
from hadash.sentences import say

REFUSED = "sasl_plaintext://e1:9092/1: SASL authentication error: Authentication failed (after 12ms in state AUTH_REQ)"


ACCESS = ClusterAccess("east", "127.0.0.1:1", "SASL_PLAINTEXT", "PLAIN", "admin", "secret")


class Library:
    """Tells what has happened when it is polled, as librdkafka does."""

    def __init__(self) -> None:
        self.answers = Answers(ACCESS, self.poll)
        self.untold: list[ClientError] = []

    def poll(self) -> None:
        while self.untold:
            self.answers.heard(self.untold.pop(0))

    def refuses(self) -> None:
        self.untold.append(ClientError(ClientError._AUTHENTICATION, REFUSED))


@pytest.fixture
def library() -> Library:
    return Library()


def done(error: int | None = None) -> Future[Any]:
    future: Future[Any] = Future()
    if error is None:
        future.set_result("answer")
    else:
        future.set_exception(KafkaException(ClientError(error)))
    return future


def said_when_away(library: Library) -> str:
    with pytest.raises(ClusterUnavailable) as failed:
        library.answers.result(done(ClientError._TRANSPORT), say("does not answer"))
    return str(failed.value)


def test_a_refusal_is_the_cause_once(library: Library) -> None:
    library.refuses()
    assert "refuses account admin (PLAIN): SASL authentication error" in said_when_away(library)
    assert "refuses" not in said_when_away(library)


def test_one_before_an_answer_is_not(library: Library) -> None:
    library.refuses()
    assert library.answers.result(done(), say("does not answer")) == "answer"
    assert "refuses" not in said_when_away(library)


def test_nor_one_before_an_answer_that_says_no(library: Library) -> None:
    library.refuses()
    with pytest.raises(KafkaError):
        library.answers.result(done(ClientError.TOPIC_AUTHORIZATION_FAILED), say("could not read"))
    assert "refuses" not in said_when_away(library)
