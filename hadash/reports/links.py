"""Addresses of pages as a mail needs them: whole ones."""

from __future__ import annotations

from urllib.parse import urlencode, urljoin

from django.conf import settings
from django.urls import reverse


def link(page: str, *arguments: object, **query: str) -> str:
    """
    >>> link("findings", pair="main")
    'http://127.0.0.1:8000/governance/risks/?pair=main'
    """
    address = urljoin(settings.PUBLIC_URL, reverse(page, args=arguments))
    return f"{address}?{urlencode(query)}" if query else address
