"""System checks: wrong settings are told at the start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def didi_engines_have_their_time_within_a_block(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Else every block of a pair that DiDi's engine governs would return to the start."""
    if 0 <= settings.DIDI_APPLY_SECONDS < settings.SWITCH_BLOCK_SECONDS:
        return []
    return [
        Error(
            f"HADASH_DIDI_APPLY_SECONDS is {settings.DIDI_APPLY_SECONDS:g}, but a block has to be in effect within "
            f"HADASH_SWITCH_BLOCK_SECONDS ({settings.SWITCH_BLOCK_SECONDS:g}).",
            hint="Set it to what DiDi's brokers need to hear of a change: docs/dialects.md.",
            id="hadash.E010",
        )
    ]
