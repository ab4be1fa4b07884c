"""What stands in each kind of report. Each builder asks once for all that it needs, and tells how old it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from hadash.reports.kinds import posture
from hadash.reports.models import Kind
from hadash.reports.recipients import View
from hadash.reports.report import Report

#: (what the reader sees, now, the report's own page) → the report, in the language and zone that are active.
Builder = Callable[[View, datetime, str], Report]

BUILDERS: dict[Kind, Builder] = {
    Kind.POSTURE: posture.build,
}
