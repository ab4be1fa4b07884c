"""One search box for everything that has a page."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from hadash.dashboard.searching import only, search
from hadash.dashboard.views.common import searched, user_of

#: Letters from which on it is searched: one would find everything.
LEAST = 2


@require_GET
def everything(request: HttpRequest) -> HttpResponseBase:
    """``?q=``. What has exactly that name, and is alone with it, is opened at once; with ``?list=1`` never."""
    text = searched(request, "q")
    found = search(user_of(request), text) if len(text) >= LEAST else []
    if (address := only(found, text)) and "list" not in request.GET:
        return redirect(address)
    return render(request, "search.html", {"text": text, "found": found, "least": LEAST})
