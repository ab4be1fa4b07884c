"""One look for all viewers: a thing that many people watch at the same time is read once, and sent to each of them
as server-sent events.

A :class:`Broadcast` looks at one thing in one language for as long as it has viewers. A viewer gets what is
known already, then all news. Every few seconds the broadcast checks, for all viewers at once, who may still see
the thing; until the result is known, nothing is sent.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from django.db import close_old_connections
from django.http import StreamingHttpResponse
from django.utils import translation

from hadash.dashboard.views import streaming
from hadash.dashboard.views.streaming import HEARTBEAT_SECONDS, STREAM_SECONDS, Viewer, event, signed_in

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Most news that wait for one viewer: a slower connection is closed, and the browser opens a new one.
MOST_WAITING = 500
#: Seconds between two checks of the viewers' rights while they cannot be read.
UNKNOWN_SECONDS = 1.0
#: Seconds within which all viewers get news that can wait.
SPREAD_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class News:
    """One event for all viewers.

    :param data: the event, if it is the same for all.
    :param of_viewer: makes the events for one viewer, if they differ.
    :param number: the number of a line that a viewer may have already; 0 for anything else.
    :param can_wait: making it needs reads for each viewer, so viewers get it one after the other within
        :data:`SPREAD_SECONDS`, after all news that cannot wait.
    :param at_once: the same as ``of_viewer`` without any read; returns ``None`` when it has to be made first. Viewers
        with the same rights get the same events, and the broadcast makes them once per kind before it sends any.
    """

    data: bytes = b""
    of_viewer: Callable[[Viewer], Sequence[bytes]] | None = None
    number: int = 0
    can_wait: bool = False
    at_once: Callable[[Viewer], Sequence[bytes] | None] | None = None


#: The last event of a stream.
_END = News(event("end", {}))

#: The news for one viewer. ``None`` ends the stream (the viewer may not see the thing any more, or is too slow).
Queue = asyncio.Queue[News | None]


class Broadcast(ABC):
    """Looks at one thing for all its viewers. :meth:`look`, :meth:`look_aside`, :meth:`greeting` and :meth:`rights` run
    in a thread, in the broadcast's language.
    """

    #: Seconds between two calls of :meth:`look`, and of :meth:`look_aside`.
    poll_seconds = 1.0
    aside_seconds = 1.0

    def __init__(self, language: str) -> None:
        self.language = language
        #: Whether the watched thing has ended: after ``LAST_SECONDS`` the streams end.
        self.ended = False
        self._viewers: dict[Queue, Viewer] = {}
        self._joining = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    def look(self) -> list[News]:
        """Return the news since the last look."""

    def look_aside(self) -> list[News]:
        """Return the news that take longer to read, because other servers are asked; :meth:`look` continues
        meanwhile.
        """
        return []

    @abstractmethod
    def greeting(self, after: int) -> list[News]:
        """Return what is known already, for a new viewer who has the lines up to number ``after``."""

    @abstractmethod
    def rights(self, users: Collection[int]) -> Mapping[int, Hashable]:
        """Return those of these users who may see the thing, with what they may do (:attr:`Viewer.rights`). A few
        queries for any number of users.
        """

    async def join(self, viewer: Viewer) -> Queue:
        """Add a viewer and return the queue of its news. There has been a look before this returns, so that the
        greeting is complete.
        """
        queue: Queue = asyncio.Queue(MOST_WAITING)
        await self._in_thread(partial(self._admit, viewer))
        async with self._joining:
            if self._task is None or self._task.done():
                await self._in_thread(self.look)
                await self._in_thread(self.look_aside)
            self._viewers[queue] = viewer
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._go_on())
        return queue

    def leave(self, queue: Queue) -> None:
        """Remove a viewer."""
        self._viewers.pop(queue, None)

    async def _go_on(self) -> None:
        pending: list[News] = []
        asked = time.monotonic()  # (a viewer that joins has just been checked)
        over: float | None = None
        aside = asyncio.ensure_future(self._aside())
        while self._viewers:
            await asyncio.sleep(self.poll_seconds)
            pending += await self._in_thread(self.look) or []
            if aside.done():
                pending += aside.result()
                aside = asyncio.ensure_future(self._aside())
            now = time.monotonic()
            if now - asked >= streaming.RIGHTS_SECONDS:
                viewers = dict(self._viewers)  # (viewers that join meanwhile have just been checked)
                lost = await self._in_thread(partial(self._lost, viewers))
                if lost is None:
                    await asyncio.sleep(UNKNOWN_SECONDS)
                    continue
                asked = now
                for queue in lost:
                    self._end(queue)
            for news in pending:
                if news.at_once is not None:
                    await self._in_thread(partial(self._make, news, list(self._viewers.values())))
                self._tell(news)
            pending.clear()
            if self.ended:
                over = now if over is None else over
                if now - over >= streaming.LAST_SECONDS:
                    self._tell(_END)
        aside.cancel()
        _forget(self)

    async def _aside(self) -> list[News]:
        await asyncio.sleep(self.aside_seconds)
        return await self._in_thread(self.look_aside) or []

    async def _in_thread(self, make: Callable[[], T]) -> T | None:
        return await asyncio.get_running_loop().run_in_executor(streaming.pool, lambda: self._safely(make))

    def _tell(self, news: News) -> None:
        for queue in list(self._viewers):
            try:
                queue.put_nowait(news)
            except asyncio.QueueFull:
                log.info("a viewer is too slow")
                self._end(queue)

    def _end(self, queue: Queue) -> None:
        """End a viewer's stream; waiting news are dropped."""
        self._viewers.pop(queue, None)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)

    # -- in a thread -------------------------------------------------------------------------------------------------

    def _safely(self, make: Callable[[], T]) -> T | None:
        """Run ``make``; return ``None`` when it fails. A server that is away must not end the broadcast: the next look
        tries again.
        """
        close_old_connections()
        try:
            with translation.override(self.language):
                return make()
        except Exception:
            log.exception("%s could not look", type(self).__name__)
            return None
        finally:
            close_old_connections()

    @staticmethod
    def _make(news: News, viewers: Iterable[Viewer]) -> None:
        """Make the events once per kind of viewer before sending: otherwise two hundred viewers would occupy the
        threads while all wait for the first one.
        """
        assert news.at_once is not None and news.of_viewer is not None
        for viewer in viewers:
            if news.at_once(viewer) is None:
                news.of_viewer(viewer)

    def _admit(self, viewer: Viewer) -> None:
        user = viewer.request.user.pk or 0
        viewer.rights = self.rights([user]).get(user)

    def _lost(self, viewers: Mapping[Queue, Viewer]) -> list[Queue]:
        """Return the queues of viewers who may not see the thing any more; update the rights of all others."""
        users = signed_in({viewer.session_key for viewer in viewers.values()})
        rights = self.rights({user.pk for user in users.values()})
        lost = []
        for queue, viewer in viewers.items():
            user = users.get(viewer.session_key)
            if user is None or user.pk not in rights:
                lost.append(queue)
            else:
                viewer.request.user, viewer.rights = user, rights[user.pk]
        return lost


#: The running broadcasts, by event loop (a test may have several) and by what they look at.
_broadcasts: dict[Hashable, Broadcast] = {}


def _forget(broadcast: Broadcast) -> None:
    for key in [key for key, each in _broadcasts.items() if each is broadcast]:
        del _broadcasts[key]


def broadcast_of(key: Hashable, make: Callable[[], Broadcast]) -> Broadcast:
    """Return the broadcast that looks at ``key`` already, or a new one."""
    full = (id(asyncio.get_running_loop()), key)
    found = _broadcasts.get(full)
    if found is None:
        found = _broadcasts[full] = make()
    return found


async def answer(viewer: Viewer, find: Callable[[], Broadcast], after: int) -> StreamingHttpResponse:
    """Return a viewer's stream.

    :param find: returns the broadcast.
    :param after: the number of the last line that the viewer has.
    :raises Http404: there is no such thing, or the viewer may not see it.
    """
    await streaming.give_back_connection()
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(streaming.pool, viewer.begin)
    return streaming.response(_events(viewer, find(), after))


async def _events(viewer: Viewer, broadcast: Broadcast, after: int) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    began = time.monotonic()
    queue = await broadcast.join(viewer)
    try:
        yield b"retry: 1000\n\n"
        for news in await loop.run_in_executor(streaming.pool, viewer.safely, broadcast.greeting, after):
            after = max(after, news.number)
            for data in await _of(viewer, news):
                yield data
        waiting, due = News(), began + STREAM_SECONDS
        while (now := time.monotonic()) - began <= STREAM_SECONDS:
            if waiting.of_viewer and now >= due:
                for data in await _of(viewer, waiting):
                    yield data
                waiting = News()
            try:
                patience = min(HEARTBEAT_SECONDS, due - now) if waiting.of_viewer else HEARTBEAT_SECONDS
                told = await asyncio.wait_for(queue.get(), patience)
            except TimeoutError:
                if not waiting.of_viewer:
                    yield b": still here\n\n"
                continue
            if told is None:
                return
            if told.number and told.number <= after:
                continue
            after = max(after, told.number)
            if told.can_wait:
                waiting, due = told, now + random.uniform(0, SPREAD_SECONDS)
                continue
            for data in await _of(viewer, told):
                yield data
            if told is _END:
                return
    finally:
        broadcast.leave(queue)


async def _of(viewer: Viewer, news: News) -> Sequence[bytes]:
    if news.of_viewer is None:
        return [news.data] if news.data else []
    made = news.at_once(viewer) if news.at_once is not None else None
    if made is not None:
        return made
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(streaming.pool, viewer.safely, news.of_viewer, viewer)
