"""Server-sent events: the stream of a live page to one viewer, for as long as the viewer may see the page."""

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
#: Most seconds of a stream; then the browser opens a new one, which checks the session again.
STREAM_SECONDS = 600.0
#: Seconds between two checks of the viewer's rights: a person who is kept out, or whose role is taken away, sees
#: nothing more after this time.
RIGHTS_SECONDS = 2.0
#: Seconds after the end of the watched thing in which its last lines arrive.
LAST_SECONDS = 1.0

#: The threads in which streams look.
pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="stream")


def event(name: str, data: Any, event_id: int | None = None) -> bytes:
    """Return a server-sent event with ``data`` as JSON."""
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def signed_in(keys: Collection[str]) -> dict[str, User]:
    """Return the users of the sessions that are still valid, by session key. Two queries.

    It checks the same as each request (:func:`django.contrib.auth.get_user`): the session has not ended, the password
    has not changed, and the user is not kept out.
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
    """A person who watches a live page. All methods run in a thread."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.language = translation.get_language() or "en"
        #: What the viewer may do; set by a broadcast (see ``broadcast.py``).
        self.rights: Hashable = None

    @property
    def session_key(self) -> str:
        return self.request.session.session_key or ""

    @abstractmethod
    def find(self) -> None:
        """Check that the viewer may see the page.

        :raises Http404: there is no such thing, or the viewer may not see it.
        """

    def begin(self) -> None:
        """Check that the viewer may see the page, before the stream begins.

        :raises Http404: as :meth:`find`.
        """
        with translation.override(self.language):
            try:
                self.find()
            finally:
                connection.close()

    def safely(self, make: Callable[[T], Sequence[V]], given: T) -> Sequence[V]:
        """Return ``make(given)``, in the viewer's language; nothing when it fails. A server that is away must not end
        the stream: the next look tries again.
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
        # (As in every request: it detects an ended session, a changed password, and a user who is kept out.)
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
    """A stream that looks at its thing for one viewer alone. :meth:`look` runs in a thread."""

    #: Seconds between two looks.
    poll_seconds = 1.0

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        #: Whether the watched thing has ended: after :data:`LAST_SECONDS` the stream ends.
        self.ended = False
        #: Whether the viewer may not see it any more.
        self.lost = False
        self._looked_at_rights = time.monotonic()
        self._told: dict[str, str] = {}

    @abstractmethod
    def tell(self, events: list[bytes]) -> None:
        """Append the new events."""

    def look(self) -> list[bytes]:
        """Return the events since the last look. A server that is away must not end the stream: the next look tries
        again.
        """
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
        """Return an event ``{"now": …, name: data}``, unless the same data was sent last."""
        text = json.dumps(data, sort_keys=True)
        if self._told.get(name) == text:
            return []
        self._told[name] = text
        return [event(name, {"now": time.time(), name: data})]

    def _still_allowed(self) -> bool:
        """Whether the viewer may still see it, checked every ``RIGHTS_SECONDS``.

        The time is only updated by a successful check: after a failed one (PostgreSQL is away) the check is repeated
        before anything is sent.
        """
        now = time.monotonic()
        if now - self._looked_at_rights < RIGHTS_SECONDS:
            return True
        allowed = self._read_rights()
        if allowed:
            self._looked_at_rights = now
        return allowed


async def give_back_connection() -> None:
    """Return the request's connection to the database: a stream that only waits must not hold one, as there are fewer
    connections than viewers.
    """
    await sync_to_async(connections.close_all)()


async def answer(feed: Feed) -> StreamingHttpResponse:
    """Return the stream of a feed.

    :raises Http404: as :meth:`Feed.find`.
    """
    await give_back_connection()
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(pool, feed.begin)
    return response(_events(feed))


def response(events: AsyncIterator[bytes]) -> StreamingHttpResponse:
    """Return a response that streams server-sent events."""
    return StreamingHttpResponse(
        _without_connection(events),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _without_connection(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the events without holding a connection. (Middleware between the view and this may have opened one
    again.)
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
