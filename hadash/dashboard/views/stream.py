"""The live switch as server-sent events. Everything comes from the database and the Gateways at that moment."""

from __future__ import annotations

import json
import time

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from hadash.dashboard import live
from hadash.dashboard.context import frame
from hadash.dashboard.views import streaming
from hadash.dashboard.views.common import the_switch, user_of
from hadash.dashboard.views.streaming import event
from hadash.dashboard.views.switches import parts_context
from hadash.switching.machine import Status
from hadash.switching.models import Switch

#: Seconds between two looks: while a switch runs its stages may last less than a tenth of a second.
RUNNING_POLL_SECONDS = 0.15
POLL_SECONDS = 0.3
#: Seconds between two looks at clients, mirrors and traffic.
TRAFFIC_POLL_SECONDS = 0.5
#: Seconds of traffic before the start that a new viewer gets.
TRAFFIC_BEFORE_SECONDS = 30.0


@require_GET
async def stream(request: HttpRequest, key: str) -> HttpResponseBase:
    """Events ``state``, ``log``, ``traffic``, ``clients``, ``mirror`` and, last, ``end``.

    The log goes on after ``Last-Event-ID``, or after ``?after=``.
    """
    return await streaming.answer(Feed(request, key, _after(request)))


def _after(request: HttpRequest) -> int:
    text = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    return int(text) if text.isdecimal() and len(text) < 18 else 0


class Feed(streaming.Feed):
    """What one viewer of a switch has been told."""

    poll_seconds = POLL_SECONDS

    def __init__(self, request: HttpRequest, key: str, after: int) -> None:
        super().__init__(request)
        self.key = key
        self.after = after
        self._traffic_at = 0.0
        self._traffic_since: float | None = None
        self._samples: set[float] = set()

    def find(self) -> None:
        the_switch(user_of(self.request), self.key)

    def tell(self, events: list[bytes]) -> None:
        switch = the_switch(user_of(self.request), self.key)
        running = switch.current in (Status.APPROVED, Status.RUNNING)
        self.poll_seconds = RUNNING_POLL_SECONDS if running else POLL_SECONDS
        events += self._state(switch)
        for line in live.log_lines(switch, self.after):
            self.after = line["id"]
            events.append(event("log", line, line["id"]))
        ended, self.ended = self.ended, not switch.open
        now = time.monotonic()
        if now - self._traffic_at >= TRAFFIC_POLL_SECONDS or ended is not self.ended:
            self._traffic_at = now
            events += self.if_new("mirror", live.mirrors(switch))
            events += self.if_new("clients", live.clients(switch))
            events += self._traffic(switch)

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
        return [event("state", {**state, "now": time.time(), "parts": parts})]

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
        return [event("traffic", {"samples": new})]
