"""System checks of the monitoring settings."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from hadash.monitoring.process_server import parse_address


@register()
def health_address_is_one(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """hadash.E017: ``HADASH_HEALTH_ADDRESS`` is not ``host:port``."""
    if not settings.HEALTH_ADDRESS:
        return []
    try:
        parse_address(settings.HEALTH_ADDRESS)
    except ValueError as error:
        return [Error(str(error), id="hadash.E017")]
    return []
