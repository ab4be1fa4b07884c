"""The live switch as server-sent events. Everything comes from the database and the Gateways at that moment."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.contrib.auth import get_user
from django.db import close_old_connections, connection
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils import translation
from django.views.decorators.http import require_GET

from hadash.dashboard import live
from hadash.dashboard.context import frame
from hadash.dashboard.views.common import the_switch, user_of
from hadash.dashboard.views.switches import parts_context
from hadash.switching.machine import Status
from hadash.switching.models import Switch

log = logging.getLogger(__name__)

#: Seconds between two looks: while a switch runs its stages may last less than a tenth of a second.
RUNNING_POLL_SECONDS = 0.15
POLL_SECONDS = 0.3
#: Seconds between two looks at clients, mirrors and traffic.
TRAFFIC_POLL_SECONDS = 0.5
#: Seconds without news after which a comment keeps proxies from closing the stream.
HEARTBEAT_SECONDS = 10.0
#: Seconds of a stream; the browser opens a new one, which checks the session anew.
STREAM_SECONDS = 600.0
#: Seconds between two looks whether the viewer may still see it: a person who is kept out, or whose role is taken, sees no more after
#: this time.
RIGHTS_SECONDS = 2.0
#: Seconds after the end of a switch in which its last lines arrive.
LAST_SECONDS = 1.0
#: Seconds of traffic before the start that a new viewer gets.
TRAFFIC_BEFORE_SECONDS = 30.0

_pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="switch-stream")


@require_GET
async def stream(request: HttpRequest, key: str) -> HttpResponseBase:
    """Events ``state``, ``log``, ``traffic``, ``clients``, ``mirror`` and, last, ``end``.

    The log goes on after ``Last-Event-ID``, or after ``?after=``.
    """
    feed = Feed(request, key, _after(request))
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(_pool, feed.begin)
    return StreamingHttpResponse(
        _events(feed),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _after(request: HttpRequest) -> int:
    text = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    return int(text) if text.isdecimal() and len(text) < 18 else 0


async def _events(feed: Feed) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    began = spoken = time.monotonic()
    ended_at: float | None = None
    yield b"retry: 1000\n\n"
    while True:
        events = await loop.run_in_executor(_pool, feed.look)
        now = time.monotonic()
        for event in events:
            yield event
        if events:
            spoken = now
        elif now - spoken > HEARTBEAT_SECONDS:
            spoken = now
            yield b": still here\n\n"
        if feed.ended:
            ended_at = ended_at if ended_at is not None else now
            if now - ended_at >= LAST_SECONDS:
                yield _event("end", {})
                return
        if feed.lost or now - began > STREAM_SECONDS:
            return
        await asyncio.sleep(RUNNING_POLL_SECONDS if feed.running else POLL_SECONDS)


def _event(name: str, data: Any, event_id: int | None = None) -> bytes:
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


class Feed:
    """What one viewer has been told. :meth:`begin` and :meth:`look` run in a thread."""

    def __init__(self, request: HttpRequest, key: str, after: int) -> None:
        self.request = request
        self.key = key
        self.language = translation.get_language() or "en"
        self.after = after
        self.ended = self.running = False
        #: The viewer may not see it any more.
        self.lost = False
        self._looked_at_rights = time.monotonic()
        self._told: dict[str, str] = {}
        self._traffic_at = 0.0
        self._traffic_since: float | None = None
        self._samples: set[float] = set()

    def begin(self) -> None:
        """:raises Http404: there is no such switch."""
        with translation.override(self.language):
            try:
                the_switch(user_of(self.request), self.key)
            finally:
                connection.close()

    def look(self) -> list[bytes]:
        """The events since the last look. A server that is away is no reason to end: the next look sees."""
        events: list[bytes] = []
        close_old_connections()
        try:
            with translation.override(self.language):
                self._look(events)
        except Exception:
            log.exception("the stream of switch %s could not look", self.key)
        finally:
            close_old_connections()
        return events

    def _still_allowed(self) -> bool:
        """Whether the session lasts, and the viewer may see the switch. Rights are read again: roles are taken while a stream is open.

        The time is noted when they hold: a look that failed (PostgreSQL is away) is made again before anything is sent.
        """
        now = time.monotonic()
        if now - self._looked_at_rights < RIGHTS_SECONDS:
            return True
        allowed = self._read_rights()
        if allowed:
            self._looked_at_rights = now
        return allowed

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
        return self._may_see()

    def _look(self, events: list[bytes]) -> None:
        if not self._still_allowed():
            self.lost = True
            return
        switch = the_switch(user_of(self.request), self.key)
        self.running = switch.current in (Status.APPROVED, Status.RUNNING)
        events += self._state(switch)
        for line in live.log_lines(switch, self.after):
            self.after = line["id"]
            events.append(_event("log", line, line["id"]))
        ended, self.ended = self.ended, not switch.open
        now = time.monotonic()
        if now - self._traffic_at >= TRAFFIC_POLL_SECONDS or ended is not self.ended:
            self._traffic_at = now
            events += self._if_new("mirror", live.mirrors(switch))
            events += self._if_new("clients", live.clients(switch))
            events += self._traffic(switch)

    def _may_see(self) -> bool:
        try:
            the_switch(user_of(self.request), self.key)
        except Http404:
            return False
        return True

    def _if_new(self, name: str, data: Any) -> list[bytes]:
        text = json.dumps(data, sort_keys=True)
        if self._told.get(name) == text:
            return []
        self._told[name] = text
        return [_event(name, {"now": time.time(), name: data})]

    def _state(self, switch: Switch) -> list[bytes]:
        """The state, and the parts of the page that show it. Nothing when nothing has changed: people type there."""
        state = live.state(switch, list(switch.stages.all()))
        text = json.dumps(state, sort_keys=True)
        if self._told.get("state") == text:
            return []
        self._told["state"] = text
        context = parts_context(user_of(self.request), switch)
        parts = {
            name: render_to_string(f"switches/{name}.html", context, self.request)
            for name in ("head", "rail", "result")
        }
        parts["counts"] = render_to_string("parts/counts.html", frame(self.request), self.request)
        return [_event("state", {**state, "now": time.time(), "parts": parts})]

    def _traffic(self, switch: Switch) -> list[bytes]:
        """Samples that this viewer has not got yet. Gateways report a little apart: ask twice, send once."""
        if self._traffic_since is None:
            start = switch.started_at.timestamp() if switch.started_at else time.time()
            self._traffic_since = start - TRAFFIC_BEFORE_SECONDS
        samples = live.traffic_since(switch, self._traffic_since)
        new = [sample for sample in samples if float(sample["at"]) not in self._samples]
        self._samples.update(float(sample["at"]) for sample in new)
        if not new:
            return []
        self._traffic_since = float(new[-1]["at"]) - 4 * live.SAMPLE_SECONDS
        self._samples = {at for at in self._samples if at > self._traffic_since}
        return [_event("traffic", {"samples": new})]
