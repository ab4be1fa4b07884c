"""Builds each kind of report. A builder queries its data once, and says how old they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from hadash.governance.models.runs import Run
from hadash.reports.kinds import coverage, due, lag, posture, risks, switch
from hadash.reports.models import Kind
from hadash.reports.recipients import View
from hadash.reports.report import Report

#: (the reader's view, now, the URL of the report's page, the key that it is about) → the report in the active
#: language and zone.
Builder = Callable[[View, datetime, str, str], Report]

BUILDERS: dict[Kind, Builder] = {
    Kind.POSTURE: posture.build,
    Kind.RISKS: risks.build,
    Kind.COVERAGE: coverage.build,
    Kind.LAG: lag.build,
    Kind.SWITCH: switch.build,
    Kind.DUE: due.build,
}

#: The jobs of the pipeline whose figures a kind contains; none for a kind with only hadash's own data.
FIGURES: dict[Kind, tuple[Run.Job, ...]] = {
    Kind.POSTURE: posture.JOBS,
    Kind.RISKS: risks.JOBS,
    Kind.COVERAGE: coverage.JOBS,
    Kind.LAG: lag.JOBS,
    Kind.SWITCH: (),
    Kind.DUE: (),
}
