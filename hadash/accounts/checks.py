"""System checks: wrong settings are told at the start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

_LOOPBACK = {"127.0.0.1", "localhost", "[::1]", "testserver"}


@register()
def secret_key_is_set(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A server that others reach needs a key of its own."""
    if settings.SECRET_KEY == settings.INSECURE_SECRET_KEY and set(settings.ALLOWED_HOSTS) - _LOOPBACK:
        return [
            Error(
                "HADASH_SECRET_KEY is not set, but HADASH_ALLOWED_HOSTS lets others in.",
                hint="Set it to a long random text and keep it: it also encrypts the clusters' credentials.",
                id="hadash.E001",
            )
        ]
    return []
