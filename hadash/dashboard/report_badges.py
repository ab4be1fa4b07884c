"""Badges for the reports of a schedule."""

from __future__ import annotations

from hadash.presentation.badges import State
from hadash.reports.models import ReportIssue


def of_issue(issue: ReportIssue) -> State:
    """Return the badge of a report that was due: whether it was made, not whether its mail arrived."""
    looks = {
        ReportIssue.State.WAITING: ("waiting", "running"),
        ReportIssue.State.QUEUED: ("fine", "fine"),
        ReportIssue.State.FAILED: ("bad", "bad"),
        ReportIssue.State.SKIPPED: ("unknown", "off"),
    }
    look, icon = looks[ReportIssue.State(issue.state)]
    return State(look, icon, issue.get_state_display())
