"""The list of batches, the page of one, and all actions on a batch."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Func, IntegerField
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from hadash.accounts.roles import DECIDE, OPERATE, REQUEST
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views.actions import actions_on, decisions_on
from hadash.dashboard.views.common import address_of, paged, searched, typed, user_of
from hadash.presentation import badges, batches, selectors
from hadash.presentation.batches import the_batch
from hadash.presentation.localized import sentence
from hadash.sentences import Sentence
from hadash.switching.approvals import four_eyes
from hadash.switching.batches import decisions, operations
from hadash.switching.batches.plans import LEFT_OUT
from hadash.switching.handovers import handing_over
from hadash.switching.machines.batches import ItemStatus, Status
from hadash.switching.models.batches import Batch, BatchItem
from hadash.switching.policy import blackout_now

#: Radii on one page of a batch, and its newest lines of the log.
ITEMS_SHOWN = 25
LINES_SHOWN = 200

#: Most radii that the head names as left out, or as failed.
NAMED = 20


#: The sort keys of a batch's radii, and of the list.
ITEM_FIELDS: Fields = {
    "wave": ("wave", "position"),
    "radius": ("asked__appid", "asked__instance_id"),
    "state": ("status",),
    "topics": ("topics",),
    "clients": ("clients",),
    "switch": ("switch__key",),
}
FIELDS: Fields = {
    "way": ("source__name", "target__name"),
    "state": ("status",),
    "by": ("requested_by__username",),
    "when": ("requested_at",),
}


@require_GET
def list_of_batches(request: HttpRequest) -> HttpResponseBase:
    """List the batches. ``?status=`` is a value of :class:`Status`; ``?sort=``; ``?format=csv``."""
    found = batches.batches(user_of(request))
    status = searched(request, "status")
    if status in set(Status):
        found = found.filter(status=status)
    order = order_of(request, FIELDS)
    found = order.query(found, FIELDS, ("-requested_at", "pk"))
    if request.GET.get("format") == "csv":
        return csv_response("batches", _CSV, map(_csv_row, found.iterator(chunk_size=500)))
    page = paged(request, found)
    context = {
        "page": page,
        "order": order,
        "rows": batches.rows(page.object_list),
        "status": status,
        "statuses": badges.all_of(Batch.SHOWN),
    }
    return render(request, "batches/list.html", context)


_CSV = (
    "key",
    "pair",
    "source",
    "target",
    "status",
    "parallelism",
    "reason",
    "requested_by",
    "requested_at",
    "decided_by",
    "decided_at",
    "started_at",
    "ended_at",
)


def _csv_row(found: Batch) -> tuple[Any, ...]:
    return (
        found.key, found.pair.name, found.source.name, found.target.name, found.status, found.parallelism, found.reason,
        found.requested_by.get_username(), found.requested_at, found.decided_by and found.decided_by.get_username(),
        found.decided_at, found.started_at, found.ended_at,
    )  # fmt: skip


@require_GET
def batch(request: HttpRequest, key: str) -> HttpResponseBase:
    """Render the page of a batch, or with htmx only the part that changes; ``?format=csv`` returns all its radii.

    ``?wave=`` (or ``all``), ``?status=`` and ``?page=`` select radii; without them, a running or stopped batch shows
    the first wave that is not settled. ``?seen=`` is the state that the rest of the page shows: if it has changed, the
    page is reloaded.
    """
    found = the_batch(user_of(request), key)
    if request.GET.get("format") == "csv":
        items = found.items.select_related("switch").order_by("position")
        return csv_response(f"batch-{key}", _ITEM_CSV, map(_item_row, items.iterator(chunk_size=500)))
    if not request.headers.get("HX-Request"):
        return _page(request, found)
    answer = render(request, "batches/live.html", _live(request, found))
    if request.GET.get("seen") != _seen(found):
        answer["HX-Refresh"] = "true"
    return answer


_ITEM_CSV = ("wave", "position", "scope", "state", "topics", "clients", "switch", "outcome")


def _item_row(item: BatchItem) -> tuple[Any, ...]:
    return (
        item.wave,
        item.position,
        item.scope,
        item.status,
        item.the_plan().topics,
        item.clients,
        item.switch.key if item.switch else "",
        sentence(Sentence.from_json(item.outcome)) if item.outcome else "",
    )


def _seen(found: Batch) -> str:
    """Return the state that decides which actions the page offers."""
    return f"{found.status}-{found.approvals.count()}"


def _live(request: HttpRequest, found: Batch) -> dict[str, Any]:
    waves = batches.progress_of([found]).get(found.pk, [])
    wave, status = searched(request, "wave"), searched(request, "status")
    if not wave and not status and found.current in (Status.RUNNING, Status.STOPPED):
        wave = str(next((each.wave for each in waves if each.settled < each.total), ""))
    items = found.items.select_related("switch").defer(
        "switch__plan", "switch__traffic", "switch__facts", "switch__pauses"
    )
    is_wave = wave.isdecimal() and len(wave) < 7
    items = items.filter(wave=int(wave)) if is_wave else items.exclude(wave=LEFT_OUT)
    if status in set(ItemStatus):
        items = items.filter(status=status)
    order = order_of(request, ITEM_FIELDS, address=found.get_absolute_url())
    items = items.annotate(
        topics=Func(F("plan__topics"), function="jsonb_array_length", output_field=IntegerField())
    )
    page = paged(request, order.query(items, ITEM_FIELDS, ("position",)), ITEMS_SHOWN)
    events = found.events.select_related("actor").order_by("-pk")[:LINES_SHOWN]
    return {
        "batch": found,
        "order": order,
        "progress": batches.whole(waves),
        "took": batches.took(found),
        "waves": [(wave, badges.of(BatchItem.SHOWN[wave.look])) for wave in waves],
        "wave": wave if wave.isdecimal() else "",
        "left_out_count": found.items.filter(wave=LEFT_OUT).count(),
        "status": status,
        "statuses": badges.all_of(BatchItem.SHOWN),
        "page": page,
        "items": [(item, badges.of_row(item), item.the_plan()) for item in page.object_list],
        "log": events,
        "live": found.open,
        "seen": _seen(found),
    }


def _page(
    request: HttpRequest,
    found: Batch,
    refusals: list[Sentence] | None = None,
    status: int = 200,
    reason: str = "",
) -> HttpResponse:
    user = user_of(request)
    awaiting, approved = found.current is Status.AWAITING_APPROVAL, found.current is Status.APPROVED
    stopped = found.current is Status.STOPPED
    approvals = four_eyes.shown(found)
    own = found.requested_by_id == user.pk
    failed = found.items.filter(status=ItemStatus.FAILED.value).select_related("switch")
    context = {
        **_live(request, found),
        "state": badges.of_row(found),
        "refusals": refusals or [],
        "typed_reason": reason,
        "awaiting": awaiting,
        "approved": approved,
        "stopped": stopped,
        "own": own,
        "approvals": approvals,
        "approvals_missing": four_eyes.missing_of(found, len(approvals)),
        "left_out": found.items.filter(wave=LEFT_OUT)[:NAMED],
        "failed": failed[:NAMED] if stopped else [],
        "blackout": blackout_now(found.pair) if awaiting or found.current is Status.RUNNING else None,
        "may_decide": decisions.BATCHES.may_decide(user, found, approvals),
        "may_cancel": decisions.BATCHES.may_cancel(user, found),
        "may_stop": operations.may_stop(user, found),
        "may_operate": operations.may_resume(user, found),
        "may_end": operations.may_end(user, found),
        "deciders": selectors.people_who(DECIDE, found.pair, found.requested_by, *(a.user for a in approvals))
        if awaiting
        else [],
        "operators": selectors.people_who(OPERATE, found.pair) if stopped else [],
    }
    return render(request, "batches/page.html", context, status=status)


# -- actions -----------------------------------------------------------------------------------------------------


def _refused(request: HttpRequest, batch: Batch, reasons: list[Sentence]) -> HttpResponse:
    return _page(request, batch, reasons, 409, typed(request, "reason"))


action = actions_on(the_batch, "batch", _refused)


def _approved(batch: Batch) -> str:
    if batch.current is Status.APPROVED:
        return _("Approved. The batch starts when its window comes.")
    return _("Approved. The batch is running.")


approve, decline, cancel = decisions_on(
    action, decisions.BATCHES, lambda batch: handing_over.wake(batch), _approved
)


@action(REQUEST)
def stop(request: HttpRequest, batch: Batch) -> str:
    operations.stop(user_of(request), batch, address_of(request))
    return _("Nothing new starts. What was started ends by itself.")


@action(OPERATE)
def resume(request: HttpRequest, batch: Batch) -> str:
    """Fields ``without`` (leave out what has failed) and ``reason``."""
    without = bool(request.POST.get("without"))
    reason = typed(request, "reason")
    operations.resume(user_of(request), batch, handing_over.wake, without, reason, address_of(request))
    return _("It resumes.")


@action(OPERATE)
def end(request: HttpRequest, batch: Batch) -> str:
    """Field ``reason``."""
    operations.end(user_of(request), batch, typed(request, "reason"), address_of(request))
    return _("Ended. What has moved stays moved.")
