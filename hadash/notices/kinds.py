"""The kinds of notices: their names, their urgency, and who gets them by default. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext_lazy as _

from hadash.accounts.roles import DECIDE, OPERATE, RUN_JOB


class NoticeKind(StrEnum):
    """The kind of an event."""

    APPROVAL_ASKED = "approval-asked"
    APPROVAL_GIVEN = "approval-given"
    APPROVAL_DECLINED = "approval-declined"
    APPROVAL_EXPIRING = "approval-expiring"
    SWITCH_BEGAN = "switch-began"
    SWITCH_WAITS = "switch-waits"
    SWITCH_SLOW = "switch-slow"
    SWITCH_ENDED = "switch-ended"
    SWITCH_NEEDS_SOMEBODY = "switch-needs-somebody"
    FINDINGS_NEW = "findings-new"
    MIRROR_LATE = "mirror-late"
    MIRROR_FAILED = "mirror-failed"
    MIRROR_DIFFERS = "mirror-differs"
    GATEWAY_AWAY = "gateway-away"
    JOB_FAILED = "job-failed"


class Urgency(StrEnum):
    """How urgent a notice is. ``NOW``: somebody has to act, so it is also sent in quiet hours, and outside
    digests.
    """

    NOW = "now"
    SOON = "soon"


@dataclass(frozen=True, slots=True)
class About:
    """One kind of notices. ``word``: its name on pages. ``may``: users with this permission on the pair get it
    by default; empty: none by a permission. ``involved``: users who requested it or decided on it get it by
    default.
    """

    word: Any
    urgency: Urgency
    may: str = ""
    involved: bool = False


NOTICES: dict[NoticeKind, About] = {
    NoticeKind.APPROVAL_ASKED: About(_("an approval is asked for"), Urgency.NOW, may=DECIDE),
    NoticeKind.APPROVAL_GIVEN: About(_("an approval is given"), Urgency.SOON, involved=True),
    NoticeKind.APPROVAL_DECLINED: About(_("a request is declined"), Urgency.SOON, involved=True),
    NoticeKind.APPROVAL_EXPIRING: About(
        _("a request is about to expire"), Urgency.NOW, may=DECIDE, involved=True
    ),
    NoticeKind.SWITCH_BEGAN: About(_("a switch begins"), Urgency.SOON, involved=True),
    NoticeKind.SWITCH_WAITS: About(_("a switch is paused"), Urgency.NOW, involved=True),
    NoticeKind.SWITCH_SLOW: About(_("a switch is slower than usual"), Urgency.NOW, may=OPERATE),
    NoticeKind.SWITCH_ENDED: About(_("a switch has ended"), Urgency.SOON, involved=True),
    NoticeKind.SWITCH_NEEDS_SOMEBODY: About(
        _("a switch needs somebody"), Urgency.NOW, may=OPERATE, involved=True
    ),
    NoticeKind.FINDINGS_NEW: About(_("there are new or worse risks"), Urgency.SOON),
    NoticeKind.MIRROR_LATE: About(_("a mirror is further behind than the RPO"), Urgency.SOON, may=OPERATE),
    NoticeKind.MIRROR_FAILED: About(_("a mirror has failed"), Urgency.NOW, may=OPERATE),
    NoticeKind.MIRROR_DIFFERS: About(_("a mirror differs from its source"), Urgency.NOW, may=OPERATE),
    NoticeKind.GATEWAY_AWAY: About(_("a Gateway is away"), Urgency.NOW, may=OPERATE),
    NoticeKind.JOB_FAILED: About(_("a job of the pipeline has failed"), Urgency.SOON, may=RUN_JOB),
}
