"""Topics that have just been made: brokers hear of them one after the other. (Real brokers do it too quickly
to be caught.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Partition, TopicInfo
from hadash.mirroring import creating


class Hearing:
    """A cluster that tells of ``carts`` what ``leaders`` say, one answer a question, and of its ends what
    ``ends`` say.
    """

    name = "west"

    def __init__(self, leaders: list[tuple[int, ...] | None], ends: list[bool]) -> None:
        self.leaders = leaders
        self.ends = ends

    def topics(self, names: Iterable[str]) -> dict[str, TopicInfo]:
        leaders = self.leaders.pop(0)
        return {} if leaders is None else {"carts": TopicInfo("carts", leaders, 2)}

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        if not self.ends.pop(0):
            raise KafkaError("Failed to query partition leaders: No leaders found.")
        return dict.fromkeys(partitions, 0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(creating, "POLL_SECONDS", 0)
    settings.MIRROR_TOPICS_SECONDS = 60


def test_they_are_awaited_and_their_ends_are_asked_for_no_more() -> None:
    cluster = Hearing([None, (1, -1), (1, 2), (1, 2)], ends=[False, True, False])
    assert creating.await_topics(cluster, ["carts"]) == {Partition("carts", 0): 0, Partition("carts", 1): 0}  # type: ignore[arg-type]
    assert cluster.ends == [False], "another broker, which has not heard of them, was not asked"


def test_those_that_nobody_leads_are_given_up(settings: Any) -> None:
    settings.MIRROR_TOPICS_SECONDS = -1
    with pytest.raises(creating.MirrorError, match="The Topics on cluster west have no leaders"):
        creating.await_topics(Hearing([(-1,)], ends=[]), ["carts"])  # type: ignore[arg-type]
