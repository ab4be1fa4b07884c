"""Notices for tests."""

from __future__ import annotations

from hadash.notices.models import Channel
from hadash.outbox.models import Endpoint, Transport


def channel(
    name: str = "ops", url: str = "https://hooks.example.org/a", transport: Transport = Transport.WEBHOOK
) -> Channel:
    """As somebody has set it up."""
    return Channel.objects.create(endpoint=Endpoint.objects.create(name=name, transport=transport, url=url))
