"""Answers in the order of their requests, as Kafka clients expect them, whoever finishes first."""

from __future__ import annotations

from asyncio import StreamWriter
from collections import deque
from collections.abc import Callable


class Reply:
    """A place in the queue. ``complete`` fills it; what is ready at the head goes out at once."""

    __slots__ = ("_data", "_queue", "done", "on_sent")

    def __init__(self, queue: ReplyQueue, on_sent: Callable[[], None] | None) -> None:
        self._queue = queue
        self._data: bytes | None = None
        self.done = False
        self.on_sent = on_sent

    def complete(self, data: bytes) -> None:
        """Answer with a framed response. A second answer (a late one of the old cluster) is dropped."""
        if self.done:
            return
        self._data = data
        self.done = True
        self._queue.flush()

    def send(self, writer: StreamWriter) -> None:
        if self._data is not None and not writer.is_closing():  # else its client has left
            writer.write(self._data)
        self._data = None
        if self.on_sent is not None:
            self.on_sent()


class ReplyQueue:
    """The unanswered requests of one connection."""

    def __init__(self, writer: StreamWriter) -> None:
        self._writer = writer
        self._waiting: deque[Reply] = deque()
        #: Called when the last answer has gone out.
        self.on_empty: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def open(self, on_sent: Callable[[], None] | None = None) -> Reply:
        """A place at the end; ``on_sent`` is called when its answer has been handed to the client's socket."""
        reply = Reply(self, on_sent)
        self._waiting.append(reply)
        return reply

    def flush(self) -> None:
        while self._waiting and self._waiting[0].done:
            self._waiting.popleft().send(self._writer)
        if not self._waiting and self.on_empty is not None:
            self.on_empty()
