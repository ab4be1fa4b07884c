"""What logs and traces tell of a request's address."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from hadash.monitoring import told


class Span:
    """As OpenTelemetry's, as far as it is asked here."""

    def __init__(self, **attributes: str) -> None:
        self.attributes: dict[str, Any] = {
            name.replace("_", "."): value for name, value in attributes.items()
        }

    def set_attribute(self, name: str, value: str) -> None:
        self.attributes[name] = value


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("/appids/?q=somebody", "/appids/"),
        ("/sign-in/oidc/return/?code=of-the-provider", "/sign-in/oidc/return/"),
        ("/unsubscribe/secret-of-the-mail/", "/unsubscribe/<str:token>/"),
        ("/nothing/of/this/name/?q=x", "/nothing/of/this/name/"),
    ],
)
def test_neither_queries_nor_secrets(address: str, path: str) -> None:
    request = RequestFactory().get(address)
    assert told.path_of(request) == path
    span = Span(
        http_url=f"http://hadash{address}", http_target=address, url_query="q=somebody", http_method="GET"
    )
    told.in_span(span, request)
    assert span.attributes == {"http.url": path, "http.target": path, "url.query": "", "http.method": "GET"}
