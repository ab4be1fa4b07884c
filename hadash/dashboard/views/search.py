"""The search for everything that has a page."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from hadash.dashboard.searching import only, search
from hadash.dashboard.views.common import searched, user_of

#: The least number of letters for a search: one letter would find everything.
LEAST = 2


@require_GET
def everything(request: HttpRequest) -> HttpResponseBase:
    """Search for ``?q=``. The only hit with exactly that name is opened at once, except with ``?list=1``."""
    text = searched(request, "q")
    found = search(user_of(request), text) if len(text) >= LEAST else []
    if (address := only(found, text)) and "list" not in request.GET:
        return redirect(address)
    return render(request, "search.html", {"text": text, "found": found, "least": LEAST})
