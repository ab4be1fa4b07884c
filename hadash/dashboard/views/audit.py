"""Who did what, when, from where."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from hadash.audit.models import Entry
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
    context = {"page": paged(request, found, 50), "query": query, "actor": actor}
    return render(request, "audit/list.html", context)
