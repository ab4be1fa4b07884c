"""The kinds of notices: what each is called, how urgent it is, and who gets it unless they choose otherwise. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext_lazy as _

from hadash.accounts.roles import DECIDE, OPERATE, RUN_JOB


class NoticeKind(StrEnum):
    """What has happened."""

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
    GATEWAY_AWAY = "gateway-away"
    JOB_FAILED = "job-failed"


class Urgency(StrEnum):
    """``NOW``: somebody has to act, so it is told in quiet hours as well, and waits for no digest."""

    NOW = "now"
    SOON = "soon"


@dataclass(frozen=True, slots=True)
class About:
    """``word``: as the pages call it. ``may``: whoever has this permission on the pair gets it; empty: nobody
    by a permission. ``involved``: whoever has asked for it or decided on it gets it.
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
    NoticeKind.SWITCH_WAITS: About(_("a switch waits for a go"), Urgency.NOW, involved=True),
    NoticeKind.SWITCH_SLOW: About(_("a switch is slower than usual"), Urgency.NOW, may=OPERATE),
    NoticeKind.SWITCH_ENDED: About(_("a switch has ended"), Urgency.SOON, involved=True),
    NoticeKind.SWITCH_NEEDS_SOMEBODY: About(
        _("a switch needs somebody"), Urgency.NOW, may=OPERATE, involved=True
    ),
    NoticeKind.FINDINGS_NEW: About(_("there are new or worse risks"), Urgency.SOON),
    NoticeKind.MIRROR_LATE: About(_("a mirror is further behind than the RPO"), Urgency.SOON, may=OPERATE),
    NoticeKind.MIRROR_FAILED: About(_("a mirror has failed"), Urgency.NOW, may=OPERATE),
    NoticeKind.GATEWAY_AWAY: About(_("a Gateway is away"), Urgency.NOW, may=OPERATE),
    NoticeKind.JOB_FAILED: About(_("a job of the pipeline has failed"), Urgency.SOON, may=RUN_JOB),
}
