"""The list of mirrors, and the lag of each pair's worst one, live and over time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from hadash.accounts.roles import pairs_where
from hadash.auditors import selectors
from hadash.dashboard.charts.chart import Chart, asked_csv
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.mirrors.history import WINDOWS, Window, last_whole
from hadash.dashboard.mirrors.selectors import lag_of_pairs, mirrors_for, rows_of, tasks_of
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views import streaming
from hadash.dashboard.views.common import paged, searched, user_of
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror
from hadash.presentation import badges
from hadash.presentation.localized import sentence
from hadash.presentation.readiness import MirrorShow
from hadash.switching import policy

#: The sort keys of the list. By default an unknown lag comes first, as it may be anything.
FIELDS: Fields = {
    "name": ("name",),
    "way": ("source__name",),
    "state": ("state",),
    "lag": ("lag_seconds",),
    "records": ("lag_records",),
    "looked_at": ("looked_at",),
    "tasks": ("tasks_not_running",),
    "restarts": ("tasks_restarts",),
    "topics": ("topics__0",),
}
#: What the database counts in the tasks of each mirror when the list is ordered by it.
_COUNTED = {
    "tasks": {
        "tasks_not_running": RawSQL(
            "(SELECT count(*) FROM jsonb_array_elements(mirroring_mirror.tasks) AS task"
            " WHERE task->>'state' <> 'RUNNING')",
            (),
        )
    },
    "restarts": {
        "tasks_restarts": RawSQL(
            "(SELECT coalesce(sum((task->>'restarts')::int), 0)"
            " FROM jsonb_array_elements(mirroring_mirror.tasks) AS task)",
            (),
        )
    },
}
#: The columns of the list as CSV.
CSV_COLUMNS = (
    "pair", "mirror", "source", "target", "state", "lag_records", "lag_seconds", "tasks_running", "tasks", "restarts",
    "looked_at", "fault", "topics",
)  # fmt: skip
#: What ``?show=`` narrows the list to.
SHOW_WORDS = {
    MirrorShow.DOWN: _("Does not run"),
    MirrorShow.LATE: _("Further behind than the RPO"),
    MirrorShow.UNKNOWN: _("How far it is behind is not known"),
    MirrorShow.TURNING: _("Being turned round"),
    MirrorShow.DIFFERING: _("Differs from its source"),
}
FURTHEST_FIRST = F("lag_seconds").desc(nulls_first=True)

#: Seconds between two looks for a viewer.
POLL_SECONDS = 1.0


@require_GET
def mirrors(request: HttpRequest) -> HttpResponseBase:
    """List the mirrors. ``?q=`` searches names and Topics; ``?pair=``, ``?state=``, ``?show=`` (see
    :class:`~hadash.presentation.readiness.MirrorShow`), ``?sort=``, ``?format=csv``;
    ``?window=`` of the chart: live, hour, day or month; ``?csv=`` its table.
    """
    if request.GET.get("format") == "csv":
        return _csv(request)
    window = _window(request)
    pairs = _pairs(request)
    chart = _chart(request, pairs, window, timezone.now())
    if chart is not None and (asked := asked_csv(request, [chart])) is not None:
        return asked
    context = {**_rows(request, pairs), "chart": chart, "window": window, "windows": WINDOWS.values()}
    return render(request, "mirrors/list.html", context)


def _window(request: HttpRequest) -> Window:
    return WINDOWS.get(searched(request, "window"), WINDOWS["live"])


def _pairs(request: HttpRequest) -> list[str]:
    """Return the names of the pairs that have a mirror which the user may see."""
    found = mirrors_for(user_of(request)).order_by("pair__name")
    return list(found.values_list("pair__name", flat=True).distinct())


def _found(request: HttpRequest, pairs: list[str]) -> Any:
    """Return the mirrors that the address asks for, in its order."""
    query, pair, state = (searched(request, name) for name in ("q", "pair", "state"))
    found = mirrors_for(user_of(request)).defer(*Mirror.DETAILS)
    if query:
        found = found.filter(Q(name__icontains=query) | Q(topics__icontains=query))
    if pair:
        found = found.filter(pair__name=pair)
    if state in Mirror.State.values:
        found = found.filter(state=state)
    if (show := _show(request)) is not None:
        found = found.filter(shown_by(show))
    order = order_of(request, FIELDS)
    found = found.annotate(**_COUNTED.get(order.column, {}))
    return order.query(found.order_by(FURTHEST_FIRST, "pair__name", "name"), FIELDS, ("pair__name", "name"))


def _show(request: HttpRequest) -> MirrorShow | None:
    asked = searched(request, "show")
    return MirrorShow(asked) if asked in set(MirrorShow) else None


def shown_by(show: MirrorShow) -> Q:
    """Return which mirrors a reason of a verdict is about, as :mod:`hadash.presentation.readiness` decides it."""
    seen = Q(looked_at__gte=badges.mirrors_seen_since())
    at_rest = ~Q(state=Mirror.State.TURNING)
    match show:
        case MirrorShow.DOWN:
            return seen & Q(state__in=Mirror.DOWN)
        case MirrorShow.LATE:
            return seen & Q(state=Mirror.State.RUNNING) & _beyond_rpo()
        case MirrorShow.UNKNOWN:
            known = seen & (
                Q(state__in=Mirror.DOWN) | Q(state=Mirror.State.RUNNING, lag_seconds__isnull=False)
            )
            return at_rest & ~known
        case MirrorShow.TURNING:
            return Q(state=Mirror.State.TURNING)
        case MirrorShow.DIFFERING:
            return _differing()


def _beyond_rpo() -> Q:
    late = Q(pk__in=())
    for pair, seconds in policy.rpos(Pair.objects.all()).items():
        late |= Q(pair=pair, lag_seconds__gt=seconds)
    return late


def _differing() -> Q:
    """Return the mirrors of Topics in which auditors have found differences that nobody has accepted."""
    differing = Q(pk__in=())
    for pair, topics in selectors.differing_topics().items():
        differing |= Q(pair=pair, topics__has_any_keys=topics)
    return differing


def _rows(request: HttpRequest, pairs: list[str]) -> dict[str, Any]:
    """Return the context for the list's rows and its filters."""
    page = paged(request, _found(request, pairs))
    return {
        "rows": rows_of(page.object_list),
        "page": page,
        "pairs": pairs,
        "query": searched(request, "q"),
        "pair": searched(request, "pair"),
        "state": searched(request, "state"),
        "show": _show(request) or "",
        "shows": SHOW_WORDS.items(),
        "order": order_of(request, FIELDS),
        "states": [(state, each.label) for state, each in Mirror.SHOWN.items()],
        "any": bool(pairs),
    }


def _csv(request: HttpRequest) -> HttpResponseBase:
    return csv_response("mirrors", CSV_COLUMNS, map(_csv_row, _found(request, _pairs(request))))


def _csv_row(mirror: Mirror) -> tuple[Any, ...]:
    """Return the values of :data:`CSV_COLUMNS`: as on the page, a lag that is not of now is not known."""
    is_known = badges.of_mirror(mirror).is_fine
    running, tasks, restarts = tasks_of(mirror)
    return (
        mirror.pair.name,
        mirror.name,
        mirror.source.name,
        mirror.target.name,
        mirror.state if badges.is_seen(mirror) else Mirror.State.UNKNOWN.value,
        mirror.lag_records if is_known else None,
        mirror.lag_seconds if is_known else None,
        running,
        tasks,
        restarts,
        mirror.looked_at,
        sentence(mirror.fault) if mirror.fault else "",
        " ".join(mirror.topics),
    )


def _chart(request: HttpRequest, pairs: list[str], window: Window, until: datetime) -> Chart | None:
    """Return the chart of the pairs that the address asks for, up to a time; ``None`` when there is no pair."""
    pair = searched(request, "pair")
    wanted = [pair] if pair in pairs else pairs
    shown: list[Pair] = list(pairs_where(user_of(request)).filter(name__in=wanted))
    return lag_of_pairs(shown, window, until) if shown else None


@require_GET
async def stream(request: HttpRequest) -> HttpResponseBase:
    """Stream the events ``rows`` (the list, as the address asks for it) and, in the live window, ``chart``."""
    return await streaming.answer(Feed(request))


class Feed(streaming.Feed):
    """The stream of one viewer of the list."""

    poll_seconds = POLL_SECONDS

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        #: The end of the history that was sent last.
        self._shown_until: datetime | None = None

    def find(self) -> None:
        """Everybody may look: at the mirrors of their pairs."""

    def tell(self, events: list[bytes]) -> None:
        pairs = _pairs(self.request)
        events += self.if_new(
            "rows", render_to_string("mirrors/rows.html", _rows(self.request, pairs), self.request)
        )
        window = _window(self.request)
        if not window.live:  # (Of a longer one hardly anything changes while somebody looks.)
            return
        until = last_whole(window.step, timezone.now())
        if until == self._shown_until:
            return
        self._shown_until = until
        if (chart := _chart(self.request, pairs, window, until)) is not None:
            events += self.if_new("chart", {**chart.drawn, "says": str(chart.says)})
