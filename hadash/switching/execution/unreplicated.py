"""The note of a forced switch that the lost source may hold records beyond its mirror."""

from __future__ import annotations

from collections.abc import Mapping

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.switching.models.switches import Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.stages.context import points_to_json


def await_unreplicated(key: str, ends: Mapping[Partition, OffsetSync]) -> None:
    """Note that the source of switch ``key`` has to be asked for its unreplicated records. Idempotent."""
    points = points_to_json(ends)
    Unreplicated.objects.get_or_create(switch=Switch.objects.get(key=key), defaults={"points": points})
