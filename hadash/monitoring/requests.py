"""Middleware that gives each request an id and a line in the log, and counts it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from hadash.monitoring import told
from hadash.monitoring.metrics import REQUEST_SECONDS, REQUESTS
from hadash.telemetry import ids
from hadash.telemetry.logs import printable

log = logging.getLogger("hadash.requests")

#: The header with a request's id: taken from the proxy in front of hadash, and returned in the response.
HEADER = "X-Request-ID"
#: Views that are requested so often that a log line each would bury the others.
_QUIET = ("healthz", "readyz", "metrics")
#: The methods that are counted by name. All others are counted as one, so that no client can create a time
#: series per invented method.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

Answer = Callable[[HttpRequest], HttpResponseBase]


class WithRequestId:
    """Gives a request its id. It comes before all other middleware, so that their log lines have the id, too."""

    def __init__(self, get_response: Answer) -> None:
        self._answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        number = ids.new_request_id(request.headers.get(HEADER, ""))
        began = time.perf_counter()
        with ids.bound(request=number):
            response = self._answer(request)
            seconds = time.perf_counter() - began
            _tell(request, response.status_code, seconds)
        response.headers[HEADER] = number
        return response


class WithPerson:
    """Adds the signed-in person's name to the log lines. It comes after Django's authentication middleware.

    (A program's token is checked later: ``hadash.api.authentication``.)
    """

    def __init__(self, get_response: Answer) -> None:
        self._answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = request.user.get_username()
        if name:
            ids.add(person=name)
        return self._answer(request)


def _tell(request: HttpRequest, status: int, seconds: float) -> None:
    method = request.method if request.method in _METHODS else "other"
    view = _view(request)
    REQUESTS.labels(method, view, str(status)).inc()
    REQUEST_SECONDS.labels(method, view).observe(seconds)
    level = logging.DEBUG if view in _QUIET else logging.INFO
    path = printable(told.path_of(request))
    fields = {
        "method": method,
        "path": path,
        "view": view,
        "status": status,
        "seconds": round(seconds, 4),
    }
    log.log(level, "%s %s %d %.0f ms", method, path, status, seconds * 1000, extra={"fields": fields})


def _view(request: HttpRequest) -> str:
    """Return the name of the request's view: a bounded set, whatever paths clients ask for."""
    match = request.resolver_match
    return (match.view_name if match is not None else "") or "none"
