"""What stands in each kind of report. Each builder asks once for all that it needs, and tells how old it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from hadash.governance.models import Run
from hadash.reports.kinds import coverage, due, lag, posture, risks, switch
from hadash.reports.models import Kind
from hadash.reports.recipients import View
from hadash.reports.report import Report

#: (what the reader sees, now, the report's own page, what it is about) → the report, in the language and zone
#: that are active.
Builder = Callable[[View, datetime, str, str], Report]

BUILDERS: dict[Kind, Builder] = {
    Kind.POSTURE: posture.build,
    Kind.RISKS: risks.build,
    Kind.COVERAGE: coverage.build,
    Kind.LAG: lag.build,
    Kind.SWITCH: switch.build,
    Kind.DUE: due.build,
}

#: The jobs of the pipeline whose figures a kind tells; none for one that tells of what hadash knows by itself.
FIGURES: dict[Kind, tuple[Run.Job, ...]] = {
    Kind.POSTURE: posture.JOBS,
    Kind.RISKS: risks.JOBS,
    Kind.COVERAGE: coverage.JOBS,
    Kind.LAG: lag.JOBS,
    Kind.SWITCH: (),
    Kind.DUE: (),
}
