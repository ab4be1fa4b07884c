"""A broker that does not answer the Gateway's own questions: who asks at the same time, and who asks next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from hadash.gateway.brokers.upstream import UpstreamUnavailable
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import build, request_class
from hadash.gateway.virtual import lookups

#: Seconds, short: a broker of these tests never answers in time.
CONNECT_SECONDS = 0.05


class Broker:
    """One connection to a broker that is silent until it is told to answer."""

    def __init__(self) -> None:
        self.owner: Any = None
        self.closed = False
        self.questions: list[Callable[[bytes], None]] = []

    def send(self, data: object, number: int, answer: Callable[[bytes], None]) -> None:
        self.questions.append(answer)

    def close(self) -> None:
        self.closed = True


class Brokers:
    """What opens connections: a new one each time."""

    connect_seconds = CONNECT_SECONDS

    def __init__(self) -> None:
        self.opened: list[Broker] = []

    async def open_cluster(self, name: str) -> Broker:
        self.opened.append(Broker())
        return self.opened[-1]

    async def sign_in_to_look_up(self, broker: Broker) -> None:
        pass


def ask(cluster: Any) -> asyncio.Task[bytes]:
    message = build(request_class(ApiKey.FIND_COORDINATOR, 2), key="billing", key_type=0)
    return asyncio.create_task(cluster.ask(ApiKey.FIND_COORDINATOR, 2, message))


async def test_who_asked_on_the_same_connection_need_not_wait_as_long_again() -> None:
    brokers = Brokers()
    cluster = lookups._Cluster(cast(Any, brokers), asyncio.ensure_future, "east")
    first = ask(cluster)
    await asyncio.sleep(CONNECT_SECONDS / 2)  # so that its own time is not over with the first's
    second = ask(cluster)
    await asyncio.wait({first})
    await asyncio.wait({second}, timeout=CONNECT_SECONDS / 4)
    for each in (first, second):
        with pytest.raises(UpstreamUnavailable, match="cluster east does not answer FIND_COORDINATOR"):
            each.result()
    assert [broker.closed for broker in brokers.opened] == [True]


async def test_a_question_that_is_late_does_not_end_the_connection_of_the_next() -> None:
    brokers = Brokers()
    cluster = lookups._Cluster(cast(Any, brokers), asyncio.ensure_future, "east")
    with pytest.raises(UpstreamUnavailable):
        await ask(cluster)
    following = ask(cluster)
    while not (len(brokers.opened) == 2 and brokers.opened[1].questions):
        await asyncio.sleep(0)
    brokers.opened[0].questions[0](b"late")
    brokers.opened[1].questions[0](b"answer")
    assert await following == b"answer"
    assert [broker.closed for broker in brokers.opened] == [True, False]
