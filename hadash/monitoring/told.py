"""What logs and traces may contain of a request's address: not the query, which holds people's searches and an
identity provider's codes.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import Resolver404, resolve

#: The attributes in which the instrumentation of Django records an address, and those for its query.
#: (OpenTelemetry's older and newer names.)
_ADDRESSES = frozenset(("http.url", "http.target", "url.full", "url.path"))
_QUERIES = frozenset(("url.query",))


def path_of(request: HttpRequest) -> str:
    """Return the request's path, or its URL pattern where the path holds a secret (a token to unsubscribe)."""
    try:
        match = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return request.path
    return f"/{match.route}" if "token" in match.kwargs else request.path


def in_span(span: Any, request: HttpRequest) -> None:
    """Remove queries and secret paths from a span.

    :param span: an OpenTelemetry span that the instrumentation has begun.
    """
    path = path_of(request)
    for name in getattr(span, "attributes", None) or {}:
        if name in _QUERIES:
            span.set_attribute(name, "")
        elif name in _ADDRESSES:
            span.set_attribute(name, path)
