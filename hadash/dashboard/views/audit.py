"""Who did what, when, from where."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from hadash.audit.models import Entry, exported, head
from hadash.dashboard.views.common import paged


@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    """Newest first; ``?q=`` looks in the subject, ``?actor=`` takes a user name."""
    query, actor = request.GET.get("q", "").strip(), request.GET.get("actor", "").strip()
    found = Entry.objects.select_related("actor")
    if query:
        found = found.filter(subject__icontains=query)
    if actor:
        found = found.filter(actor__username=actor)
    context = {"page": paged(request, found, 50), "query": query, "actor": actor, "head": head()}
    return render(request, "audit/list.html", context)


@require_GET
def export(request: HttpRequest) -> StreamingHttpResponse:
    """Everything, as JSON Lines, oldest first: what ``manage.py verify_audit --file`` checks."""
    lines = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in exported())
    response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="hadash-audit-{timezone.now():%Y-%m-%d}.jsonl"'
    return response
