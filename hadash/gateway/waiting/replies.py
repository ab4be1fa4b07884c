"""Answers in the order of their requests, as Kafka clients expect them, whichever is ready first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol


class Writer(Protocol):
    """The destination of answers: a transport."""

    def write(self, data: bytes) -> None: ...

    def writelines(self, list_of_data: list[bytes]) -> None: ...

    def is_closing(self) -> bool: ...


class Reply:
    """A place in the queue. ``complete`` fills it; ready answers at the head go out at once."""

    __slots__ = ("_data", "_queue", "done", "on_sent")

    def __init__(self, queue: ReplyQueue, on_sent: Callable[[], None] | None) -> None:
        self._queue = queue
        self._data: list[bytes] = []
        self.done = False
        self.on_sent = on_sent

    def complete(self, *data: bytes) -> None:
        """Answer with a framed response, in one piece or several. A second answer (a late one of the old cluster) is
        dropped."""
        if self.done:
            return
        self._data += data
        self.done = True
        self._queue.flush()

    def pass_on(self, data: bytes) -> None:
        """Answer with one more piece of a framed response; further pieces follow, and :meth:`complete` ends it."""
        if self.done:
            return
        self._data.append(data)
        if self._queue.is_next(self):
            self.send(self._queue.writer)

    def send(self, writer: Writer) -> None:
        """Write the pieces that are there."""
        data, self._data = self._data, []
        if data and not (self._queue.closed or writer.is_closing()):  # otherwise the client has left
            if len(data) == 1:
                writer.write(data[0])
            else:
                writer.writelines(data)
        if self.done and self.on_sent is not None:
            # (A write may find out itself that the client is gone; that it is told of so is heard only a round later.)
            if writer.is_closing() and self._queue.on_lost is not None:
                self._queue.on_lost()
            self.on_sent()


class ReplyQueue:
    """The unanswered requests of one connection."""

    __slots__ = ("_waiting", "closed", "on_empty", "on_lost", "on_sent", "writer")

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self._waiting: deque[Reply] = deque()
        #: Whether the client has been hung up on, so that nothing more can be sent to it.
        self.closed = False
        #: Called when the last answer has gone out.
        self.on_empty: Callable[[], None] | None = None
        #: Called before a place's own ``on_sent`` when its answer could not be handed to the client's socket.
        self.on_lost: Callable[[], None] | None = None
        #: Called once, when an answer has gone out.
        self.on_sent: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def end(self) -> None:
        """Drop all places: no answers are sent, and no callback is called afterwards."""
        self._waiting.clear()
        self.on_empty = self.on_sent = self.on_lost = None

    def open(self, on_sent: Callable[[], None] | None = None) -> Reply:
        """Return a place at the end; ``on_sent`` is called when its answer has been handed to the client's socket, or
        could not be (:attr:`on_lost` is called then as well).
        """
        reply = Reply(self, on_sent)
        self._waiting.append(reply)
        return reply

    def is_next(self, reply: Reply) -> bool:
        """Whether every earlier request is answered, and ``reply`` is still awaited."""
        return bool(self._waiting) and self._waiting[0] is reply

    def flush(self) -> None:
        """Send the ready answers at the head of the queue."""
        waiting = self._waiting
        before = len(waiting)
        while waiting and waiting[0].done:
            waiting.popleft().send(self.writer)
        if waiting:
            waiting[0].send(self.writer)
        elif self.on_empty is not None:
            self.on_empty()
        if self.on_sent is not None and len(waiting) < before:
            on_sent, self.on_sent = self.on_sent, None
            on_sent()
