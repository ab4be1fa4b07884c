"""Tables: the schedules of the jobs."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from hadash.governance.models.runs import Run
from hadash.pipeline.cron import MAX_LENGTH


class Schedule(models.Model):
    """The schedule of a job. (:func:`hadash.pipeline.schedules.known` makes the rows.)"""

    job = models.CharField(max_length=10, choices=Run.Job.choices, unique=True)
    #: Five fields, in UTC; see :mod:`hadash.pipeline.cron`.
    cron = models.CharField(max_length=MAX_LENGTH)
    enabled = models.BooleanField(default=True)
    #: Runs that were due until this time have been handled.
    looked_at = models.DateTimeField()
    #: When a run was last skipped because the previous one was still under way.
    left_out_at = models.DateTimeField(null=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("job",)
        permissions = [("run_job", "May have a job of the pipeline run now")]

    def __str__(self) -> str:
        return f"{self.job} at {self.cron}"
