"""What logs and traces tell of a request's address: not the query, in which people search and an identity
provider sends its codes.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import Resolver404, resolve

#: What the instrumentation of Django notes of an address: whole, or its query. (OpenTelemetry's older and its
#: newer names.)
_ADDRESSES = frozenset(("http.url", "http.target", "url.full", "url.path"))
_QUERIES = frozenset(("url.query",))


def path_of(request: HttpRequest) -> str:
    """Its path; where that is a secret (to be unsubscribed), the pattern that it fits."""
    try:
        match = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return request.path
    return f"/{match.route}" if "token" in match.kwargs else request.path


def in_span(span: Any, request: HttpRequest) -> None:
    """:param span: of OpenTelemetry, as the instrumentation has begun it."""
    path = path_of(request)
    for name in getattr(span, "attributes", None) or {}:
        if name in _QUERIES:
            span.set_attribute(name, "")
        elif name in _ADDRESSES:
            span.set_attribute(name, path)
