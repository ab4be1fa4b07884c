"""The figures of each pair by day, which the jobs write. The trends are drawn from them."""

from __future__ import annotations

from django.db import models


class Posture(models.Model):
    """The figures of a pair on a day (UTC), as published by the last runs of that day
    (:mod:`spark.publishing.posture`). They outlive the runs. A figure that no run has published is null.
    """

    pair = models.CharField(max_length=40)
    day = models.DateField()
    #: AppIDs that were seen, and how many of them have all their Topics mirrored.
    appids = models.BigIntegerField(null=True)
    mirrored_appids = models.BigIntegerField(null=True)
    #: client.ids that were seen, and how many of them are registered.
    clients = models.BigIntegerField(null=True)
    registered = models.BigIntegerField(null=True)
    #: AppIDs that several clients use, and the largest radius by InstanceIDs and by AppIDs.
    shared_appids = models.BigIntegerField(null=True)
    largest_radius = models.BigIntegerField(null=True)
    largest_radius_by_appid = models.BigIntegerField(null=True)
    #: Numbers of findings that count, by severity.
    high = models.BigIntegerField(null=True)
    medium = models.BigIntegerField(null=True)
    low = models.BigIntegerField(null=True)

    class Meta:
        ordering = ("pair", "day")
        constraints = [models.UniqueConstraint(fields=["pair", "day"], name="posture_once_a_day")]

    def __str__(self) -> str:
        return f"{self.pair} {self.day}"
