"""Table: the records that lost sources held beyond their mirrors."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentence_field import SentenceField
from hadash.sentences import Sentence, say
from hadash.shown import Look, Shown, choices
from hadash.stateful import Stateful
from hadash.switching.machines.unreplicated import UNREPLICATED_MACHINE, UnreplicatedStatus
from hadash.switching.models.switches import Switch


class Unreplicated(Stateful):
    """What a lost source held beyond the mirror when its clients were switched without it; see
    ``recovery/unreplicated.py``.
    """

    MACHINE = UNREPLICATED_MACHINE
    Status = UnreplicatedStatus

    SHOWN: ClassVar[dict[UnreplicatedStatus, Shown]] = {
        UnreplicatedStatus.WAITING: Shown(_("awaited"), Look.WAITING, "waiting"),
        UnreplicatedStatus.REPORTED: Shown(_("reported"), Look.WAITING, "waiting"),
        UnreplicatedStatus.REBUILDING: Shown(_("being rebuilt"), Look.WAITING, "running"),
        UnreplicatedStatus.REBUILT: Shown(_("rebuilt"), Look.FINE, "fine"),
        UnreplicatedStatus.FAILED: Shown(_("not rebuilt"), Look.BAD, "bad"),
    }

    switch = models.OneToOneField(Switch, models.CASCADE, related_name="unreplicated")
    status = models.CharField(max_length=12, choices=choices(SHOWN), default=UnreplicatedStatus.WAITING.value)
    #: How far the mirror had copied: ``[[topic, partition, source offset, target offset], ...]``.
    points = models.JSONField()
    #: The records beyond: ``[[topic, partition, first offset, end offset], ...]``.
    found = models.JSONField(default=list)
    reported_at = models.DateTimeField(null=True)
    #: Why it cannot be reported or rebuilt, by the last attempt.
    fault = SentenceField()
    #: Since when the source has answered without knowing some of its Topics.
    unknown_since = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    note = models.TextField(blank=True)
    #: Names of the mirrors that are rebuilt. Their clients may have gone back since, so they are never rebuilt twice.
    rebuilt = models.JSONField(default=list)
    #: How many records were reported of the Topics of these mirrors: they are deleted since, and not in ``found``.
    deleted = models.PositiveBigIntegerField(default=0)
    #: Topics that the source has lost for good: what was not mirrored of them nobody can count.
    gone = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"unreplicated records of {self.switch}: {self.status}"

    @property
    def current(self) -> UnreplicatedStatus:
        return UnreplicatedStatus(self.status)

    def cannot_change(self) -> Sentence:
        return say(
            "Its unreplicated records are %(status)s: there is nothing to decide.",
            status=self.get_status_display(),
        )

    @property
    def records(self) -> int:
        """How many records the source holds; 0 until it is reported."""
        return sum(end - first for _topic, _partition, first, end in self.found)

    @property
    def is_counted(self) -> bool:
        """Whether what the source holds is known; not while it is asked, or asked again."""
        return self.current is not UnreplicatedStatus.WAITING

    def the_points(self) -> dict[Partition, OffsetSync]:
        """How far the mirror had copied, by partition."""
        return {Partition(t, p): OffsetSync(source, target) for t, p, source, target in self.points}
