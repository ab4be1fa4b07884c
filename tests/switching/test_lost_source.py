"""Whether a cluster is lost: the last check before a forced switch, which abandons what it holds alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from hadash.kafka.errors import ClusterUnavailable, KafkaError, NotOffered, SignInRefused
from hadash.kafka.values import TopicInfo
from hadash.switching.execution.lost_source import is_lost

from .world import WHOLE

TOPIC, OTHER = WHOLE.topics


class Source:
    """A cluster that tells of these Topics, or answers with an error."""

    name = "east"

    def __init__(self, leaders: Mapping[str, tuple[int, ...]], error: KafkaError | None = None) -> None:
        self._leaders, self._error = leaders, error

    def brokers(self) -> list[tuple[int, str, int]]:
        if self._error is not None:
            raise self._error
        return [(0, "east-0", 9092)]

    def topics(self, names: object) -> dict[str, TopicInfo]:
        return {name: TopicInfo(name, leaders, 1) for name, leaders in self._leaders.items()}


def lost(leaders: Mapping[str, tuple[int, ...]], error: KafkaError | None = None) -> bool:
    return is_lost(cast(Any, Source(leaders, error)), WHOLE)


def test_one_that_answers_for_every_partition_is_not() -> None:
    assert not lost({TOPIC: (0, 1), OTHER: (0,)})


def test_one_that_does_not_answer_is() -> None:
    assert lost({}, ClusterUnavailable("Cluster east did not answer within 10 s."))


def test_one_without_a_leader_is() -> None:
    assert lost({TOPIC: (0, -1), OTHER: (0,)})


def test_a_refused_account_does_not_tell() -> None:
    """Somebody has changed the password of hadash's account: the cluster is well."""
    with pytest.raises(KafkaError, match=r"nobody knows whether it is lost\. Mend hadash's account"):
        lost({}, SignInRefused("Cluster east cannot be asked: it refuses account hadash."))


@pytest.mark.parametrize("error", [NotOffered("Too old."), KafkaError("Not authorized.")], ids=repr)
def test_nor_does_another_error(error: KafkaError) -> None:
    with pytest.raises(KafkaError):
        lost({}, error)


def test_nor_does_a_topic_that_is_not_told_of() -> None:
    """It was deleted there, or hadash may not describe it."""
    with pytest.raises(KafkaError, match=f"east answers, but does not tell of {TOPIC}"):
        lost({OTHER: (0,)})
