"""Runs of the pipeline."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from hadash.sentence_field import SentenceField
from hadash.shown import Look, Shown


class Run(models.Model):
    """One run of one job. Readers see only the rows of the last published run."""

    class Job(models.TextChoices):
        SNAPSHOT = "snapshot", _("Snapshot")
        FROM_KAFKA = "from-kafka", _("Reports from Kafka")
        FACTS = "facts", _("Facts")
        TOPOLOGY = "topology", _("Topology")
        COVERAGE = "coverage", _("Coverage")
        ADVICE = "advice", _("Advice")
        RISK = "risk", _("Risks")
        LAG = "lag", _("Lag")
        CLEANING = "cleaning", _("Cleaning up")

    class State(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("run", "waiting")
        RUNNING = "running", pgettext_lazy("run", "running")
        PUBLISHED = "published", pgettext_lazy("run", "published")
        FAILED = "failed", pgettext_lazy("run", "failed")

    SHOWN: ClassVar[dict[State, Shown]] = {
        State.WAITING: Shown(State.WAITING.label, Look.WAITING, "waiting"),
        State.RUNNING: Shown(State.RUNNING.label, Look.WAITING, "running"),
        State.PUBLISHED: Shown(State.PUBLISHED.label, Look.FINE, "fine"),
        State.FAILED: Shown(State.FAILED.label, Look.BAD, "bad"),
    }

    job = models.CharField(max_length=10, choices=Job.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    #: The user who asked for it; empty when the schedule did.
    asked_by = models.CharField(max_length=150, blank=True)
    #: ``due_at``: when it may begin; ``handed_at``: when it was last handed to a worker.
    due_at = models.DateTimeField(default=timezone.now)
    handed_at = models.DateTimeField(null=True)
    #: The number of this attempt, from 1.
    attempt = models.PositiveSmallIntegerField(default=1)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    #: The input that it was made from: ``day`` (the newest day of facts), ``facts`` (the version of the lake's
    #: manifest), ``snapshot`` (its time).
    watermark = models.JSONField(default=dict)
    #: Rows by table, seconds by step.
    rows = models.JSONField(default=dict)
    seconds = models.JSONField(default=dict)
    #: ``malformed``: counts of reports that could not be read, by reason; ``away``: clusters that did not
    #: answer.
    quality = models.JSONField(default=dict)
    #: ``step``, ``done`` and ``total`` of its current step.
    progress = models.JSONField(default=dict)
    #: The reason of its failure.
    fault = SentenceField()

    class Meta:
        ordering = ("-pk",)
        indexes = [models.Index(fields=["job", "state", "-id"])]
        constraints = [
            models.UniqueConstraint(
                fields=["job"], condition=models.Q(state="running"), name="run_one_of_a_job_at_a_time"
            ),
            models.UniqueConstraint(
                fields=["job"], condition=models.Q(state="waiting"), name="run_one_of_a_job_waits"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job} {self.pk}"

    @property
    def current(self) -> Run.State:
        return self.State(self.state)
