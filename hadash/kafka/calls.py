"""Asks one cluster through kafka-python's admin client: connects, repeats what failed for a moment, and says what
could not be done.

librdkafka's client is not used: when the connection to a coordinator breaks during a request, it reads freed
memory, and the process dies or hangs (librdkafka#4605, open since 2.3; fixed by its #5397, which is not
released). hadash exists for exactly this case: a worker reads groups while their cluster fails.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NoReturn, TypeVar

from kafka import errors

from hadash.kafka.errors import ClusterUnavailable, CoordinatorMoved, KafkaError, NotOffered
from hadash.kafka.group_admin import PARALLEL_REQUESTS, REFUSED, REQUEST_SECONDS, Admin, config_of
from hadash.kafka.group_admin import connect as _connect
from hadash.kafka.values import ClusterAccess
from hadash.sentences import Sentence, say

log = logging.getLogger(__name__)

#: Seconds until a question is asked again: a new coordinator needs some hundredths of a second or more to load
#: its groups.
AGAIN_SECONDS = 0.2

#: Seconds for which an abandoned client is kept, for callers that still wait for an answer through it.
KEPT_SECONDS = 2 * REQUEST_SECONDS

_MOVED = (
    errors.NotCoordinatorError,
    errors.CoordinatorNotAvailableError,
    errors.CoordinatorLoadInProgressError,
)

#: The errors of a cluster that does not answer. (The library treats UnknownBrokerIdError, one of these, as
#: permanent.)
_SILENT = (
    TimeoutError,
    errors.KafkaConnectionError,
    errors.NodeNotReadyError,
    errors.UnknownBrokerIdError,
    errors.KafkaTimeoutError,
    errors.RequestTimedOutError,
    errors.NetworkExceptionError,
    errors.MetadataEmptyBrokerList,
    errors.TooManyInFlightRequests,
    errors.StaleMetadata,
    errors.Cancelled,
)

T = TypeVar("T")

Request = Callable[[Admin], T]

#: Returns what could not be done, from the subject of a request.
What = Callable[[str], Sentence]


def nobody_else() -> None:
    """Do nothing: the fence of callers that need not check before each attempt whether they still may write."""


class Asking:
    """Requests to one cluster. Thread-safe."""

    def __init__(self, access: ClusterAccess) -> None:
        self._cluster = access.name
        self._account = f"{access.username} ({access.sasl_mechanism})"
        self._config = config_of(access)
        self._requests = ThreadPoolExecutor(PARALLEL_REQUESTS, f"groups-{access.name}")
        self._connecting = ThreadPoolExecutor(1, f"groups-{access.name}-connecting")
        self._lock = threading.Lock()
        self._connection: Future[Admin] | None = None

    def close(self) -> None:
        """Close its connections. Calls that still run fail with ``ClusterUnavailable``."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.add_done_callback(_close_result)
        self._connecting.shutdown(wait=False)
        self._requests.shutdown(wait=False)

    def ask(
        self, requests: Mapping[str, Request[T]], what: What, fence: Callable[[], None] = nobody_else
    ) -> dict[str, T]:
        """Return the answers by the subject of each request (``what`` tells what could not be done). Requests run in
        parallel; those that failed with a temporary error are repeated within :data:`REQUEST_SECONDS`.

        When it raises, no request is left running that could still be answered within that time.
        """
        deadline = time.monotonic() + REQUEST_SECONDS
        found: dict[str, T] = {}
        told: BaseException | None = None
        while missing := sorted(requests.keys() - found.keys()):
            admin = self._connected(deadline, what(missing[0]))
            fence()
            asked = {about: self._requests.submit(requests[about], admin) for about in missing}
            failed = self._take(asked, found, deadline)
            if failed is None:
                continue
            about, error = failed
            if isinstance(error, TimeoutError) and told is not None:
                error = told  # more specific than the timeout of the last attempt
            told = error
            admin.forget_coordinators()
            in_time = time.monotonic() + AGAIN_SECONDS < deadline
            if not (isinstance(error, (*_MOVED, *_SILENT)) and in_time):
                if not isinstance(error, errors.BrokerResponseError):
                    self._give_up(admin)
                self._fail(what(about), error)
            time.sleep(AGAIN_SECONDS)
        return found

    def _take(
        self, asked: Mapping[str, Future[T]], found: dict[str, T], deadline: float
    ) -> tuple[str, BaseException] | None:
        """Put the answers until ``deadline`` into ``found``. Requests that have not begun by then are
        cancelled.

        :return: a request that was not answered, and its error; one with a permanent error if there is any.
        """
        try:
            wait(asked.values(), timeout=max(deadline - time.monotonic(), 0))
        finally:
            for future in asked.values():
                future.cancel()
        failed: list[tuple[str, BaseException]] = []
        for about, future in asked.items():
            if not future.done() or future.cancelled():
                failed.append((about, TimeoutError()))
            elif (error := future.exception()) is not None:
                failed.append((about, error))
            else:
                found[about] = future.result()
        return max(failed, key=lambda one: not isinstance(one[1], (*_MOVED, *_SILENT)), default=None)

    def _connected(self, deadline: float, what: Sentence) -> Admin:
        """Return the client that all threads share. While there is none they wait for the same attempt to
        connect, each until its own deadline.
        """
        with self._lock:
            if self._connection is None or (self._connection.done() and self._connection.exception()):
                try:
                    self._connection = self._connecting.submit(_connect, self._config)
                except RuntimeError:  # closed: a client with another access has replaced this one
                    self._fail(what, TimeoutError())
            connection = self._connection
        try:
            return connection.result(timeout=max(deadline - time.monotonic(), 0))
        except (TimeoutError, errors.KafkaError) as error:
            self._fail(what, error)

    def _give_up(self, admin: Admin) -> None:
        """Abandon a client: later calls connect again. Calls that still wait for an answer through it can finish."""
        with self._lock:
            connection = self._connection
            if connection is None or not connection.done() or connection.exception() is not None:
                return
            if connection.result() is not admin:
                return
            self._connection = None
        later = threading.Timer(KEPT_SECONDS, admin.close)
        later.daemon = True
        later.start()

    def _fail(self, what: Sentence, error: BaseException) -> NoReturn:
        said = say("Cluster %(cluster)s %(what)s", cluster=self._cluster, what=what)
        if isinstance(error, REFUSED):
            raise ClusterUnavailable(
                say(
                    "%(said)s: it refuses account %(account)s: %(error)s.",
                    said=said,
                    account=self._account,
                    error=_said(error),
                )
            ) from None
        if isinstance(error, errors.UnsupportedVersionError):
            raise NotOffered(say("%(said)s: its brokers are too old for it.", said=said)) from None
        if isinstance(error, errors.SecurityDisabledError):
            raise NotOffered(say("%(said)s: it has no authorizer.", said=said)) from None
        if isinstance(error, KafkaError):
            raise KafkaError(say("%(said)s: %(error)s.", said=said, error=error)) from None
        if isinstance(error, _MOVED):
            raise CoordinatorMoved(say("%(said)s: %(error)s.", said=said, error=_said(error))) from None
        if isinstance(error, _SILENT):
            raise ClusterUnavailable(
                say(
                    "Cluster %(cluster)s did not answer within %(seconds)s s: %(what)s.",
                    cluster=self._cluster,
                    seconds=f"{REQUEST_SECONDS:.0f}",
                    what=what,
                )
            ) from None
        if not isinstance(error, errors.KafkaError):
            log.error("%s", said, exc_info=error)
        raise KafkaError(say("%(said)s: %(error)s.", said=said, error=_said(error))) from None


def _close_result(connection: Future[Admin]) -> None:
    if not connection.cancelled() and connection.exception() is None:
        connection.result().close()


def _said(error: BaseException) -> str:
    """Return an error's name, with its text if that is short: the library puts whole requests into some errors."""
    name = type(error).__name__.removesuffix("Error")
    about = str(error.args[0]) if error.args else ""
    return f"{name} ({about})" if about and len(about) < 200 else name
