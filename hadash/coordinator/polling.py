"""Asks the members of a pool what they read.

A member that hangs holds up a look by ``ask_seconds`` at most, and no other member: each is asked by a thread of its
own, one question at a time, and what it has answered last is kept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import httpx

from hadash.coordinator.decisions import Report

#: Seconds for the answer of a member. Also one that is busy answers within milliseconds; one that takes longer is asked
#: again in the next round, and nothing is taken away from it.
ANSWER_SECONDS = 2.0

#: Members that are asked at the same time.
AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Status:
    """What a member says of itself.

    :param topics: Topic → what it reads of it.
    :param rates: (Topic, partition) → bytes a second that it reads.
    :param lags: (Topic, partition) → records that it has still to read, where that is known.
    :param errors: Topic → why something of it does not go on.
    :param at: when it answered, in seconds of the monotonic clock.
    """

    topics: Mapping[str, Report]
    rates: Mapping[tuple[str, int], float] = field(default_factory=dict)
    lags: Mapping[tuple[str, int], int] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    at: float = 0.0

    @classmethod
    def parse(cls, answer: Any, at: float = 0.0) -> Status:
        """Parse the JSON of a member's status. :raises KeyError, TypeError, ValueError, AttributeError: it is none."""
        topics = {
            str(topic): Report(int(said["token"]), frozenset(map(int, said["running"])))
            for topic, said in answer["topics"].items()
        }
        rates = {
            (str(topic), int(partition)): float(rate)
            for topic, said in answer["topics"].items()
            for partition, rate in said.get("bytes_per_second", {}).items()
        }
        lags = {
            (str(topic), int(partition)): int(lag)
            for topic, said in answer["topics"].items()
            for partition, lag in said.get("lags", {}).items()
        }
        errors = {
            str(topic): str(said["error"]) for topic, said in answer["topics"].items() if said.get("error")
        }
        return cls(topics, rates, lags, errors, at)


class Asking:
    """Asks members, and keeps what each has answered last, and why one did not answer.

    :param token: the pool's secret, which members want to see.
    """

    def __init__(self, token: str) -> None:
        limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {token}"}, timeout=ANSWER_SECONDS, limits=limits
        )
        self._threads = ThreadPoolExecutor(AT_ONCE, "asking")
        self._under_way: dict[str, Future[Status]] = {}
        #: Member → its last answer, and → why its last question was not answered.
        self.answers: dict[str, Status] = {}
        self.errors: dict[str, str] = {}

    def ask(self, urls: Mapping[str, str], seconds: float) -> None:
        """Ask all members, and wait for their answers, at most ``seconds``: those that come later are there at the next
        call.

        :param urls: member → URL; those that are not named here any more are forgotten.
        """
        for member in self.answers.keys() - urls.keys():
            del self.answers[member]
        for member in self.errors.keys() - urls.keys():
            del self.errors[member]
        for member, url in urls.items():
            if member not in self._under_way:
                self._under_way[member] = self._threads.submit(self._status, url)
        wait(self._under_way.values(), timeout=seconds)
        for member, question in list(self._under_way.items()):
            if question.done():
                del self._under_way[member]
                if member in urls:
                    self._note(member, question)

    def _note(self, member: str, question: Future[Status]) -> None:
        try:
            self.answers[member] = question.result()
            self.errors.pop(member, None)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self.errors[member] = str(error) or repr(error)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.errors[member] = f"an answer that is no status: {error!r}"

    def _status(self, url: str) -> Status:
        answer = self._client.get(f"{url}/status")
        answer.raise_for_status()
        return Status.parse(answer.json(), time.monotonic())

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()
