"""An admin client that is replaced when what it remembers of its cluster is wrong."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from confluent_kafka.admin import AdminClient

from hadash.kafka.errors import ClusterUnavailable, CoordinatorMoved

#: Seconds for one admin request. A healthy cluster answers in milliseconds; during a block nobody can wait long.
REQUEST_SECONDS = float(os.environ.get("HADASH_KAFKA_REQUEST_SECONDS", "10"))

#: Seconds between two questions to a coordinator that is moving: loading its groups takes it some hundredths and more.
COORDINATOR_SECONDS = 0.2

#: Seconds for which a client that was replaced is kept: longer than any request of it can be under way.
LET_GO_SECONDS = 2 * REQUEST_SECONDS

P = ParamSpec("P")
T = TypeVar("T")


class Renewable(Protocol):
    def renew(self) -> None: ...


def asks_coordinators(ask: Callable[P, T]) -> Callable[P, T]:
    """Of a method of a :class:`Renewable`: while coordinators move, ask again, first with a new client, for as long as one
    request may take.

    librdkafka's admin client remembers where a coordinator is for a quarter of an hour, and goes on asking a broker that says
    that it is not: since that broker was started again, no switch would have been possible. Some requests it tries again
    by itself until their time is over, so that they are asked once more when nobody has answered, too.
    """

    @wraps(ask)
    def again(*args: P.args, **kwargs: P.kwargs) -> T:
        client: Any = args[0]
        deadline, renewed = time.monotonic() + REQUEST_SECONDS, False
        while True:
            try:
                return ask(*args, **kwargs)
            except (CoordinatorMoved, ClusterUnavailable) as error:
                if renewed and (isinstance(error, ClusterUnavailable) or time.monotonic() > deadline):
                    raise
            if not renewed:
                client.renew()
                renewed = True
            time.sleep(COORDINATOR_SECONDS)

    return again


class RenewableAdmin:
    """librdkafka's admin client for one configuration. Threads may share it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = dict(config)
        self.client = AdminClient(self._config)

    def renew(self) -> None:
        """Ask through a client that remembers nothing of the cluster.

        The old one may have requests of other threads under way, and its destructor waits, without any limit, for what it has to
        do with brokers that do not answer. So it is let go of later, on a thread that nobody waits for.
        """
        old, self.client = self.client, AdminClient(self._config)
        last_reference = [old]
        del old
        timer = threading.Timer(LET_GO_SECONDS, last_reference.clear)
        timer.daemon = True
        timer.start()
