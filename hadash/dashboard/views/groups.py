"""Consumer groups: the list, and one group with the effect of a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from operator import attrgetter, itemgetter
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from hadash.accounts.roles import pairs_where
from hadash.assignment import Outcome
from hadash.dashboard.charts import assignment
from hadash.dashboard.charts.chart import Chart, asked_csv
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.groups import what_if
from hadash.dashboard.groups.links import around
from hadash.dashboard.groups.listing import GroupRow, listing
from hadash.dashboard.groups.live import Look, look_at
from hadash.dashboard.sorting import Keys, order_of, part_order
from hadash.dashboard.views.common import paged, part_of, searched, user_of
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.errors import KafkaError
from hadash.presentation.localized import explained
from hadash.presentation.tables import Column

#: Rows per page of the list, and of the tables of one group.
PAGE_SIZE, ROWS_SHOWN = 50, 50

COLUMNS = (
    Column("cluster", gettext_lazy("Cluster"), "cluster"),
    Column("group", gettext_lazy("Group")),
    Column("state", gettext_lazy("State"), "group_state"),
    Column("assignor", gettext_lazy("Assignor")),
    Column("members", gettext_lazy("Members"), "number"),
    Column("hosts", gettext_lazy("Hosts"), "number"),
    Column("topics", gettext_lazy("Topics"), "number", none="–"),
    Column("partitions", gettext_lazy("Partitions"), "number", none="–"),
    Column("fewest", gettext_lazy("Fewest of a member"), "number", none="–"),
    Column("most", gettext_lazy("Most of a member"), "number", none="–"),
)


#: The sort keys of the list, and of the tables of one group.
KEYS: Keys = {column.name: attrgetter(column.name) for column in COLUMNS}
MEMBER_KEYS: Keys = {
    "client": lambda row: row["word"],
    "host": lambda row: row["member"].host,
    "partitions": itemgetter("partitions"),
    "lag": itemgetter("lag"),
}
LAG_KEYS: Keys = {
    "topic": lambda lag: (lag.topic, lag.partition),
    "partition": lambda lag: (lag.partition, lag.topic),
    "client": lambda lag: lag.client_id or None,
    "committed": attrgetter("committed"),
    "end": attrgetter("end"),
    "records": attrgetter("records"),
}
MOVE_KEYS: Keys = {"partition": itemgetter(0), "from": itemgetter(1), "to": itemgetter(2)}


def _pairs(user: Any) -> list[Pair]:
    """Return the pairs that a user may see, with their clusters."""
    return list(pairs_where(user).select_related("first", "second"))


def _clusters(pairs: Sequence[Pair]) -> dict[str, Cluster]:
    return {cluster.name: cluster for pair in pairs for cluster in pair.clusters}


@require_GET
def groups(request: HttpRequest) -> HttpResponseBase:
    """List the groups. ``?cluster=``, ``?q=`` searches names, ``?sort=column`` or ``-column``, ``?format=csv``."""
    clusters = _clusters(_pairs(user_of(request)))
    cluster, query = (searched(request, name) for name in ("cluster", "q"))
    cluster = cluster if cluster in clusters else ""
    found = listing({cluster} if cluster else clusters)
    wanted = query.casefold()
    rows: Sequence[GroupRow] = found.rows
    if wanted:
        rows = [row for row in rows if wanted in row.group.casefold()]
    order = order_of(request, KEYS)
    rows = order.rows(rows, KEYS)
    if request.GET.get("format") == "csv":
        return csv_response("groups", [each.name for each in COLUMNS], (astuple(row) for row in rows))
    page = paged(request, rows, PAGE_SIZE)
    context = {
        "found": found,
        "page": page,
        "columns": COLUMNS,
        "order": order,
        "rows": [
            (row, [(each, getattr(row, each.name)) for each in COLUMNS[2:]]) for row in page.object_list
        ],
        "clusters": sorted(clusters),
        "cluster": cluster,
        "query": query,
    }
    return render(request, "groups/list.html", context)


@require_GET
def group(request: HttpRequest, cluster: str, name: str) -> HttpResponseBase:
    """Render one group as its cluster reports it now. ``?change=`` asks for the effect of a change
    (:mod:`hadash.dashboard.groups.what_if`); ``?csv=`` names a chart or table.
    """
    pairs = _pairs(user_of(request))
    known = _clusters(pairs).get(cluster)
    if known is None:
        raise Http404(_("There is no cluster %(name)s.") % {"name": cluster})
    try:
        look = look_at(known, name)
    except KafkaError as error:
        context = {"cluster": known, "name": name, "fault": explained(error)}
        return render(request, "groups/page.html", context, status=503)
    if look is None:
        raise Http404(_("There is no group %(name)s on %(cluster)s.") % {"name": name, "cluster": cluster})
    answer = what_if.answer(look, {key: searched(request, key) for key in request.GET})
    outcome = answer.outcome if answer else None
    words = _words(look, outcome)
    chart = _chart(look, outcome, words)
    if (asked := asked_csv(request, [chart])) is not None:
        return asked
    moves = outcome.moves if outcome else ()
    if request.GET.get("csv") == "moves":
        rows = [
            (str(m.partition), words.get(m.source or "", ""), words.get(m.target or "", "")) for m in moves
        ]
        return csv_response("moves", ["partition", "from", "to"], rows)
    if request.GET.get("csv") == "members":
        head = ["client_id", "instance_id", "host", "partitions", "lag", "has", "subscribes_to"]
        return csv_response("members", head, map(_member_csv, _members(look, words)))
    if request.GET.get("csv") == "lag":
        lags = [
            (lag.topic, lag.partition, lag.client_id, lag.committed, lag.end, lag.records)
            for lag in look.lags
        ]
        return csv_response("lag", ["topic", "partition", "client_id", "committed", "end", "records"], lags)
    orders = {
        "members": part_order(request, "members", MEMBER_KEYS),
        "lags": part_order(request, "lags", LAG_KEYS),
        "moves": part_order(request, "moves", MOVE_KEYS),
    }
    found = around(pairs, known, name)
    lags_shown = orders["lags"].rows(sorted(look.lags, key=_furthest_first), LAG_KEYS)
    moved = [(m.partition, words.get(m.source or "", ""), words.get(m.target or "", "")) for m in moves]
    context = {
        "cluster": known,
        "name": name,
        "look": look,
        "around": found,
        "at": timezone.now(),
        "orders": orders,
        "chart": chart,
        "answer": answer,
        "asked": {key: searched(request, key) for key in ("change", "member", "assignor", "topic", "count")},
        "assignors": sorted(what_if.ASSIGNORS),
        "members": part_of(
            request, "members", orders["members"].rows(_members(look, words), MEMBER_KEYS), ROWS_SHOWN
        ),
        "lags": part_of(request, "lags", lags_shown, ROWS_SHOWN),
        "topic_links": {lag.topic: found.topic(lag.topic) for lag in look.lags} if found is not None else {},
        "moves": part_of(request, "moves", orders["moves"].rows(moved, MOVE_KEYS), ROWS_SHOWN),
        "choices": [(member.member_id, words[member.member_id]) for member in look.info.members],
    }
    return render(request, "groups/page.html", context)


def _furthest_first(lag: Any) -> tuple[bool, int, str, int]:
    """Sort the furthest behind first; an unknown lag comes before all, as it may be anything."""
    return lag.records is not None, -(lag.records or 0), lag.topic, lag.partition


def _words(look: Look, outcome: Outcome | None) -> dict[str, str]:
    """Return the members' names: client.id and host, with the end of the member's id where these are not unique."""
    found = {member.member_id: (member.client_id, member.host) for member in look.info.members}
    if outcome is not None:
        found |= {m.id: (m.client_id, _("new")) for m in outcome.group.members if m.id not in found}
    times: dict[tuple[str, str], int] = {}
    for names in found.values():
        times[names] = times.get(names, 0) + 1
    return {
        member: f"{names[0] or '–'} ({names[1]})" + (f" …{member[-6:]}" if times[names] > 1 else "")
        for member, names in found.items()
    }


def _chart(look: Look, outcome: Outcome | None, words: dict[str, str]) -> Chart:
    now = {member.member_id: len(member.partitions) for member in look.info.members}
    then = {member: len(mine) for member, mine in outcome.after.items()} if outcome is not None else None
    return assignment.spread(words, now, then)


def _member_csv(row: dict[str, Any]) -> tuple[Any, ...]:
    member = row["member"]
    topics = None if member.topics is None else sorted(member.topics)
    return (
        member.client_id,
        member.instance_id,
        member.host,
        row["partitions"],
        row["lag"],
        row["names"],
        topics,
    )


def _members(look: Look, words: dict[str, str]) -> list[dict[str, Any]]:
    lags: dict[tuple[str, int], int | None] = {(lag.topic, lag.partition): lag.records for lag in look.lags}
    found = []
    for member in look.info.members:
        own = [lags.get((each.topic, each.partition)) for each in member.partitions]
        found.append(
            {
                "member": member,
                "word": words[member.member_id],
                "partitions": len(member.partitions),
                "names": [str(each) for each in member.partitions],
                "lag": None if None in own else sum(own),  # type: ignore[arg-type]
            }
        )
    return sorted(found, key=lambda row: (-row["partitions"], row["word"]))
