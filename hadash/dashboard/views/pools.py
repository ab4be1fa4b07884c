"""Pools of consumers: the list, and one pool."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from hadash.dashboard import pool_changes
from hadash.dashboard.charts import pool as pool_chart
from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Fields, Keys, order_of, part_order
from hadash.dashboard.views.common import part_of, searched, user_of
from hadash.pools import requests
from hadash.pools.models import PoolStep
from hadash.presentation import badges, pools
from hadash.presentation.pools import PoolRow

#: Rows of each table of a pool.
ROWS_SHOWN = 50
#: Changes of a pool that its page lists: the last ones.
CHANGES_SHOWN = 20

#: The sort keys of the list, and of the tables of one pool.
KEYS: Keys = {
    "pool": attrgetter("name"),
    "state": lambda row: str(row.state.word),
    "pair": lambda row: row.pair.name if row.pair is not None else None,
    "topics": lambda row: len(row.topics),
    "partitions": attrgetter("partitions"),
    "members": lambda row: len(row.members),
    "rate": attrgetter("bytes_per_second"),
    "lag": attrgetter("lag"),
    "strategy": lambda row: row.settings.strategy,
}
TOPIC_KEYS: Keys = {
    "topic": attrgetter("topic"),
    "state": lambda row: str(row.state.word),
    "cluster": lambda row: row.cluster.name if row.cluster is not None else row.servers,
    "group": attrgetter("group"),
    "partitions": attrgetter("partitions"),
    "nobody": attrgetter("of_nobody"),
}
MEMBER_KEYS: Keys = {
    "member": attrgetter("name"),
    "state": lambda row: str(row.state.word),
    "assigned": attrgetter("assigned"),
    "reads": attrgetter("reads"),
    "rate": attrgetter("bytes_per_second"),
    "lag": attrgetter("lag"),
}
PARTITION_KEYS: Keys = {
    "topic": lambda row: (row[0], row[1]),
    "partition": lambda row: (row[1], row[0]),
    "member": lambda row: row[2] or None,
    "next": lambda row: row[3] or None,
}
STEP_FIELDS: Fields = {
    "at": ("at", "pk"),
    "topic": ("topic", "-at"),
    "event": ("event", "-at"),
    "state": ("state", "-at"),
    "moved": ("moved", "-at"),
}


@require_GET
def list_of_pools(request: HttpRequest) -> HttpResponseBase:
    """List all pools; ``?sort=``; ``?format=csv``. With htmx only the rows."""
    user = user_of(request)
    look = pools.look(user)
    order = order_of(request, KEYS)
    rows = order.rows(look.pools, KEYS)
    if request.GET.get("format") == "csv":
        columns = (
            "pool",
            "state",
            "pair",
            "topics",
            "partitions",
            "members",
            "isolated",
            "bytes_s",
            "lag",
            "strategy",
        )
        return csv_response("pools", columns, map(_csv_row, rows))
    context = {"look": look, "rows": rows, "order": order, "may_create": requests.may_change(user, None)}
    template = "pools/rows.html" if request.headers.get("HX-Request") else "pools/list.html"
    return render(request, template, context)


def _csv_row(row: PoolRow) -> tuple[Any, ...]:
    return (
        row.name,
        row.state.word,
        row.pair.name if row.pair is not None else "",
        len(row.topics),
        row.partitions,
        len(row.members),
        row.isolated,
        round(row.bytes_per_second),
        row.lag,
        row.settings.strategy,
    )


@require_GET
def pool(request: HttpRequest, name: str) -> HttpResponseBase:
    """Render the page of a pool; with htmx only what changes, or with ``?part=charts`` only the chart.
    ``?topic=`` narrows its partitions to one Topic; ``?csv=``: ``topics``, ``members``, ``partitions``,
    ``steps``, ``changes``, or the chart.
    """
    user = user_of(request)
    row, look = pools.the_pool(user, name)
    if row is None:
        context: dict[str, Any] = {"name": name, "look": look, "row": None}
        part = "pools/now.html" if request.headers.get("HX-Request") else "pools/page.html"
        return render(request, part, context)
    reading = [each.name for each in row.members if each.isolation is None]
    chart = pool_chart.assignment(reading, row.topics)
    if (asked := asked_csv(request, [chart])) is not None:
        return asked
    if request.headers.get("HX-Request") and searched(request, "part") == "charts":
        return render(request, "parts/chart.html", {"chart": chart})
    topic = searched(request, "topic")
    partitions = _partitions(row, topic)
    orders = {
        "topics": part_order(request, "topics", TOPIC_KEYS),
        "members": part_order(request, "members", MEMBER_KEYS),
        "partitions": part_order(request, "partitions", PARTITION_KEYS),
        "steps": part_order(request, "steps", STEP_FIELDS),
        "changes": part_order(request, "changes", pool_changes.FIELDS),
    }
    match request.GET.get("csv"):
        case "topics":
            rows = orders["topics"].rows(row.topics, TOPIC_KEYS)
            return csv_response("topics", list(TOPIC_KEYS), (_values(each, TOPIC_KEYS) for each in rows))
        case "members":
            members = orders["members"].rows(row.members, MEMBER_KEYS)
            return csv_response(
                "members", list(MEMBER_KEYS), (_values(each, MEMBER_KEYS) for each in members)
            )
        case "partitions":
            return csv_response("partitions", ["topic", "partition", "member", "next"], partitions)
        case "changes":
            made = pools.changes(user).filter(pool=name).iterator(chunk_size=500)
            return csv_response("changes", pool_changes.COLUMNS, map(pool_changes.row_of, made))
        case "steps":
            steps = pools.steps(name).iterator(chunk_size=2000)
            return csv_response("steps", ["at", "topic", "event", "state", "moved"], map(_step_csv, steps))
    context = {
        "name": name,
        "look": look,
        "row": row,
        "chart": chart,
        "orders": orders,
        "topics": part_of(request, "topics", orders["topics"].rows(row.topics, TOPIC_KEYS), ROWS_SHOWN),
        "members": part_of(request, "members", orders["members"].rows(row.members, MEMBER_KEYS), ROWS_SHOWN),
        "partitions": part_of(
            request, "partitions", orders["partitions"].rows(partitions, PARTITION_KEYS), ROWS_SHOWN
        ),
        "topic": topic,
        "may_change": requests.may_change(user, row.pair),
    }
    if request.headers.get("HX-Request"):
        return render(request, "pools/now.html", context)
    of_pool = orders["changes"].query(pools.changes(user).filter(pool=name), pool_changes.FIELDS)
    changes = part_of(request, "changes", of_pool, CHANGES_SHOWN)
    context |= {
        "steps": part_of(request, "steps", orders["steps"].query(pools.steps(name), STEP_FIELDS), ROWS_SHOWN),
        "changes": [(change, badges.of_row(change)) for change in changes.page.object_list],
        "changes_part": changes,
    }
    return render(request, "pools/page.html", context)


def _partitions(row: PoolRow, topic: str) -> list[tuple[str, int, str, str]]:
    """Return (Topic, partition, who has it, who gets it) for each partition, or those of one Topic."""
    found = []
    for each in row.topics:
        if topic and each.topic != topic:
            continue
        getting = {partition: who for who, own in each.to_start.items() for partition in own}
        leaving = {partition: who for who, own in each.to_close.items() for partition in own}
        for partition, who in sorted(each.members.items()):
            gets = getting.get(partition, "")
            has = who if who != gets else ""
            found.append((each.topic, partition, has or leaving.get(partition, ""), gets))
    return found


def _values(row: Any, keys: Keys) -> tuple[Any, ...]:
    """Return a row as its table is ordered: by the value of each column."""
    return tuple(key(row) for key in keys.values())


def _step_csv(step: PoolStep) -> tuple[Any, ...]:
    return step.at.isoformat(), step.topic, step.event, step.state, step.moved


# -- asking --------------------------------------------------------------------------------------------------------
