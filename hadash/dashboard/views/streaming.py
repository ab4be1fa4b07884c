"""Server-sent events: what any live page tells one viewer, for as long as they may see it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import close_old_connections, connection, connections
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.utils import timezone, translation
from django.utils.crypto import constant_time_compare

log = logging.getLogger(__name__)

T = TypeVar("T")
V = TypeVar("V")

#: Seconds without news after which a comment keeps proxies from closing the stream.
HEARTBEAT_SECONDS = 10.0
#: Seconds of a stream; the browser opens a new one, which checks the session again.
STREAM_SECONDS = 600.0
#: Seconds between two looks whether the viewer may still see it: a person who is kept out, or whose role is
#: taken, sees no more after this time.
RIGHTS_SECONDS = 2.0
#: Seconds after the end of what is watched in which its last lines arrive.
LAST_SECONDS = 1.0

#: In which streams look.
pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="stream")


def event(name: str, data: Any, event_id: int | None = None) -> bytes:
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def signed_in(keys: Collection[str]) -> dict[str, User]:
    """The users of those of these sessions that last, by key; as each request finds out
    (:func:`django.contrib.auth.get_user`): an ended session, another password, who is kept out. Two queries.
    """
    sessions = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    known = {session.session_key: session.get_decoded() for session in sessions}
    ids = {int(data[SESSION_KEY]) for data in known.values() if SESSION_KEY in data}
    users = User.objects.filter(is_active=True).in_bulk(ids)
    return {
        key: user
        for key, data in known.items()
        if (user := users.get(int(data.get(SESSION_KEY, 0)))) is not None and _is_of(user, data)
    }


def _is_of(user: User, data: Mapping[str, Any]) -> bool:
    told = str(data.get(HASH_SESSION_KEY, ""))
    hashes = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(told, each) for each in hashes)


class Viewer(ABC):
    """Somebody who watches, and for how long they may. All methods run in a thread."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.language = translation.get_language() or "en"
        #: What they may do, where many watch the same (see ``broadcast.py``).
        self.rights: Hashable = None

    @property
    def session_key(self) -> str:
        return self.request.session.session_key or ""

    @abstractmethod
    def find(self) -> None:
        """:raises Http404: it is not there, or the viewer may not see it."""

    def begin(self) -> None:
        """:raises Http404: as :meth:`find`."""
        with translation.override(self.language):
            try:
                self.find()
            finally:
                connection.close()

    def safely(self, make: Callable[[T], Sequence[V]], given: T) -> Sequence[V]:
        """What ``make`` makes of ``given``, in the viewer's language; nothing when a server is away: the next
        look sees.
        """
        close_old_connections()
        try:
            with translation.override(self.language):
                return make(given)
        except Exception:
            log.exception("the stream %s could not look", self.request.path)
            return []
        finally:
            close_old_connections()

    def _read_rights(self) -> bool:
        session_key = self.request.session.session_key
        if session_key is None or not self.request.session.exists(session_key):
            return False
        again = HttpRequest()
        again.session = type(self.request.session)(session_key)
        # (As every request does: it knows an ended session, another password, who is kept out.)
        user = get_user(again)
        if not user.is_authenticated:
            return False
        self.request.user = user
        try:
            self.find()
        except Http404:
            return False
        return True


class Feed(Viewer):
    """What one viewer has been told of something that is looked at for them alone. :meth:`look` runs in a thread."""

    #: Seconds between two looks.
    poll_seconds = 1.0

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        #: What is watched is over: after :data:`LAST_SECONDS` nothing more is told.
        self.ended = False
        #: The viewer may not see it any more.
        self.lost = False
        self._looked_at_rights = time.monotonic()
        self._told: dict[str, str] = {}

    @abstractmethod
    def tell(self, events: list[bytes]) -> None:
        """Add what is new."""

    def look(self) -> list[bytes]:
        """The events since the last look. A server that is away is no reason to end: the next look sees."""
        events: list[bytes] = []
        close_old_connections()
        try:
            with translation.override(self.language):
                if self._still_allowed():
                    self.tell(events)
                else:
                    self.lost = True
        except Exception:
            log.exception("the stream %s could not look", self.request.path)
        finally:
            close_old_connections()
        return events

    def if_new(self, name: str, data: Any) -> list[bytes]:
        """An event ``{"now": …, name: data}``, unless the viewer knows it already."""
        text = json.dumps(data, sort_keys=True)
        if self._told.get(name) == text:
            return []
        self._told[name] = text
        return [event(name, {"now": time.time(), name: data})]

    def _still_allowed(self) -> bool:
        """The same as of any viewer, asked every ``RIGHTS_SECONDS``.

        The time is noted when they hold: a look that failed (PostgreSQL is away) is made again before anything is sent.
        """
        now = time.monotonic()
        if now - self._looked_at_rights < RIGHTS_SECONDS:
            return True
        allowed = self._read_rights()
        if allowed:
            self._looked_at_rights = now
        return allowed


async def give_back_connection() -> None:
    """Of the request, to the database: who only waits from here on, or for somebody who needs one, must not
    hold one. There are fewer than people who may watch.
    """
    await sync_to_async(connections.close_all)()


async def answer(feed: Feed) -> StreamingHttpResponse:
    """:raises Http404: as :meth:`Feed.find`."""
    await give_back_connection()
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(pool, feed.begin)
    return response(_events(feed))


def response(events: AsyncIterator[bytes]) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        _without_connection(events),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _without_connection(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """What comes, for as long as it lasts. (What is done between the view and this may have taken a
    connection again.)
    """
    await give_back_connection()
    async for each in events:
        yield each


async def _events(feed: Feed) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    began = spoken = time.monotonic()
    ended_at: float | None = None
    yield b"retry: 1000\n\n"
    while True:
        events = await loop.run_in_executor(pool, feed.look)
        now = time.monotonic()
        for each in events:
            yield each
        if events:
            spoken = now
        elif now - spoken > HEARTBEAT_SECONDS:
            spoken = now
            yield b": still here\n\n"
        if feed.ended:
            ended_at = ended_at if ended_at is not None else now
            if now - ended_at >= LAST_SECONDS:
                yield event("end", {})
                return
        if feed.lost or now - began > STREAM_SECONDS:
            return
        await asyncio.sleep(feed.poll_seconds)
