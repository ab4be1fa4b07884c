"""The base of a change that one person asks for, another one approves, and hadash then writes."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.changes import Status
from hadash.sentences import Sentence, say
from hadash.shown import Look, Shown, choices
from hadash.switching.models.approvable import Approvable


class RequestedChange(Approvable):
    """A change of bindings or of a pool. Its states: :mod:`hadash.changes`."""

    SHOWN: ClassVar[dict[Status, Shown]] = {
        Status.AWAITING_APPROVAL: Shown(_("awaiting approval"), Look.WAITING, "waiting"),
        Status.APPROVED: Shown(_("being written"), Look.WAITING, "running"),
        Status.APPLIED: Shown(_("applied"), Look.FINE, "fine"),
        Status.FAILED: Shown(_("failed"), Look.BAD, "bad"),
        Status.DECLINED: Shown(_("declined"), Look.OFF, "off"),
        Status.CANCELLED: Shown(_("cancelled"), Look.OFF, "off"),
        Status.EXPIRED: Shown(_("expired"), Look.OFF, "off"),
    }

    status = models.CharField(max_length=20, choices=choices(SHOWN), default=Status.AWAITING_APPROVAL.value)

    class Meta(Approvable.Meta):
        abstract = True

    @property
    def current(self) -> Status:
        return Status(self.status)

    def cannot_change(self) -> Sentence:
        return say(
            "This change is %(status)s: it cannot be changed that way any more.",
            status=self.get_status_display(),
        )
