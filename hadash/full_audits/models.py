"""Table: full audits, with what came of each partition."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import pgettext_lazy

from hadash.full_audits.machine import MACHINE, Status
from hadash.inventory.models import Cluster
from hadash.mirroring.models import Mirror
from hadash.sentence_field import SentenceField
from hadash.sentences import Sentence, say
from hadash.shown import Look, Shown, choices
from hadash.stateful import Stateful


class FullAudit(Stateful):
    """A Topic that was compared as a whole, or is, or will be."""

    MACHINE = MACHINE

    SHOWN: ClassVar[dict[Status, Shown]] = {
        Status.WAITING: Shown(pgettext_lazy("full audit", "waiting"), Look.WAITING, "waiting"),
        Status.RUNNING: Shown(pgettext_lazy("full audit", "running"), Look.WAITING, "running"),
        Status.DONE: Shown(pgettext_lazy("full audit", "done"), Look.FINE, "fine"),
        Status.FAILED: Shown(pgettext_lazy("full audit", "failed"), Look.BAD, "bad"),
        Status.CANCELLED: Shown(pgettext_lazy("full audit", "cancelled"), Look.OFF, "off"),
    }

    mirror = models.ForeignKey(Mirror, models.CASCADE, related_name="full_audits")
    topic = models.CharField(max_length=249)
    status = models.CharField(max_length=20, choices=choices(SHOWN), default=Status.WAITING.value)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    #: ``read_at``: when the ends of both sides were read: up to these it compares.
    began_at = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    #: The cluster that the mirror copied from when it began.
    source = models.ForeignKey(Cluster, models.PROTECT, null=True, related_name="+")
    #: Offsets of the source that it is to compare.
    offsets = models.PositiveBigIntegerField(default=0)
    #: ``step``, ``done`` and ``total`` of what Spark does now.
    progress = models.JSONField(default=dict)
    #: What came of each partition (:func:`hadash.auditing.whole.as_json`, without the differences).
    partitions = models.JSONField(default=list)
    #: Records that are equal and that differ, over all partitions.
    equal = models.PositiveBigIntegerField(default=0)
    different = models.PositiveBigIntegerField(default=0)
    #: Why it has failed.
    fault = SentenceField()

    class Meta:
        ordering = ("-pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["mirror", "topic"],
                condition=models.Q(status__in=[Status.WAITING.value, Status.RUNNING.value]),
                name="full_audit_of_a_topic_once_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("full-audit", args=[self.mirror.pair.name, self.mirror.name, self.pk])

    @property
    def current(self) -> Status:
        return Status(self.status)

    def cannot_change(self) -> Sentence:
        return say("This full audit has ended already.")

    @property
    def sides(self) -> tuple[Cluster, Cluster] | None:
        """The source and the target; ``None`` before it has begun."""
        return (self.source, self.mirror.pair.other(self.source)) if self.source is not None else None

    @property
    def verdict(self) -> Sentence:
        """What it has found, in a sentence; why it has found nothing."""
        if self.current is Status.FAILED:
            return say("It has failed: %(fault)s", fault=self.fault)
        if self.current is not Status.DONE:
            return say("Nothing is known yet.")
        if self.different:
            return say("Records that differ: %(count)s.", count=self.different)
        if self.without_place:
            return say(
                "Of partitions %(partitions)s nothing is known: no place was found at which both sides agree. Let "
                "auditors come to the end of them, then ask again.",
                partitions=self.without_place,
            )
        if not self.equal:
            return say("Both sides hold no record that could be compared.")
        return say("All records that both sides hold are equal (records: %(count)s).", count=self.equal)

    @property
    def without_place(self) -> list[int]:
        """Partitions of which nothing is known, because both sides could not be put beside each other."""
        return [each["partition"] for each in self.partitions if each["has_no_place"]]

    @property
    def older(self) -> dict[str, int]:
        """How many records of each side are older than the first that both hold, by the side."""
        return _sums(self.partitions, "older")

    @property
    def late(self) -> int:
        """Records that the target did not hold yet."""
        return sum(each["late"] for each in self.partitions)


def _sums(partitions: list[dict[str, Any]], name: str) -> dict[str, int]:
    return {
        side: sum(each[name][number] for each in partitions)
        for number, side in enumerate(("source", "target"))
    }
