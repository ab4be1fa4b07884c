"""Middleware: each request has an id, a line in the log, and is counted."""

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

#: The header with the id of a request: taken from whoever is before us, and given back.
HEADER = "X-Request-ID"
#: What is asked so often that a line each would bury the others.
_QUIET = ("healthz", "readyz", "metrics")
#: Methods; others are counted as one, so that nobody can make a series for each of his.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

Answer = Callable[[HttpRequest], HttpResponseBase]


class WithRequestId:
    """The first of all, so that what others do has the id, too."""

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
    """After the one that knows who is signed in. (A program's token is looked at later:
    ``hadash.api.authentication``.)
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
    """The name of its address; there are as many as pages, whatever anybody asks for."""
    match = request.resolver_match
    return (match.view_name if match is not None else "") or "none"
