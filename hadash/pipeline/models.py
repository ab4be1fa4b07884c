"""Tables: when each job runs."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from hadash.governance.models import Run
from hadash.pipeline.cron import MAX_LENGTH


class Schedule(models.Model):
    """When a job runs. (Rows are made by :func:`hadash.pipeline.schedules.known`.)"""

    job = models.CharField(max_length=10, choices=Run.Job.choices, unique=True)
    #: Five fields, in UTC; see :mod:`hadash.pipeline.cron`.
    cron = models.CharField(max_length=MAX_LENGTH)
    enabled = models.BooleanField(default=True)
    #: Until when it was looked at what is due.
    looked_at = models.DateTimeField()
    #: When it was due last while the run before still went on: that one was left out.
    left_out_at = models.DateTimeField(null=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("job",)
        permissions = [("run_job", "May have a job of the pipeline run now")]

    def __str__(self) -> str:
        return f"{self.job} at {self.cron}"
