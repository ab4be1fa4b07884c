"""The audit log: who did what, when, from where."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from operator import itemgetter
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from hadash.accounts.roles import VIEW_AUDIT, may
from hadash.audit.models import CHUNK, Entry, exported, head
from hadash.dashboard.audit_links import page_of
from hadash.dashboard.csv_export import csv_response
from hadash.dashboard.sorting import Fields, order_of
from hadash.dashboard.views.common import denied, paged, searched, user_of
from hadash.presentation.labels import VERBS
from hadash.sentences import Sentence, say

#: The sort keys of the list.
FIELDS: Fields = {"when": ("at",), "who": ("actor__username",), "verb": ("verb",), "subject": ("subject",)}

#: The query parameters that filter the list, and those that say how its days are meant.
FILTERS = ("q", "actor", "verb", "since", "until", "number")
OFFSETS = ("since_offset", "until_offset")
#: A time zone is not further from UTC, in minutes.
MOST_OFFSET = 24 * 60


@require_GET
def audit(request: HttpRequest) -> HttpResponseBase:
    """List the entries, the newest first (with ``?sort=when`` the oldest).

    ``?q=`` searches the subject, ``?actor=`` takes a user name, ``?verb=`` a recorded verb, ``?since=`` and
    ``?until=`` days, ``?number=`` one entry; ``?format=csv``. ``?since_offset=`` and ``?until_offset=`` are the minutes
    that the user's clock is behind UTC when the first day begins and when the last one ends; without them, days are in
    UTC.
    """
    if not may(user_of(request), VIEW_AUDIT):
        return denied(request, PermissionDenied("You may not read the audit log."), VIEW_AUDIT)
    asked = {name: searched(request, name) for name in (*FILTERS, *OFFSETS)}
    found, faults = _filtered(asked)
    order = order_of(request, FIELDS)
    found = order.query(found, FIELDS, ("-pk",))
    if request.GET.get("format") == "csv" and not faults:
        return csv_response("audit", _CSV, map(_csv_row, found.iterator(chunk_size=CHUNK)))
    page = paged(request, found, 50)
    context = {
        "page": page,
        "entries": [(entry, page_of(entry.subject)) for entry in page.object_list],
        "order": order,
        "asked": asked,
        "filtered": any(asked[name] for name in FILTERS),
        "verbs": sorted(((verb, str(word)) for verb, word in VERBS.items()), key=itemgetter(1)),
        "head": head(),
        "faults": faults,
    }
    return render(request, "audit/list.html", context, status=400 if faults else 200)


def _filtered(asked: Mapping[str, str]) -> tuple[QuerySet[Entry], list[Sentence]]:
    """Return (the matching entries, the faults of filters that cannot be used)."""
    found, faults = Entry.objects.select_related("actor"), []
    if asked["q"]:
        found = found.filter(subject__icontains=asked["q"])
    if asked["actor"]:
        found = found.filter(actor__username=asked["actor"])
    if asked["verb"]:
        found = found.filter(verb=asked["verb"])
    if asked["number"]:
        is_number = asked["number"].isdecimal() and len(asked["number"]) < 19
        found = found.filter(number=int(asked["number"])) if is_number else found.none()
    for name, days in (("since", 0), ("until", 1)):
        if asked[name]:
            try:
                day = datetime.combine(date.fromisoformat(asked[name]) + timedelta(days=days), time(), UTC)
                day += _behind_utc(asked[f"{name}_offset"])
            except (ValueError, OverflowError):
                faults.append(say("“%(day)s” is no day. Write it as 2026-11-30.", day=asked[name][:40]))
            else:
                found = found.filter(at__gte=day) if name == "since" else found.filter(at__lt=day)
    return found, faults


def _behind_utc(minutes: str) -> timedelta:
    """Return how far a clock is behind UTC; nothing for what is no zone."""
    try:
        found = int(minutes[:5])
    except ValueError:
        return timedelta()
    return timedelta(minutes=found) if abs(found) <= MOST_OFFSET else timedelta()


_CSV = ("number", "at", "actor", "verb", "subject", "address", "details", "page")


def _csv_row(entry: Entry) -> tuple[Any, ...]:
    details = json.dumps(entry.details, ensure_ascii=False) if entry.details else ""
    return (
        entry.number, entry.at, entry.actor_name or "hadash", entry.verb, entry.subject, entry.address, details,
        page_of(entry.subject),
    )  # fmt: skip


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    """Export all entries as JSON Lines, oldest first, for ``hadash-manage verify_audit --file``."""
    if not may(user_of(request), VIEW_AUDIT):
        return denied(request, PermissionDenied("You may not read the audit log."), VIEW_AUDIT)
    response = StreamingHttpResponse(_lines(), content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="hadash-audit-{timezone.now():%Y-%m-%d}.jsonl"'
    return response


async def _lines() -> AsyncIterator[str]:
    """Yield the log in chunks: it may not fit into memory."""
    first = 1
    while lines := await sync_to_async(_chunk)(first):
        yield "".join(lines)
        first += len(lines)


def _chunk(first: int) -> list[str]:
    return [json.dumps(entry, ensure_ascii=False) + "\n" for entry in islice(exported(first), CHUNK)]
