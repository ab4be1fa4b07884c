"""The charts on the page of a switch that has ended: how long its stages took, beside earlier ones, and how long each client paused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hadash.dashboard.charts import pauses, stages
from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.words import stage_word
from hadash.switching.machine import STAGES, Kind, Stage, Status
from hadash.switching.models import StageRecord, Switch
from hadash.switching.pauses import kept_pauses


def stages_of(switch: Switch, records: Sequence[StageRecord]) -> Chart | None:
    """``None`` while it goes on, or when it never ran. Two queries.

    It is compared with the last switches of its kind and pair that have succeeded before it began.
    """
    own = [(record.stage, record.seconds) for record in records if record.seconds is not None]
    if switch.open or switch.started_at is None or not own:
        return None
    like = Switch.objects.filter(
        pair=switch.pair_id,
        kind=switch.kind,
        status=Status.SUCCEEDED.value,
        started_at__lt=switch.started_at,
    )
    last = list(like.order_by("-started_at").values_list("pk", flat=True)[: stages.COMPARED])
    earlier: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for record in StageRecord.objects.filter(switch__in=last).only(
        "switch_id", "stage", "started_at", "ended_at"
    ):
        if record.seconds is not None:
            earlier[record.stage][record.switch_id] += record.seconds
    words = {stage.value: stage_word(stage) for stage in Stage}
    return stages.compared(
        stages.times_of(own, {stage: list(took.values()) for stage, took in earlier.items()}, words)
    )


def pauses_of(switch: Switch, records: Sequence[StageRecord]) -> Chart | None:
    """``None`` while it goes on, or where nobody was stopped."""
    bands = [
        pauses.Band(
            stage_word(Stage(record.stage)),
            record.started_at,
            record.ended_at,
            STAGES[Stage(record.stage)].writes_blocked,
        )
        for record in records
        if record.ended_at is not None
    ]
    if switch.open or switch.the_kind is Kind.REHEARSAL or not any(band.blocked for band in bands):
        return None
    return pauses.pauses(kept_pauses(switch), bands, len(switch.the_plan().appids) > 1)
