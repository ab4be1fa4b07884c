"""The live switch as server-sent events. Everything is read from the database and the Gateways at that moment, once
for all viewers.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from hadash.accounts.roles import DECIDE, FORCE, OPERATE, REQUEST, VIEW, people_who
from hadash.dashboard.context import frame
from hadash.dashboard.views import broadcast, streaming
from hadash.dashboard.views.broadcast import Broadcast, News
from hadash.dashboard.views.common import the_switch, user_of
from hadash.dashboard.views.streaming import event
from hadash.dashboard.views.switches import parts_context
from hadash.presentation import behind, live
from hadash.presentation.lookups import switch_with_all
from hadash.switching.approvals import four_eyes
from hadash.switching.machines.switches import Status
from hadash.switching.models.switches import Switch

#: Seconds between two looks, while the switch runs and otherwise: a stage may last less than a tenth of a second.
RUNNING_POLL_SECONDS = 0.15
POLL_SECONDS = 0.3
#: Seconds between two looks at clients, mirrors and traffic.
TRAFFIC_POLL_SECONDS = 0.5
#: Seconds of traffic before the start that a new viewer gets, and the most samples: as many as the page keeps.
TRAFFIC_BEFORE_SECONDS = 30.0
MOST_SAMPLES = 4000

#: The events of which a new viewer gets the last; the first three come before the lines of the log.
_REMEMBERED = ("state", "parts", "counts", "mirror", "clients", "behind")

#: The placeholder for a viewer's own CSRF token in forms that are rendered once for several viewers.
_TOKEN = "csrf-token-of-the-viewer"


@require_GET
async def stream(request: HttpRequest, key: str) -> HttpResponseBase:
    """Stream the events ``state``, ``parts`` (the parts of the page that show it), ``counts``, ``log``, ``traffic``,
    ``clients``, ``mirror``, ``behind`` (the Topics that are still to be copied) and, last, ``end``.

    The log continues after ``Last-Event-ID``, or after ``?after=``.
    """
    viewer = SwitchViewer(request, key)

    def find() -> Broadcast:
        return broadcast.broadcast_of((key, viewer.language), partial(SwitchBroadcast, viewer.language, key))

    return await broadcast.answer(viewer, find, _after(request))


def _after(request: HttpRequest) -> int:
    text = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    return int(text) if text.isdecimal() and len(text) < 18 else 0


class SwitchViewer(streaming.Viewer):
    """A viewer of a switch."""

    def __init__(self, request: HttpRequest, key: str) -> None:
        super().__init__(request)
        self.key = key

    def find(self) -> None:
        the_switch(user_of(self.request), self.key)


class SwitchBroadcast(Broadcast):
    """The broadcast of one switch in one language."""

    poll_seconds = POLL_SECONDS
    aside_seconds = TRAFFIC_POLL_SECONDS

    def __init__(self, language: str, key: str) -> None:
        super().__init__(language)
        self.key = key
        #: The id of the last line of the log that was sent; ``None`` before the first look.
        self._after: int | None = None
        self._digest = ""
        self._status = ""
        #: The last news of each kind of event.
        self._last: dict[str, News] = {}
        self._told: dict[str, str] = {}
        self._samples: list[dict[str, Any]] = []

    def look(self) -> list[News]:
        switch = switch_with_all(self.key)
        running = switch.current in (Status.APPROVED, Status.RUNNING)
        self.poll_seconds = RUNNING_POLL_SECONDS if running else POLL_SECONDS
        self.ended = not switch.open
        # (News that have to be made per viewer come last, so that the others do not wait for them.)
        state = self._state(switch)
        return [*state[:1], *self._log(switch), *state[1:]]

    def look_aside(self) -> list[News]:
        switch = switch_with_all(self.key)
        return [
            *self._if_new("mirror", live.mirrors(switch)),
            *self._if_new("clients", live.clients(switch)),
            *self._if_new("behind", self._behind(switch)),
            *self._traffic(switch),
        ]

    def greeting(self, after: int) -> list[News]:
        switch = switch_with_all(self.key)
        lines = [_line(line) for line in live.log_lines(switch, after)]
        known = [self._last[n] for n in _REMEMBERED if n in self._last]
        samples = self._samples[-MOST_SAMPLES:]
        traffic = [News(event("traffic", {"samples": samples}))] if samples else []
        return [*known[:3], *lines, *known[3:], *traffic]

    def rights(self, users: Collection[int]) -> Mapping[int, Hashable]:
        pair = switch_with_all(self.key).pair
        may_see = set(people_who(VIEW, pair).filter(pk__in=users).values_list("pk", flat=True))
        may = [
            set(people_who(right, pair).filter(pk__in=may_see).values_list("pk", flat=True))
            for right in (DECIDE, REQUEST, OPERATE, FORCE)
        ]
        return {user: tuple(user in who for who in may) for user in may_see}

    def _state(self, switch: Switch) -> list[News]:
        """Return the state, and the parts of the page that show it. Nothing when the state is unchanged: replacing
        these parts would disturb people who type in them.
        """
        state = live.state(switch, list(switch.stages.all()))
        if self._digest == state["digest"]:
            return []
        self._digest = state["digest"]
        parts = Parts(switch, state["digest"])
        self._last["state"] = News(event("state", {**state, "now": time.time()}))
        self._last["parts"] = News(of_viewer=parts.of, at_once=parts.of_made)
        news = [self._last["state"], self._last["parts"]]
        if self._status != switch.status:
            self._status = switch.status
            self._last["counts"] = News(of_viewer=_counts, can_wait=True)
            news.append(self._last["counts"])
        return news

    def _behind(self, switch: Switch) -> str:
        told = {"switch": switch, "behind": behind.of_switch(switch)}
        return render_to_string("switches/behind.html", told)

    def _log(self, switch: Switch) -> list[News]:
        if self._after is None:  # (the greeting sends earlier lines)
            self._after = live.last_line(switch)
            return []
        lines = [_line(line) for line in live.log_lines(switch, self._after)]
        self._after = max([self._after, *(line.number for line in lines)])
        return lines

    def _if_new(self, name: str, data: Any) -> list[News]:
        text = json.dumps(data, sort_keys=True)
        if self._told.get(name) == text:
            return []
        self._told[name] = text
        self._last[name] = News(event(name, {"now": time.time(), name: data}))
        return [self._last[name]]

    def _traffic(self, switch: Switch) -> list[News]:
        """Return the samples that were not sent yet. Gateways report at slightly different times, so the last seconds
        are asked for again, and only new samples are sent.
        """
        if self._samples:
            since = float(self._samples[-1]["at"]) - 4 * live.SAMPLE_SECONDS
        else:
            start = switch.started_at.timestamp() if switch.started_at else time.time()
            since = start - TRAFFIC_BEFORE_SECONDS
        known = {float(sample["at"]) for sample in self._samples}
        new = [s for s in live.traffic_since(switch, since) if float(s["at"]) not in known]
        if not new:
            return []
        together = sorted([*self._samples, *new], key=lambda sample: float(sample["at"]))
        self._samples = together[-MOST_SAMPLES:]
        return [News(event("traffic", {"samples": new}))]


def _line(line: dict[str, Any]) -> News:
    return News(event("log", line, line["id"]), number=line["id"])


def _counts(viewer: streaming.Viewer) -> Sequence[bytes]:
    """Return the navigation's counts of running switches and of those that wait for the viewer."""
    html = render_to_string("parts/counts.html", frame(viewer.request), viewer.request)
    return [event("counts", {"parts": {"counts": html}})]


class Parts:
    """The parts of the page that show one state of a switch. They are rendered once for all viewers with the same
    rights.
    """

    def __init__(self, switch: Switch, digest: str) -> None:
        """:param digest: the digest of the state that they show."""
        self._switch = switch
        self._digest = digest
        self._theirs = {switch.requested_by_id, *(a.user_id for a in four_eyes.shown(switch))}
        self._made: dict[Hashable, str] = {}
        self._making = threading.Lock()

    def of(self, viewer: streaming.Viewer) -> Sequence[bytes]:
        """Return the event for one viewer."""
        kind = self._kind(viewer)
        with self._making:
            if kind not in self._made:
                self._made[kind] = self._make(viewer.request)
        return self._with_token(self._made[kind], viewer)

    def of_made(self, viewer: streaming.Viewer) -> Sequence[bytes] | None:
        """Return the event for one viewer without reading anything; ``None`` if it was not rendered for this kind
        yet.
        """
        text = self._made.get(self._kind(viewer))
        return None if text is None else self._with_token(text, viewer)

    @staticmethod
    def _with_token(text: str, viewer: streaming.Viewer) -> Sequence[bytes]:
        return [text.replace(_TOKEN, get_token(viewer.request)).encode() if _TOKEN in text else text.encode()]

    def _kind(self, viewer: streaming.Viewer) -> Hashable:
        """Return the kind of a viewer: their rights, and their id if they have requested or approved the switch."""
        user = user_of(viewer.request).pk
        # (A viewer whose rights could not be read shares parts with nobody.)
        return viewer.rights, user if viewer.rights is None or user in self._theirs else None

    def _make(self, request: HttpRequest) -> str:
        context = {**parts_context(user_of(request), self._switch), "csrf_token": _TOKEN}
        parts = {
            name: render_to_string(f"switches/{name}.html", context, request)
            for name in ("head", "rail", "result")
        }
        return event("parts", {"of": self._digest, "parts": parts}).decode()
