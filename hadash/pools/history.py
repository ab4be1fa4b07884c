"""Keeps the steps that coordinators have taken: what one remembers is gone with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from hadash.pools.models import PoolStep


def steps_in(status: Mapping[str, Any]) -> Iterator[PoolStep]:
    """The steps in what a coordinator says (``hadash/coordinator/http_status.py``), as rows that are not saved."""
    for pool, said in status.get("pools", {}).items():
        for step in said.get("history", []):
            yield PoolStep(
                pool=pool,
                topic=step["topic"],
                at=datetime.fromtimestamp(step["at"], UTC),
                event=step["event"],
                state=step["state"],
                moved=step["moved"],
            )


def note(status: Mapping[str, Any]) -> None:
    """Keep the steps that are not kept yet."""
    PoolStep.objects.bulk_create(steps_in(status), ignore_conflicts=True, batch_size=1000)


def trim() -> int:
    """Delete the steps that are older than they are kept, and return how many."""
    before = timezone.now() - timedelta(days=settings.POOL_STEPS_KEPT_DAYS)
    return PoolStep.objects.filter(at__lt=before).delete()[0]
