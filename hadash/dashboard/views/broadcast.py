"""One look for all viewers: what many people watch at the same time is looked at once, and told to each of them as server-sent events.

A :class:`Broadcast` looks at one thing in one language for as long as somebody listens. A viewer gets what is known already, then whatever
is new, and is asked every few seconds whether they may still see it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from dataclasses import dataclass

from django.db import close_old_connections
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import translation

from hadash.dashboard.views import streaming
from hadash.dashboard.views.streaming import HEARTBEAT_SECONDS, STREAM_SECONDS, Viewer, event

log = logging.getLogger(__name__)

#: News that wait for one viewer, at most: whose connection is slower than that is closed, and the browser opens a new one.
MOST_WAITING = 500
#: Seconds between two questions who may see it while nobody can know.
UNKNOWN_SECONDS = 1.0
#: Seconds for which news are waited for at least, before something else is looked at.
LEAST_WAIT_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class News:
    """One event. ``of_viewer``: makes the event of one viewer where not all are told the same; else ``data`` is it.

    ``number``: of a line that a viewer may have already; 0 for anything else.
    """

    data: bytes = b""
    of_viewer: Callable[[HttpRequest], Sequence[bytes]] | None = None
    number: int = 0


#: The last of all.
_END = News(event("end", {}))

Queue = asyncio.Queue[News | None]


class Broadcast(ABC):
    """:meth:`look` runs in a thread, in the language; one at a time."""

    #: Seconds between two looks.
    poll_seconds = 1.0

    def __init__(self, language: str) -> None:
        self.language = language
        #: What is watched is over: after ``LAST_SECONDS`` nothing more is told.
        self.ended = False
        self._queues: set[Queue] = set()
        self._looked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    def look(self) -> list[News]:
        """What is new since the last look."""

    @abstractmethod
    def greeting(self, after: int) -> list[News]:
        """What is known, for somebody who comes now and has the lines up to number ``after``. In a thread."""

    async def join(self) -> Queue:
        """What is told from now on. ``None`` in it: this viewer is too slow. When it returns there has been a look."""
        queue: Queue = asyncio.Queue(MOST_WAITING)
        self._queues.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._go_on())
        await self._looked.wait()
        return queue

    def leave(self, queue: Queue) -> None:
        self._queues.discard(queue)

    async def _go_on(self) -> None:
        loop = asyncio.get_running_loop()
        over: float | None = None
        while self._queues:
            for news in await loop.run_in_executor(streaming.pool, self._look_safely):
                self._tell(news)
            self._looked.set()
            if self.ended:
                over = time.monotonic() if over is None else over
                if time.monotonic() - over >= streaming.LAST_SECONDS:
                    self._tell(_END)
            await asyncio.sleep(self.poll_seconds)
        _forget(self)

    def _tell(self, news: News) -> None:
        for queue in list(self._queues):
            try:
                queue.put_nowait(news)
            except asyncio.QueueFull:
                self._queues.discard(queue)
                queue.get_nowait()
                queue.put_nowait(None)

    def _look_safely(self) -> list[News]:
        """A server that is away is no reason to end: the next look sees."""
        close_old_connections()
        try:
            with translation.override(self.language):
                return self.look()
        except Exception:
            log.exception("%s could not look", type(self).__name__)
            return []
        finally:
            close_old_connections()


#: Those that somebody listens to, by event loop (a test may have several) and by what they look at.
_broadcasts: dict[Hashable, Broadcast] = {}


def _forget(broadcast: Broadcast) -> None:
    for key in [key for key, each in _broadcasts.items() if each is broadcast]:
        del _broadcasts[key]


def broadcast_of(key: Hashable, make: Callable[[], Broadcast]) -> Broadcast:
    """The one that looks at ``key`` already, or a new one."""
    full = (id(asyncio.get_running_loop()), key)
    found = _broadcasts.get(full)
    if found is None:
        found = _broadcasts[full] = make()
    return found


async def answer(viewer: Viewer, find: Callable[[], Broadcast], after: int) -> StreamingHttpResponse:
    """:param find: the broadcast. :param after: the number of the last line that the viewer has.

    :raises Http404: it is not there, or the viewer may not see it.
    """
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(streaming.pool, viewer.begin)
    return streaming.response(_events(viewer, find(), after))


async def _events(viewer: Viewer, broadcast: Broadcast, after: int) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    began = asked = spoken = time.monotonic()
    queue = await broadcast.join()
    try:
        yield b"retry: 1000\n\n"
        for news in await loop.run_in_executor(streaming.pool, viewer.safely, broadcast.greeting, after):
            after = max(after, news.number)
            for data in await _of(viewer, news):
                yield data
        while time.monotonic() - began <= STREAM_SECONDS:
            told = await _next(queue)
            if told is None:
                return  # too slow
            now = time.monotonic()
            if now - asked >= streaming.RIGHTS_SECONDS:
                asked = now
                if not await _allowed(viewer):
                    return
            if told.number and told.number <= after:
                continue
            after = max(after, told.number)
            for data in await _of(viewer, told):
                spoken = now
                yield data
            if told is _END:
                return
            if now - spoken > HEARTBEAT_SECONDS:
                spoken = now
                yield b": still here\n\n"
    finally:
        broadcast.leave(queue)


async def _next(queue: Queue) -> News | None:
    """What comes next; news of nothing when it is time to ask for the viewer's rights."""
    try:
        return await asyncio.wait_for(queue.get(), max(streaming.RIGHTS_SECONDS, LEAST_WAIT_SECONDS))
    except TimeoutError:
        return News()


async def _allowed(viewer: Viewer) -> bool:
    """Whether the viewer may still see it. As long as nobody can know, nothing is sent."""
    loop = asyncio.get_running_loop()
    while (allowed := await loop.run_in_executor(streaming.pool, viewer.still_allowed)) is None:
        await asyncio.sleep(UNKNOWN_SECONDS)
    return allowed


async def _of(viewer: Viewer, news: News) -> Sequence[bytes]:
    if news.of_viewer is None:
        return [news.data] if news.data else []
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(streaming.pool, viewer.safely, news.of_viewer, viewer.request)
