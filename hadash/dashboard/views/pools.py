"""Pools of consumers: the list, one pool, and changes of them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from hadash.accounts.browser import browser_of
from hadash.accounts.roles import DECIDE, OPERATE, pairs_where
from hadash.changes import Status
from hadash.coordinator.strategies import STRATEGIES
from hadash.dashboard import pool_changes
from hadash.dashboard.charts import pool as pool_chart
from hadash.dashboard.charts.chart import asked_csv
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.pool_forms import OFFERED, STRATEGY_WORDS, PoolForm, TopicForm, change_of
from hadash.dashboard.sorting import Fields, Keys, order_of, part_order
from hadash.dashboard.views.actions import actions_on, decisions_on
from hadash.dashboard.views.common import address_of, denied, faults_of, part_of, searched, typed, user_of
from hadash.inventory.models import Cluster
from hadash.pools import applier, consumers, decisions, requests
from hadash.pools.actions import Action, Change
from hadash.pools.models import PoolChange, PoolStep
from hadash.presentation import badges, pools, selectors
from hadash.presentation.localized import sentence
from hadash.presentation.pool_actions import WORDS
from hadash.presentation.pools import PoolRow, PoolsLook
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.approvals import four_eyes

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


@require_http_methods(["GET", "POST"])
def new_pool(request: HttpRequest) -> HttpResponse:
    """Create a pool. POST: the fields of :class:`PoolForm` and ``reason``."""
    if not requests.may_change(user_of(request), None):
        return denied(request, PermissionDenied("You may not change pools of consumers."), OPERATE)
    form = PoolForm(request.POST) if request.method == "POST" else PoolForm()
    context: dict[str, Any] = {"form": form, "reason": typed(request, "reason"), "refusals": []}
    if request.method == "GET":
        return render(request, "pools/new.html", context)
    if not form.is_valid():
        return render(request, "pools/new.html", context | {"refusals": faults_of(form)}, status=409)
    values = form.cleaned_data
    change = Change(values["name"], Action.CREATE, strategy=values["strategy"])
    look = pools.look(user_of(request))
    try:
        taken = next((row for row in look.pools if row.name == values["name"]), None)
        return _submitted(request, change, taken, look, values["name"])
    except Refused as refusal:
        return render(request, "pools/new.html", context | {"refusals": refusal.reasons}, status=409)


@require_http_methods(["GET", "POST"])
def add_topic(request: HttpRequest, name: str) -> HttpResponse:
    """Let a pool read a Topic. POST: the fields of :class:`TopicForm` and ``reason``."""
    row, look = pools.the_pool(user_of(request), name)
    if not requests.may_change(user_of(request), row.pair if row is not None else None):
        return _may_not(request, row)
    clusters = _clusters(user_of(request))
    form = TopicForm(request.POST or None, clusters=clusters)
    context: dict[str, Any] = {
        "name": name,
        "form": form,
        "clusters": sorted(clusters),
        "reason": typed(request, "reason"),
        "refusals": [],
    }
    if request.method == "GET":
        return render(request, "pools/topic.html", context)
    if not form.is_valid():
        return render(request, "pools/topic.html", context | {"refusals": faults_of(form)}, status=409)
    values = form.cleaned_data
    try:
        change = consumers.adding(
            name, values["topic"], clusters[values["cluster"]], values["group"], values["more"]
        )
        return _submitted(request, change, row, look, name)
    except Refused as refusal:
        return render(request, "pools/topic.html", context | {"refusals": refusal.reasons}, status=409)


def _clusters(user: Any) -> dict[str, Cluster]:
    """Return the clusters of the pairs where a user may change pools, by name."""
    pairs = pairs_where(user, OPERATE).filter(first__generated=False).select_related("first", "second")
    return {cluster.name: cluster for pair in pairs for cluster in pair.clusters}


@require_http_methods(["GET", "POST"])
def change_pool(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for a change of a pool. GET: ``?action=``, with ``member``, ``topic`` or ``strategy``. POST: the same with
    ``reason`` and, where the change wants it, ``typed``. An action that there is not leads to the pool.
    """
    row, look = pools.the_pool(user_of(request), name)
    if not requests.may_change(user_of(request), row.pair if row is not None else None):
        return _may_not(request, row)
    values = request.POST if request.method == "POST" else request.GET
    asked = {
        key: (typed if request.method == "POST" else searched)(request, key)
        for key in ("member", "topic", "strategy")
    }
    action = next(
        (each for each in OFFERED if each is not Action.ADD_TOPIC and each == values.get("action")), None
    )
    if action is None:
        return redirect("pool", name=name)
    change = change_of(name, action, asked)
    context: dict[str, Any] = {
        "name": name,
        "row": row,
        "change": change,
        "words": WORDS[action],
        "chooses": action in (Action.STRATEGY, Action.SHADOW),
        "may_choose_none": action is Action.SHADOW,
        "isolates": action is Action.ISOLATE,
        "member": next((each for each in row.members if each.name == change.member), None) if row else None,
        "choices_of_strategy": [(each, STRATEGY_WORDS[each]) for each in sorted(STRATEGIES)],
        "approvals_needed": requests.approvals_of(row.pair if row is not None else None),
        "reason": typed(request, "reason"),
        "typed": typed(request, "typed"),
        "refusals": [],
    }
    if request.method == "GET":
        return render(request, "pools/change.html", context)
    try:
        return _submitted(request, change, row, look, name)
    except Refused as refusal:
        return render(request, "pools/change.html", context | {"refusals": refusal.reasons}, status=409)


def _submitted(
    request: HttpRequest, change: Change, row: PoolRow | None, look: PoolsLook, name: str
) -> HttpResponse:
    """Submit a change, and lead to its pool, or to the change while it waits. :raises Refused: it is refused."""
    if look.fault:
        raise Refused(say("ZooKeeper does not answer (%(fault)s): no pool can be changed.", fault=look.fault))
    pair = row.pair if row is not None else None
    asked = requests.ChangeRequest(
        user_of(request),
        pair,
        change,
        typed(request, "reason"),
        row.view if row is not None else None,
        {each.name for each in row.members} if row is not None else (),
        typed(request, "typed"),
        address_of(request),
        browser_of(request),
    )
    try:
        held = requests.request(asked, applier.apply)
    except PermissionDenied as error:
        return denied(request, error, OPERATE, pair)
    held.refresh_from_db()
    if held.current is Status.APPLIED:
        messages.success(request, _("Done: %(what)s") % {"what": sentence(held.sentence)})
        return redirect("pools") if change.action is Action.DELETE else redirect("pool", name=name)
    if held.current is Status.AWAITING_APPROVAL:
        messages.success(request, _("The change is requested. Somebody else has to approve it."))
    return redirect("pool-change", key=held.key)


def _may_not(request: HttpRequest, row: PoolRow | None) -> HttpResponse:
    error = PermissionDenied("You may not change pools of consumers.")
    return denied(request, error, OPERATE, row.pair if row is not None else None)


# -- one change ----------------------------------------------------------------------------------------------------


@require_GET
def change(request: HttpRequest, key: str) -> HttpResponse:
    return _change_page(request, pools.the_change(user_of(request), key))


def _change_page(
    request: HttpRequest,
    found: PoolChange,
    refusals: list[Sentence] | None = None,
    status: int = 200,
    reason: str = "",
) -> HttpResponse:
    user = user_of(request)
    awaiting = found.current is Status.AWAITING_APPROVAL
    approvals = four_eyes.shown(found)
    context = {
        "change": found,
        "state": badges.of_row(found),
        "awaiting": awaiting,
        "writing": found.current is Status.APPROVED,
        "own": found.requested_by_id == user.pk,
        "approvals": approvals,
        "approvals_missing": four_eyes.missing_of(found, len(approvals)),
        "may_decide": decisions.POOL_CHANGES.may_decide(user, found, approvals),
        "may_cancel": decisions.POOL_CHANGES.may_cancel(user, found),
        "deciders": selectors.people_who(
            DECIDE, found.pair, found.requested_by, *(given.user for given in approvals)
        )
        if awaiting
        else [],
        "refusals": refusals or [],
        "typed_reason": reason,
    }
    part = "pools/change_live.html" if request.headers.get("HX-Request") else "pools/change_page.html"
    return render(request, part, context, status=status)


def _refused(request: HttpRequest, found: PoolChange, reasons: list[Sentence]) -> HttpResponse:
    return _change_page(request, found, reasons, 409, typed(request, "reason"))


action = actions_on(pools.the_change, "pool-change", _refused)

approve, decline, cancel = decisions_on(
    action, decisions.POOL_CHANGES, applier.apply, lambda change: _("Approved. It is being written.")
)
