"""The limits of the stages, from the settings."""

from __future__ import annotations

from django.conf import settings

from hadash.switching.stage_run import Limits


def limits() -> Limits:
    return Limits(
        gather=settings.SWITCH_GATHER_SECONDS,
        settle=settings.SWITCH_SETTLE_SECONDS,
        block=settings.SWITCH_BLOCK_SECONDS,
        drain=settings.SWITCH_DRAIN_SECONDS,
        forward=settings.SWITCH_FORWARD_SECONDS,
        reverse=settings.SWITCH_REVERSE_SECONDS,
        verify=settings.SWITCH_VERIFY_SECONDS,
        active=settings.SWITCH_ACTIVE_SECONDS,
        verify_hold=settings.SWITCH_VERIFY_HOLD_SECONDS,
        max_lag=settings.SWITCH_MAX_LAG,
        accept_acks_1=settings.SWITCH_ACCEPT_ACKS_1,
        poll=settings.SWITCH_POLL_SECONDS,
        fast_poll=settings.SWITCH_FAST_POLL_SECONDS,
    )
