"""Who did what, when, from where."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from hadash.accounts.roles import VIEW_AUDIT, may
from hadash.audit.models import CHUNK, Entry, exported, head
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views.common import denied, paged, searched, user_of

#: What the list can be ordered by.
FIELDS: Fields = {"when": ("at",), "who": ("actor__username",), "verb": ("verb",), "subject": ("subject",)}


@require_GET
def audit(request: HttpRequest) -> HttpResponseBase:
    """Newest first, the oldest with ``?sort=when``; ``?q=`` looks in the subject, ``?actor=`` takes a user name; ``?format=csv``."""
    if not may(user_of(request), VIEW_AUDIT):
        return denied(request, PermissionDenied("You may not read the audit log."), VIEW_AUDIT)
    query, actor = searched(request, "q"), searched(request, "actor")
    found = Entry.objects.select_related("actor")
    if query:
        found = found.filter(subject__icontains=query)
    if actor:
        found = found.filter(actor__username=actor)
    order = order_of(request, FIELDS)
    found = order.query(found, FIELDS, ("-pk",))
    if request.GET.get("format") == "csv":
        return csv_response("audit", _CSV, map(_csv_row, found.iterator(chunk_size=CHUNK)))
    context = {
        "page": paged(request, found, 50),
        "order": order,
        "query": query,
        "actor": actor,
        "head": head(),
    }
    return render(request, "audit/list.html", context)


_CSV = ("number", "at", "actor", "verb", "subject", "address", "details")


def _csv_row(entry: Entry) -> tuple[Any, ...]:
    details = json.dumps(entry.details, ensure_ascii=False) if entry.details else ""
    return (
        entry.number, entry.at, entry.actor_name or "hadash", entry.verb, entry.subject, entry.address, details,
    )  # fmt: skip


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    """Everything, as JSON Lines, oldest first: what ``hadash-manage verify_audit --file`` checks."""
    if not may(user_of(request), VIEW_AUDIT):
        return denied(request, PermissionDenied("You may not read the audit log."), VIEW_AUDIT)
    response = StreamingHttpResponse(_lines(), content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="hadash-audit-{timezone.now():%Y-%m-%d}.jsonl"'
    return response


async def _lines() -> AsyncIterator[str]:
    """A chunk at a time: the log may be longer than the memory."""
    first = 1
    while lines := await sync_to_async(_chunk)(first):
        yield "".join(lines)
        first += len(lines)


def _chunk(first: int) -> list[str]:
    return [json.dumps(entry, ensure_ascii=False) + "\n" for entry in islice(exported(first), CHUNK)]
