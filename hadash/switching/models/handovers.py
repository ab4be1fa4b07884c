"""Table: how often work was handed over, and how often beat had to pick it up."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Work(models.TextChoices):
    """The kinds of work that are handed to a worker."""

    STAGE = "stage", _("stages of switches")
    REBUILD = "rebuild", _("rebuilds of lost sides")
    RETIREMENT = "retirement", _("removals of old Topics")
    BINDING_CHANGE = "binding_change", _("changes of bindings")
    BATCH = "batch", _("batches")
    RUN = "run", _("runs of jobs")


class Way(models.TextChoices):
    """How a piece of work reached a worker, or did not."""

    #: Redis took it.
    HANDED_OVER = "handed_over", _("handed over")
    #: Redis did not take it; beat picks it up.
    REFUSED = "refused", _("Redis did not take it")
    #: Beat picked it up: no worker had taken what was handed over.
    NEVER_TAKEN = "never_taken", _("picked up: no worker had taken it")
    #: Beat picked it up: the worker that had it gave no sign of life.
    SILENT = "executor_silent", _("picked up: its worker was silent")
    #: Beat picked it up: the worker's process, on the same host, has ended.
    DEAD = "executor_dead", _("picked up: its worker was dead")
    #: Beat picked it up as planned: its worker had let it go because a server did not answer.
    RETRIED = "retried", _("tried again: a server had not answered")


#: Ways that a person should look at. (RETRIED is not one: work is retried by itself when a server is back.)
FAULTS = (Way.REFUSED, Way.NEVER_TAKEN, Way.SILENT, Way.DEAD)


class HandoverCount(models.Model):
    """How often one kind of work came one way on one day (UTC)."""

    day = models.DateField()
    work = models.CharField(max_length=20, choices=Work.choices)
    way = models.CharField(max_length=20, choices=Way.choices)
    count = models.PositiveBigIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        ordering = ("-day", "work", "way")
        constraints = [models.UniqueConstraint(fields=["day", "work", "way"], name="one_handover_count")]

    def __str__(self) -> str:
        return f"{self.day} {self.work} {self.way}: {self.count}"
