"""How long each stage of a switch usually takes, by the last successful switches of its kind in its pair that began
before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from statistics import median

from hadash.switching.machines.switches import Status
from hadash.switching.models.switches import StageRecord, Switch

#: The most earlier switches to compare with, and the fewest: fewer do not show what is usual.
COMPARED, LEAST = 20, 3

#: Switches for which a process caches it: what came before a switch that has begun does not change.
REMEMBERED = 256


def took_before(switch: Switch) -> Mapping[str, Sequence[float]]:
    """By stage, the seconds of each of those switches (all attempts together). Two queries, or cached once it has
    begun.
    """
    if switch.started_at is None:
        return _took(switch.pair_id, switch.kind, None)
    return _remembered(switch.pair_id, switch.kind, switch.started_at)


def usual_of(seconds: Sequence[float]) -> float | None:
    """The median of ``seconds``; ``None`` if there are too few.

    >>> usual_of([3.0, 1.0, 2.0]), usual_of([3.0])
    (2.0, None)
    """
    return median(seconds) if len(seconds) >= LEAST else None


def usual_seconds(switch: Switch) -> dict[str, float]:
    """The usual seconds by stage, without stages of which too little is known."""
    usual = {stage: usual_of(seconds) for stage, seconds in took_before(switch).items()}
    return {stage: seconds for stage, seconds in usual.items() if seconds is not None}


@lru_cache(maxsize=REMEMBERED)
def _remembered(pair: int, kind: str, before: datetime) -> Mapping[str, Sequence[float]]:
    return _took(pair, kind, before)


def _took(pair: int, kind: str, before: datetime | None) -> Mapping[str, Sequence[float]]:
    like = Switch.objects.filter(
        pair=pair, kind=kind, status=Status.SUCCEEDED.value, started_at__isnull=False
    )
    if before is not None:
        like = like.filter(started_at__lt=before)
    last = list(like.order_by("-started_at").values_list("pk", flat=True)[:COMPARED])
    found: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for record in StageRecord.objects.filter(switch__in=last).only(
        "switch_id", "stage", "started_at", "ended_at"
    ):
        if record.seconds is not None:
            found[record.stage][record.switch_id] += record.seconds
    return {stage: list(took.values()) for stage, took in found.items()}
