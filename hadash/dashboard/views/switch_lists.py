"""The list of switches, with the inboxes: those that wait for the user, and those that the user has requested."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from hadash.dashboard import change_rows, pool_changes
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import REQUEST_FIELDS, Fields, order_of, part_order
from hadash.dashboard.views.common import paged, part_of, searched, user_of
from hadash.presentation import badges, batches, changes, pools, selectors
from hadash.presentation.lookups import the_appid
from hadash.switching.drafts.services import drafts_of
from hadash.switching.machines import batches as batch_machine
from hadash.switching.machines.switches import Status
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch

#: Changes of bindings per page (``?changes=``) below the switches of an inbox.
SHOWN_CHANGES = 25

INBOXES = ("all", "waiting", "mine")

#: The sort keys of the list.
FIELDS: Fields = {
    "what": ("appid", "instance_id"),
    "way": ("source__name", "target__name"),
    "state": ("status",),
    "by": ("requested_by__username",),
    "when": ("requested_at",),
}

#: Most of the user's own batches, the newest, above the user's switches.
BATCHES_SHOWN = 10


@require_GET
def switches(request: HttpRequest) -> HttpResponseBase:
    """List the switches. ``?inbox=waiting|mine`` and ``?status=`` filter; ``?q=`` searches AppID, InstanceID and
    Topics, or is a key; ``?of=`` is the number of an AppID that moved, by itself or along with others; ``?sort=``;
    ``?format=csv``, or ``changes`` and ``pool-changes`` for the changes of bindings and of pools of the inbox.
    """
    user = user_of(request)
    inbox = request.GET.get("inbox", "all")
    inbox = inbox if inbox in INBOXES else "all"
    found = selectors.waiting_for(user) if inbox == "waiting" else selectors.switches(user)
    if inbox == "mine":
        found = found.filter(requested_by=user)
    of = searched(request, "of")[:18]
    moved = the_appid(user, int(of)) if of.isdecimal() else None
    if moved is not None:
        found = found.filter(pk__in=selectors.history_of(user, moved).order_by().values("pk"))
    status, query = searched(request, "status"), searched(request, "q")
    if status in set(Status):
        found = found.filter(status=status)
    if query:
        found = found.filter(
            Q(appid__icontains=query)
            | Q(instance_id__icontains=query)
            | Q(asked__topics__icontains=query)
            | Q(key=query)
        )
    order = order_of(request, FIELDS)
    found = order.query(found, FIELDS, ("-requested_at", "pk"))
    if request.GET.get("format") == "csv":
        return csv_response("switches", _CSV, map(_csv_row, found.iterator(chunk_size=500)))
    if request.GET.get("format") == "changes":
        rows = changes.in_inbox(user, inbox).iterator(chunk_size=500)
        return csv_response("changes-of-bindings", _CHANGES_CSV, map(_change_csv_row, rows))
    if request.GET.get("format") == "pool-changes":
        made = pools.in_inbox(user, inbox).iterator(chunk_size=500)
        return csv_response("changes-of-pools", pool_changes.COLUMNS, map(pool_changes.row_of, made))
    page = paged(request, found)
    state_of = badges.of_waiting if inbox == "waiting" else badges.of_row
    # The filters by status and name apply to switches only: with one of them, nothing else is listed.
    filtered = bool(status or query or moved)
    change_order = part_order(request, "changes", REQUEST_FIELDS)
    changed = change_order.query(changes.in_inbox(user, inbox), REQUEST_FIELDS)
    part = part_of(request, "changes", [] if filtered else changed, SHOWN_CHANGES)
    pool_order = part_order(request, "pool-changes", pool_changes.FIELDS)
    pool_changed = pool_order.query(pools.in_inbox(user, inbox), pool_changes.FIELDS)
    of_pools = part_of(request, "pool-changes", [] if filtered else pool_changed, SHOWN_CHANGES)
    its_batches = [] if filtered else _batches(user, inbox)
    context = {
        "page": page,
        "order": order,
        "changes": [(change, badges.of_row(change)) for change in part.page.object_list],
        "changes_part": part,
        "change_order": change_order,
        "pool_changes": [(change, badges.of_row(change)) for change in of_pools.page.object_list],
        "pool_changes_part": of_pools,
        "pool_change_order": pool_order,
        "other_waits": bool(its_batches or part.page.object_list or of_pools.page.object_list),
        "rows": [(switch, state_of(switch)) for switch in page.object_list],
        "inbox": inbox,
        "status": status,
        "query": query,
        "moved": moved,
        "filtered": filtered,
        "statuses": badges.all_of(Switch.SHOWN),
        "batches": its_batches,
        "drafts": drafts_of(user) if inbox == "mine" and not filtered else [],
        "mine": selectors.switches(user)
        .filter(requested_by=user, status=Status.AWAITING_APPROVAL.value)
        .count()
        + changes.in_inbox(user, "mine").filter(status=Status.AWAITING_APPROVAL.value).count()
        + pools.in_inbox(user, "mine").filter(status=Status.AWAITING_APPROVAL.value).count()
        + batches.batches(user)
        .filter(requested_by=user, status=batch_machine.Status.AWAITING_APPROVAL.value)
        .count(),
    }
    return render(request, "switches/list.html", context)


_CSV = (
    "key",
    "kind",
    "pair",
    "appid",
    "instance_id",
    "topics",
    "source",
    "target",
    "status",
    "reason",
    "requested_by",
    "requested_at",
    "started_at",
    "ended_at",
)


def _csv_row(switch: Switch) -> tuple[Any, ...]:
    return (
        switch.key,
        switch.kind,
        switch.pair.name,
        switch.appid,
        switch.instance_id,
        switch.scope.topics,
        switch.source.name,
        switch.target.name,
        switch.status,
        switch.reason,
        switch.requested_by.get_username(),
        switch.requested_at,
        switch.started_at,
        switch.ended_at,
    )


_CHANGES_CSV = ("key", "pair", "appid", "identities", *change_rows.COLUMNS)


def _change_csv_row(change: BindingChange) -> tuple[Any, ...]:
    return (
        change.key,
        change.pair.name,
        change.appid,
        list(map(str, change.the_edits)),
        *change_rows.cells_of(change),
    )


def _batches(user: Any, inbox: str) -> list[batches.Row]:
    """Return the batches above the switches of an inbox; all of them have a list of their own."""
    if inbox == "waiting":
        return batches.rows(batches.waiting_for(user))
    if inbox == "mine":
        return batches.rows(batches.batches(user).filter(requested_by=user)[:BATCHES_SHOWN])
    return []
