"""The charts on the page of an ended switch: how long its stages took compared with earlier switches, and how long
each client paused.
"""

from __future__ import annotations

from collections.abc import Sequence

from hadash.dashboard.charts import pauses, stages
from hadash.dashboard.charts.chart import Chart
from hadash.presentation.labels import stage_word
from hadash.switching.execution.pauses import kept_pauses
from hadash.switching.execution.usual import took_before
from hadash.switching.machines.switches import STAGES, Stage
from hadash.switching.models.switches import StageRecord, Switch


def stages_of(switch: Switch, records: Sequence[StageRecord]) -> Chart | None:
    """Return the chart of the stages' times; ``None`` while the switch is open, or if it never ran.

    Two queries (see :mod:`hadash.switching.execution.usual`).
    """
    own = [(record.stage, record.seconds) for record in records if record.seconds is not None]
    if switch.open or switch.started_at is None or not own:
        return None
    words = {stage.value: stage_word(stage) for stage in Stage}
    return stages.compared(stages.times_of(own, took_before(switch), words))


def pauses_of(switch: Switch, records: Sequence[StageRecord]) -> Chart | None:
    """Return the chart of the clients' pauses; ``None`` while the switch is open, or if no client was stopped."""
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
    if switch.open or switch.the_kind.spec.changes_nothing or not any(band.blocked for band in bands):
        return None
    return pauses.pauses(kept_pauses(switch), bands, len(switch.the_plan().appids) > 1)
