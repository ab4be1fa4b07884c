"""Tables: mirrors, the points where their two sides correspond, positions of groups, and lag over time."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import pgettext_lazy

from hadash.inventory.models import Cluster, Pair
from hadash.sentence_field import SentenceField
from hadash.shown import Look, Shown


class Mirror(models.Model):
    """The replication of Topics that switch together, from ``source`` to the pair's other cluster."""

    class State(models.TextChoices):
        # (The words have their own context: "running" of a switch and of a mirror are two words in Chinese.)
        RUNNING = "running", pgettext_lazy("mirror", "running")
        STOPPED = "stopped", pgettext_lazy("mirror", "stopped")
        FAILED = "failed", pgettext_lazy("mirror", "failed")
        UNKNOWN = "unknown", pgettext_lazy("mirror", "unknown")
        TURNING = "turning", pgettext_lazy("mirror", "turning round")

    SHOWN: ClassVar[dict[State, Shown]] = {
        State.RUNNING: Shown(State.RUNNING.label, Look.FINE, "fine"),
        State.STOPPED: Shown(State.STOPPED.label, Look.BAD, "bad"),
        State.FAILED: Shown(State.FAILED.label, Look.BAD, "bad"),
        State.UNKNOWN: Shown(State.UNKNOWN.label, Look.UNKNOWN, "unknown"),
        State.TURNING: Shown(State.TURNING.label, Look.WAITING, "running"),
    }
    #: The states in which it copies nothing.
    DOWN = frozenset({State.STOPPED, State.FAILED})

    pair = models.ForeignKey(Pair, models.PROTECT, related_name="mirrors")
    name = models.SlugField(max_length=60)
    topics = models.JSONField(default=list)
    source = models.ForeignKey(Cluster, models.PROTECT, related_name="mirrors_from")
    #: A switch has moved the clients and is about to turn the mirror round: until then the target grows ahead
    #: of the source.
    turning = models.BooleanField(default=False)
    #: The result of the last look, and why the mirror is not running.
    state = models.CharField(max_length=10, choices=State.choices, default=State.UNKNOWN)
    fault = SentenceField()
    #: The lag in records and in seconds; null when it is not known.
    lag_records = models.BigIntegerField(null=True)
    lag_seconds = models.FloatField(null=True)
    #: The lag in seconds by partition, ``{"topic-partition": seconds}``: null where it is not known; a partition that
    #: is not behind is left out.
    partition_seconds = models.JSONField(default=dict)
    looked_at = models.DateTimeField(null=True)
    #: The ends of the source when they were last read, as ``[[topic, partition, end], ...]``, and the time of
    #: that: they are all that is known of a source that is lost.
    known_ends = models.JSONField(default=list)
    known_ends_at = models.DateTimeField(null=True)
    #: Its standby is being rebuilt (see ``rebuild.py``). Meanwhile the mirror counts as turning.
    rebuilding = models.BooleanField(default=False)
    #: The settings for clients by Topic, ``{topic: {setting: value}}`` of ``topic_settings.KEPT``, as they were
    #: in effect on the active side. They are stored here because the standby has different ones, and the active
    #: side may be lost when the standby takes over.
    topic_settings = models.JSONField(default=dict)
    #: The connector's settings that differed from hadash's: ``{"keys": [...], "since": time, "mended": time or
    #: null}``.
    drift = models.JSONField(default=dict)
    #: The tasks of its connector with their numbers of restarts: see ``tasks.py``.
    tasks = models.JSONField(default=list)
    #: Records that differ between both sides: see ``comparing.py``.
    comparison = models.JSONField(default=dict)
    compared_at = models.DateTimeField(null=True)
    #: Source offsets without a copy: see ``gaps.py``.
    gaps = models.JSONField(default=list)

    #: Fields that may be long, and that only looks at a mirror and its own page need; lists leave them out.
    DETAILS = ("partition_seconds", "known_ends", "topic_settings", "drift", "comparison", "gaps")

    class Meta:
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=["pair", "name"], name="mirror_once_a_pair")]
        indexes = [GinIndex(fields=["topics"], name="mirror_by_topic")]

    def __str__(self) -> str:
        return self.name

    @property
    def target(self) -> Cluster:
        return self.pair.other(self.source)


class PairLag(models.Model):
    """The lag of all mirrors of a pair together, after a round of looks: a pair may have thousands of mirrors, and its
    history is read for every chart of it.
    """

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="lags")
    at = models.DateTimeField()
    #: The lag in seconds of the mirror that is furthest behind, of those of which it is known; null: of none.
    seconds = models.FloatField(null=True)
    #: The same in records. (It may be another mirror.)
    records = models.BigIntegerField(null=True)
    #: Mirrors of which the lag is not known: one of them may be the one that is furthest behind.
    unknown = models.PositiveIntegerField()
    #: Mirrors that copy nothing: they have failed, or somebody has stopped them.
    down = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["pair", "at"])]

    def __str__(self) -> str:
        return f"{self.pair} {self.at}: {self.seconds}"


class MirrorOffsetSync(models.Model):
    """A point at which both sides of a mirrored partition correspond: ``source_offset`` on the source and
    ``target_offset`` on the target are the same record (or both the end).
    """

    mirror = models.ForeignKey(Mirror, models.CASCADE, related_name="syncs")
    topic = models.CharField(max_length=255)
    partition = models.PositiveIntegerField()
    source_offset = models.BigIntegerField()
    target_offset = models.BigIntegerField()
    #: How many records each side holds twice before this point, because a mirror to it copied them again. An
    #: earlier record may be so many offsets further back there than counting says.
    source_repeated = models.PositiveBigIntegerField(default=0)
    target_repeated = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["mirror", "topic", "partition"], name="offset_sync_once_a_partition"
            )
        ]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: {self.source_offset} = {self.target_offset}"


class GroupPosition(models.Model):
    """A group's committed offsets on a cluster, as last read. A switch uses them only when the cluster is lost."""

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="positions")
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    group = models.CharField(max_length=255)
    #: ``[[topic, partition, offset, metadata], ...]``, of Topics that a mirror copies from this cluster.
    offsets = models.JSONField(default=list)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "cluster", "group"], name="position_once_a_group")
        ]

    def __str__(self) -> str:
        return f"{self.group} on {self.cluster} at {self.at}"


class WriteDenial(models.Model):
    """A rule that hadash made on a cluster to deny a client writing to a standby Topic. hadash removes only
    these: an equal rule that is not in this table is not its own.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    topic = models.CharField(max_length=249)
    principal = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "topic", "principal"], name="unique_write_denial")
        ]

    def __str__(self) -> str:
        return f"{self.principal} may not write to {self.topic} on {self.cluster}"


class _Lag(models.Model):
    """The lag of a mirror at one moment."""

    at = models.DateTimeField()
    #: ``None`` when it was not known: charts show a gap, not zero.
    records = models.BigIntegerField(null=True)
    seconds = models.FloatField(null=True)
    #: The state of the mirror; empty in old samples.
    state = models.CharField(max_length=10, choices=Mirror.State.choices, blank=True, default="")
    #: The records by partition: ``topic-partition`` → records.
    partitions = models.JSONField(default=dict)
    #: The seconds by partition, as in :attr:`Mirror.partition_seconds`.
    partition_seconds = models.JSONField(default=dict)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.mirror} {self.at}: {self.records}"  # type: ignore[attr-defined]


class LagSample(_Lag):
    """One look at a mirror. Kept for ``HADASH_LAG_KEPT_HOURS``."""

    mirror = models.ForeignKey(Mirror, models.CASCADE, related_name="samples")

    class Meta:
        indexes = [models.Index(fields=["mirror", "at"])]


class LagHour(_Lag):
    """The sample of one hour in which a mirror was furthest behind. ``at``: the beginning of the hour. Kept for
    ``HADASH_LAG_HOURS_KEPT_DAYS``.
    """

    mirror = models.ForeignKey(Mirror, models.CASCADE, related_name="hours")
    #: In how many samples of the hour it did not run.
    down = models.PositiveIntegerField(db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mirror", "at"], name="lag_hour_once_a_mirror")]
        indexes = [models.Index(fields=["at"], condition=models.Q(down__gt=0), name="lag_hour_down")]
