"""Tables: mirrors, where their two sides correspond, and their lag over time."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.inventory.models import Cluster, Pair


class Mirror(models.Model):
    """The replication of Topics that switch together, from ``source`` to the pair's other cluster."""

    class State(models.TextChoices):
        RUNNING = "running", _("running")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", _("failed")
        UNKNOWN = "unknown", _("unknown")
        TURNING = "turning", _("turning round")

    pair = models.ForeignKey(Pair, models.PROTECT, related_name="mirrors")
    name = models.SlugField(max_length=60)
    topics = models.JSONField(default=list)
    source = models.ForeignKey(Cluster, models.PROTECT, related_name="mirrors_from")
    #: A switch has sent the clients over and is about to turn it round: until then the target grows ahead of
    #: the source.
    turning = models.BooleanField(default=False)
    #: What the last look found, and why it is not running.
    state = models.CharField(max_length=10, choices=State.choices, default=State.UNKNOWN)
    fault = models.TextField(blank=True)
    #: Records and seconds of the source that are not in the mirror yet; null when it cannot be known.
    lag_records = models.BigIntegerField(null=True)
    lag_seconds = models.FloatField(null=True)
    looked_at = models.DateTimeField(null=True)
    #: Where the source ended when it was last seen, as ``[[topic, partition, end], ...]``, and when that was:
    #: all that is known of a source that is lost.
    sighted = models.JSONField(default=list)
    sighted_at = models.DateTimeField(null=True)
    #: Its standby is being made again from the other side (see ``rebuild.py``). It counts as turning meanwhile.
    rebuilding = models.BooleanField(default=False)
    #: What is meant for clients, by Topic: ``{topic: {setting: value}}`` of ``topic_settings.KEPT``, as it was in
    #: effect on the active side. Here, because the standby's settings differ and a side that becomes active has
    #: nobody else to ask.
    topic_settings = models.JSONField(default=dict)
    #: The connector's settings that were found different from hadash's: ``{"keys": [...], "since": time, "mended":
    #: time or null}``.
    drift = models.JSONField(default=dict)
    #: The tasks of its connector, with how often each has begun again: see ``tasks.py``.
    tasks = models.JSONField(default=list)
    #: Records that differ from their source: see ``comparing.py``.
    comparison = models.JSONField(default=dict)
    compared_at = models.DateTimeField(null=True)
    #: Source offsets without a copy: see ``gaps.py``.
    gaps = models.JSONField(default=list)

    class Meta:
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=["pair", "name"], name="mirror_once_a_pair")]
        indexes = [GinIndex(fields=["topics"], name="mirror_by_topic")]

    def __str__(self) -> str:
        return self.name

    @property
    def target(self) -> Cluster:
        return self.pair.other(self.source)


class Anchor(models.Model):
    """A point at which both sides of a mirrored partition correspond: the source's offset ``source_offset`` and the
    target's ``target_offset`` are the same record (or both the end)."""

    mirror = models.ForeignKey(Mirror, models.CASCADE, related_name="anchors")
    topic = models.CharField(max_length=255)
    partition = models.PositiveIntegerField()
    source_offset = models.BigIntegerField()
    target_offset = models.BigIntegerField()
    #: How many records each side holds twice before this point, because a mirror to it had copied them again:
    #: so much further back than counting says can a record lie there.
    source_repeated = models.PositiveBigIntegerField(default=0)
    target_repeated = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["mirror", "topic", "partition"], name="anchor_once_a_partition")
        ]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: {self.source_offset} = {self.target_offset}"


class GroupPosition(models.Model):
    """Where a group stood on a cluster when it was last looked at. A switch that can ask the cluster never uses it."""

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="positions")
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    group = models.CharField(max_length=255)
    #: ``[[topic, partition, offset, metadata], ...]``, of Topics that a mirror carries from this cluster.
    offsets = models.JSONField(default=list)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "cluster", "group"], name="position_once_a_group")
        ]

    def __str__(self) -> str:
        return f"{self.group} on {self.cluster} at {self.at}"


class WriteDenial(models.Model):
    """A rule that hadash made on a cluster to keep a client off a standby Topic. Only these are ever taken away: a rule
    that looks the same and is not here is somebody else's."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    topic = models.CharField(max_length=249)
    principal = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "topic", "principal"], name="unique_write_denial")
        ]

    def __str__(self) -> str:
        return f"{self.principal} may not write to {self.topic} on {self.cluster}"


class LagSample(models.Model):
    """The lag of a mirror at one moment. ``records`` is null when it could not be known: a gap, not zero."""

    mirror = models.ForeignKey(Mirror, models.CASCADE, related_name="samples")
    at = models.DateTimeField()
    records = models.BigIntegerField(null=True)
    seconds = models.FloatField(null=True)
    #: How the mirror was; empty of samples that were taken before anybody kept it.
    state = models.CharField(max_length=10, choices=Mirror.State.choices, blank=True, default="")
    #: By partition, ``topic-partition`` → records.
    partitions = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["mirror", "at"])]

    def __str__(self) -> str:
        return f"{self.mirror} {self.at}: {self.records}"
