"""Tables: how far each mirrored partition was audited, and what was found to differ."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.auditing.findings import Kind
from hadash.inventory.models import Cluster, Pair
from hadash.sentence_field import SentenceField


class AuditedPartition(models.Model):
    """One partition of a pair, and how far both sides of it were compared.

    ``source…`` are offsets on :attr:`source`, ``target…`` on the pair's other cluster: both change places when the
    mirror is turned round.
    """

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="audited")
    topic = models.CharField(max_length=249)
    partition = models.PositiveIntegerField()
    source = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    #: Whether a comparison has begun; until then the offsets mean nothing.
    begun = models.BooleanField(default=False)
    #: Where the comparison began. From there to the next offsets nothing was left out.
    source_begin = models.BigIntegerField()
    target_begin = models.BigIntegerField()
    #: Up to here (exclusively) both sides were compared: they agree, or what differs was noted.
    source_next = models.BigIntegerField()
    target_next = models.BigIntegerField()
    #: The source's first and next offset when they were last read; ``None``: not known yet.
    source_start = models.BigIntegerField(null=True)
    source_end = models.BigIntegerField(null=True)
    #: Records that were found equal, and differences that were found, since the comparison began.
    equal = models.PositiveBigIntegerField(default=0)
    different = models.PositiveBigIntegerField(default=0)
    #: How many of these people have accepted.
    accepted = models.PositiveBigIntegerField(default=0)
    #: When an auditor last had compared all that both sides held.
    compared_at = models.DateTimeField(null=True)
    #: The time of the last record that was compared.
    record_at = models.DateTimeField(null=True)
    #: Since when the source holds a record that the target does not.
    waiting_since = models.DateTimeField(null=True)
    #: Why it is not audited now.
    fault = SentenceField()
    #: The newest windows of record time, each ``[begin in seconds since 1970, records of the source, their checksum,
    #: records of the target, their checksum]``.
    windows = models.JSONField(default=list)
    #: The auditor that has it, and a number that grows when another one takes it: what the one before still writes
    #: is refused.
    auditor = models.CharField(max_length=200, blank=True)
    claim = models.PositiveBigIntegerField(default=0)
    updated_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("topic", "partition")
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "topic", "partition"], name="audited_partition_once_a_pair"
            )
        ]
        indexes = [
            models.Index(
                fields=["pair"], condition=models.Q(different__gt=0), name="audited_partition_differs"
            )
        ]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def open_differences(self) -> int:
        """Differences that nobody has accepted."""
        return max(0, self.different - self.accepted)


class AuditAcceptance(models.Model):
    """Somebody has accepted differences: why, and how many of each partition (its key as text)."""

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    reason = models.TextField()
    counts = models.JSONField()

    def __str__(self) -> str:
        return f"{self.by}: {self.reason}"


class AuditDifference(models.Model):
    """Something that differs between both sides of a partition."""

    KINDS = [
        (Kind.MISSING.value, _("missing")),
        (Kind.EXTRA.value, _("too much")),
        (Kind.DIFFERENT.value, _("different")),
        (Kind.HEADERS.value, _("headers differ")),
        (Kind.TIME.value, _("time differs")),
        (Kind.REORDERED.value, _("in another order")),
        (Kind.OFFSETS.value, _("offsets have shifted")),
    ]

    audited = models.ForeignKey(AuditedPartition, models.CASCADE, related_name="differences")
    kind = models.CharField(max_length=12, choices=KINDS)
    #: The source when it was found, and the offsets there and on the other cluster; of a record that one side does not
    #: hold, that of the next one that both hold.
    source = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    source_offset = models.BigIntegerField()
    target_offset = models.BigIntegerField()
    #: The parts that differ: key, value, headers, time.
    parts = models.JSONField(default=list)
    found_at = models.DateTimeField()
    #: Why it does not count; null: it does.
    acceptance = models.ForeignKey(AuditAcceptance, models.SET_NULL, null=True, related_name="differences")

    class Meta:
        ordering = ("-pk",)
        permissions = [("view_values", "May see the keys, values and headers of records that differ")]
        constraints = [
            # A full audit may have found what an auditor finds later.
            models.UniqueConstraint(
                fields=["audited", "kind", "source", "source_offset", "target_offset"],
                name="audit_difference_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.audited} {self.kind} {self.source_offset} / {self.target_offset}"
