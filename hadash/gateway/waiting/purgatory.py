"""Where requests wait for a change of their binding: a delayed-operation manager, bounded in number and bytes.

An operation is *completed* by an outside event before its time is over (its binding changed), or it *expires*. It is
watched under its AppID, so that a change looks only at the operations it concerns; its deadline is in a timing wheel.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from functools import partial

from hadash.gateway.waiting.timing_wheel import Entry, TimingWheel

log = logging.getLogger(__name__)

#: The timing wheel's tick in seconds, and the buckets of a ring. A parked request waits for seconds, so a hundredth is
#: precise enough; 64 buckets reach 0.64 s, the second wheel 41 s, which is above every limit of the settings.
TICK_SECONDS = 0.01
WHEEL_SIZE = 64

#: Operations completed in one round of the loop: refusing a parked write takes some tenths of a millisecond.
CHECKED_AT_ONCE = 32


class Timer:
    """A timing wheel on an event loop. The loop wakes when an entry is due, never for an empty tick."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wheel = TimingWheel(TICK_SECONDS, WHEEL_SIZE, loop.time())
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_at = 0.0

    def add(self, entry: Entry, seconds: float) -> None:
        """Call ``entry.action`` in ``seconds``."""
        self._wheel.add(entry, self._loop.time() + seconds)
        self._wake_in_time()

    def _wake_in_time(self) -> None:
        due = self._wheel.next_due()
        if due is None or (self._handle is not None and self._wakes_at <= due):
            return
        if self._handle is not None:
            self._handle.cancel()
        self._wakes_at = due
        self._handle = self._loop.call_at(due, self._advance)

    def _advance(self) -> None:
        self._handle = None
        # A loop may call a little early. Then nothing is due, and it is scheduled again.
        for entry in self._wheel.advance(self._loop.time()):
            try:
                entry.action()
            except Exception:  # one failing callback must not stop the rest
                log.exception("something that was due failed")
        self._wake_in_time()

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


class DelayedOperation(ABC):
    """A waiting operation. It ends once: by :meth:`complete`, by :meth:`expire`, or by being cancelled."""

    __slots__ = ("key", "size", "timeout")

    def __init__(self, key: str, size: int) -> None:
        #: The key under which it is watched, and the bytes that it holds.
        self.key = key
        self.size = size
        self.timeout: Entry | None = None

    @abstractmethod
    def can_complete(self) -> bool:
        """Return whether the event that it waits for has happened."""

    @abstractmethod
    def complete(self) -> None:
        """Continue, because the event has happened."""

    @abstractmethod
    def expire(self) -> None:
        """End, because the time is over."""


class Purgatory:
    """The waiting operations of one process.

    :param max_operations: how many may wait.
    :param max_bytes: how many bytes they may hold together.
    """

    def __init__(self, timer: Timer, max_operations: int, max_bytes: int) -> None:
        self._timer = timer
        self._max_operations = max_operations
        self._max_bytes = max_bytes
        self._watched: dict[str, dict[DelayedOperation, None]] = {}
        self.count = 0
        self.bytes = 0
        self.parked_total = 0
        self.expired_total = 0
        self.overflowed_total = 0

    def park(self, operation: DelayedOperation, seconds: float) -> bool:
        """Let ``operation`` wait for at most ``seconds``; false when there is no room."""
        if self.count >= self._max_operations or self.bytes + operation.size > self._max_bytes:
            self.overflowed_total += 1
            return False
        operation.timeout = Entry(partial(self._expire, operation))
        self._timer.add(operation.timeout, seconds)
        self._watched.setdefault(operation.key, {})[operation] = None
        self.count += 1
        self.bytes += operation.size
        self.parked_total += 1
        return True

    def check(self, key: str) -> None:
        """Complete the operations of ``key`` that can continue now."""
        for _ in self.checking([key]):
            pass

    def checking(self, keys: Iterable[str]) -> Generator[None, None, None]:
        """Complete the operations of several keys that can continue, in slices of :data:`CHECKED_AT_ONCE`.

        A switch may release thousands at once. Whether an operation can continue is decided when its turn comes, so
        slices of two changes may alternate.
        """
        found = [operation for key in keys for operation in self._watched.get(key, ())]
        for place, operation in enumerate(found, 1):
            try:
                # An earlier operation may have ended this one.
                if operation.timeout is not None and operation.can_complete():
                    self.cancel(operation)
                    operation.complete()
            except Exception:  # one failing operation must not stop the rest
                log.exception("something that waited for %s failed", operation.key)
            if place % CHECKED_AT_ONCE == 0:
                yield

    def cancel(self, operation: DelayedOperation) -> None:
        """Stop waiting; harmless when the operation does not wait."""
        if operation.timeout is not None:
            operation.timeout.cancel()
            self._forget(operation)

    def _expire(self, operation: DelayedOperation) -> None:
        if operation.timeout is None:
            return  # cancelled by another operation that expired in the same tick
        self._forget(operation)
        self.expired_total += 1
        operation.expire()

    def _forget(self, operation: DelayedOperation) -> None:
        operation.timeout = None
        same = self._watched[operation.key]
        del same[operation]
        if not same:
            del self._watched[operation.key]
        self.count -= 1
        self.bytes -= operation.size
