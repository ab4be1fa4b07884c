"""Absolute URLs of pages, for mail."""

from __future__ import annotations

from urllib.parse import urlencode, urljoin

from django.conf import settings
from django.urls import reverse


def link(page: str, *arguments: object, **query: str) -> str:
    """Return the absolute URL of a page.

    >>> link("findings", pair="main")
    'http://127.0.0.1:8000/governance/risks/?pair=main'
    """
    address = urljoin(settings.PUBLIC_URL, reverse(page, args=arguments))
    return f"{address}?{urlencode(query)}" if query else address
