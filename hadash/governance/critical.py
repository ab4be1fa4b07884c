"""Marks AppIDs as critical: the work list begins with the steps that make their radii smaller."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from hadash.accounts.roles import CHANGE_APPID, may
from hadash.audit.models import record
from hadash.inventory.models import AppID


def mark(user: Any, appid: AppID, critical: bool, address: str | None = None) -> AppID:
    """Mark ``appid`` as critical or as not critical. Idempotent.

    :raises PermissionDenied: ``user`` may not.
    """
    if not may(user, CHANGE_APPID, appid.pair):
        raise PermissionDenied("You may not say which AppIDs are critical.")
    with transaction.atomic():
        held = AppID.objects.select_related("pair").select_for_update(of=("self",)).get(pk=appid.pk)
        if held.critical == critical:
            return held
        held.critical = critical
        held.save(update_fields=["critical"])
        verb = "mark critical" if critical else "mark not critical"
        record(user, verb, f"AppID {held.name} of pair {held.pair.name}", address)
    return held
