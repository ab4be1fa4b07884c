"""The page of one mirror, live and over time. (The list: :mod:`hadash.dashboard.views.mirror_list`.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from hadash.auditors import selectors
from hadash.dashboard.charts import mirror_lag
from hadash.dashboard.charts.chart import asked_csv, milliseconds
from hadash.dashboard.charts.mirror_lag import PartitionLag, points_of, shapes_of
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.mirrors import auditing
from hadash.dashboard.mirrors.history import WINDOWS, Window, last_whole, step_of
from hadash.dashboard.mirrors.incidents import KIND_WORDS
from hadash.dashboard.mirrors.selectors import (
    History,
    TopicLag,
    history_of,
    over_time_of,
    partitions_of,
    rows_of,
    the_mirror,
    topics_of,
)
from hadash.dashboard.sorting import Fields, Keys, part_order
from hadash.dashboard.views import full_audits, streaming
from hadash.dashboard.views.common import part_of, searched, user_of
from hadash.dashboard.views.streaming import event
from hadash.mirroring.models import Mirror
from hadash.presentation import badges

#: The sort keys of a mirror's Topics.
TOPIC_KEYS: Keys = {field.name: attrgetter(field.name) for field in fields(TopicLag)}

#: The sort keys of its audited partitions.
AUDIT_KEYS: Keys = {
    "partition": lambda each: (each.row.topic, each.row.partition),
    "proof": lambda each: each.proof.rank,
    "next": lambda each: each.row.source_next,
    "equal": lambda each: each.row.equal,
    "different": lambda each: each.row.different,
    "share": attrgetter("share"),
    "age": attrgetter("age"),
    "auditor": lambda each: each.row.auditor,
}

#: The sort keys of the differences.
DIFFERENCE_FIELDS: Fields = {
    "found": ("found_at",),
    "what": ("kind",),
    "partition": ("audited__topic", "audited__partition"),
    "source": ("source_offset",),
    "target": ("target_offset",),
}

#: The Topics on one page of their table; the audited partitions, and the differences.
TOPICS_SHOWN = PARTITIONS_SHOWN = 50
DIFFERENCES_SHOWN = 25

#: Seconds between two looks for a viewer.
POLL_SECONDS = 1.0

#: The time between two looks at what auditors say, which note it every few seconds: a mirror may have thousands of
#: partitions.
AUDIT_EVERY = timedelta(seconds=5)


def _window(request: HttpRequest) -> Window:
    return WINDOWS.get(searched(request, "window"), WINDOWS["live"])


def _topic(request: HttpRequest) -> str:
    """Return the Topic whose partitions are shown over time; empty for all."""
    return searched(request, "topic")


@require_GET
def mirror(request: HttpRequest, pair: str, name: str) -> HttpResponseBase:
    """Render the page of a mirror. ``?window=``: live, hour, day or month; ``?topic=``: the Topic whose partitions are
    shown over time; ``?csv=`` names a chart or table.
    """
    found = the_mirror(user_of(request), pair, name)
    window, now = _window(request), timezone.now()
    shown = history_of(found, window, now)
    partitions = partitions_of(found)
    charts = [shown.chart, mirror_lag.partitions(partitions)]
    if "csv" in request.GET:
        charts += over_time_of(found, window, now, _topic(request))
    if (asked := asked_csv(request, charts)) is not None:
        return asked
    if request.GET.get("csv") == "incidents":
        rows = ((each.kind, each.since, each.until, each.worst) for each in shown.incidents)
        return csv_response("incidents", ["what", "since", "until", "seconds"], rows)
    if request.GET.get("csv") == "audit":
        return csv_response("audit", auditing.PARTITION_COLUMNS, auditing.partition_rows(found))
    if request.GET.get("csv") == "windows":
        return csv_response("windows", auditing.WINDOW_COLUMNS, auditing.window_rows(found))
    if request.GET.get("csv") == "differences":
        return csv_response("differences", auditing.DIFFERENCE_COLUMNS, auditing.difference_rows(found))
    parts = {
        **_parts(request, found, shown, partitions),
        **_audit(request, found),
        **full_audits.section(request, found),
    }
    if request.GET.get("csv") == "topics":
        return csv_response("topics", list(TOPIC_KEYS), map(astuple, parts["topics"].every_row))
    context = {
        **parts,
        "window": window,
        "windows": WINDOWS.values(),
        "chart": shown.chart,
    }
    return render(request, "mirrors/page.html", context)


@require_GET
def over_time(request: HttpRequest, pair: str, name: str) -> HttpResponse:
    """Render the part of that page which comes after it: its Topics and partitions over time."""
    return render(
        request,
        "mirrors/over-time.html",
        _over_time(request, the_mirror(user_of(request), pair, name), _window(request)),
    )


def _over_time(request: HttpRequest, mirror: Mirror, window: Window) -> dict[str, Any]:
    address = reverse("mirror", args=[mirror.pair.name, mirror.name])
    charts = over_time_of(mirror, window, timezone.now(), _topic(request))
    return {
        "mirror": mirror,
        "over_time": [replace(chart, address=address) for chart in charts],
        "topic": _topic(request),
    }


def _parts(
    request: HttpRequest, mirror: Mirror, shown: History, partitions: Sequence[PartitionLag]
) -> dict[str, Any]:
    """Return the context for the parts of the page that the stream updates. ``?topics-sort=`` orders the Topics, of
    which ``?topics=`` is a page.
    """
    address = reverse("mirror", args=[mirror.pair.name, mirror.name])
    order = part_order(request, "topics", TOPIC_KEYS, address)
    topics = order.rows(topics_of(partitions), TOPIC_KEYS)
    [row] = rows_of([mirror])
    return {
        "mirror": mirror,
        "row": row,
        "partitions": mirror_lag.partitions(partitions),
        "topic_order": order,
        "topics": part_of(request, "topics", topics, TOPICS_SHOWN, address),
        "incidents": [(each, KIND_WORDS[each.kind]) for each in shown.incidents],
        "has_history": bool(shown.buckets),
        "begins_late": shown.begins_late,
    }


def _audit(request: HttpRequest, mirror: Mirror) -> dict[str, Any]:
    """Return the context of what auditors say. ``?audit-sort=`` orders the partitions, of which ``?audit=`` is a page;
    ``?differences=`` is a page of the differences, which ``?differences-sort=`` orders.
    """
    address = reverse("mirror", args=[mirror.pair.name, mirror.name])
    order = part_order(request, "audit", AUDIT_KEYS, address)
    standing = selectors.standing(mirror)
    worst_first = sorted(standing.partitions, key=lambda each: -each.proof.rank)
    partitions = order.rows(worst_first, AUDIT_KEYS)
    difference_order = part_order(request, "differences", DIFFERENCE_FIELDS, address)
    differences = selectors.differences(mirror) if standing.differences or standing.accepted else None
    return {
        "mirror": mirror,
        "standing": standing,
        "standing_state": badges.of_proof(standing.proof),
        "audit_order": order,
        "audited": part_of(request, "audit", partitions, PARTITIONS_SHOWN, address),
        "difference_order": difference_order,
        "differences": part_of(
            request,
            "differences",
            () if differences is None else difference_order.query(differences, DIFFERENCE_FIELDS),
            DIFFERENCES_SHOWN,
            address,
        ),
    }


@require_GET
async def stream(request: HttpRequest, pair: str, name: str) -> HttpResponseBase:
    """Stream the events ``lag`` (new points and the incidents) and one for each part of the page."""
    return await streaming.answer(Feed(request, pair, name))


class Feed(streaming.Feed):
    """The stream of one viewer of a mirror."""

    poll_seconds = POLL_SECONDS

    def __init__(self, request: HttpRequest, pair: str, name: str) -> None:
        super().__init__(request)
        self._pair, self._name = pair, name
        self._is_live = _window(request).live
        self._after = 0
        self._audit_due = timezone.now()
        #: The end of the partitions' history that the viewer has; the page itself has loaded the first.
        self._shown_until: datetime | None = None

    def find(self) -> None:
        the_mirror(user_of(self.request), self._pair, self._name)

    def tell(self, events: list[bytes]) -> None:
        """Tell what is new: the present in every window, the past in the live one only. (Of an hour or a month hardly
        anything changes while somebody looks.)
        """
        found, now = the_mirror(user_of(self.request), self._pair, self._name), timezone.now()
        shown = history_of(found, WINDOWS["live"], now)
        context = _parts(self.request, found, shown, partitions_of(found))
        parts = ["state", "tasks", "topics"]
        if self._is_live:
            parts.append("incidents")
            self._tell_points(events, shown, now)
        if self._audit_due <= now:
            self._audit_due = now + AUDIT_EVERY
            context |= _audit(self.request, found)
            parts.append("audit")
        for part in parts:
            html = render_to_string(f"mirrors/{part}.html", context, self.request)
            events += self.if_new(part, html)
        if self._is_live:
            self._tell_over_time(events, found, now)

    def _tell_points(self, events: list[bytes], shown: History, now: datetime) -> None:
        """Tell the points of the lag that the viewer does not have."""
        step = WINDOWS["live"].step
        # The last step is still being filled: it is sent once it is complete.
        points = points_of([bucket for bucket in shown.buckets if bucket.at + step <= now], step)
        first = next((n for n, at in enumerate(points["at"]) if at > self._after), len(points["at"]))
        if first == len(points["at"]):
            return
        self._after = points["at"][-1]
        new = {key: values[first:] for key, values in points.items()}
        shapes = shapes_of(shown.incidents, shown.span, shown.rpo, shown.switched)
        ends = [milliseconds(each) for each in shown.span]
        events.append(event("lag", {**new, "range": ends, "shapes": shapes, "says": shown.chart.says}))

    def _tell_over_time(self, events: list[bytes], mirror: Mirror, now: datetime) -> None:
        """Tell the charts of Topics and partitions, once a step."""
        window = WINDOWS["live"]
        until = last_whole(step_of(window), now)
        if self._shown_until is not None and until != self._shown_until:
            told = _over_time(self.request, mirror, window)
            events += self.if_new("over-time", render_to_string("mirrors/over-time.html", told, self.request))
        self._shown_until = until
