"""Findings of the rules over all runs, and their acceptances. The jobs write the findings, too."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from hadash.governance.catalogue import CATALOGUE, Code, Entry
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.shown import Look, Shown


class Finding(models.Model):
    """A finding of a rule over all runs: since when it is open, or when it was resolved."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("finding", "open")
        RESOLVED = "resolved", pgettext_lazy("finding", "resolved")

    SHOWN: ClassVar[dict[State, Shown]] = {
        State.OPEN: Shown(State.OPEN.label, Look.BAD, "bad"),
        State.RESOLVED: Shown(State.RESOLVED.label, Look.FINE, "fine"),
    }

    pair = models.CharField(max_length=40)
    code = models.CharField(max_length=40)
    #: The AppID that it belongs to; empty: none.
    appid = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    #: The name of the thing that it is about; the rule's entry in the catalogue says of which kind that is.
    name = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    #: The points that it adds to a score.
    weight = models.PositiveSmallIntegerField()
    evidence = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    #: When it was first found, last opened, and last resolved.
    first_at = models.DateTimeField()
    opened_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    #: How often it was opened again after it was resolved.
    reopened = models.PositiveIntegerField(default=0)
    #: How large it is, in the unit that its rule counts (:attr:`Entry.measure`); null where the rule counts
    #: nothing. ``least``: the measure that it is compared with: that of when it was opened, was last reported
    #: as worse, or got much better; ``worse_at``: when it was last reported as worse.
    measure = models.FloatField(null=True)
    least = models.FloatField(null=True)
    worse_at = models.DateTimeField(null=True)
    #: The last run that found it. (Its rows may be gone.)
    last_run = models.BigIntegerField()

    class Meta:
        ordering = ("-weight", "pair", "code", "appid", "name")
        constraints = [models.UniqueConstraint(fields=["pair", "code", "appid", "name"], name="finding_once")]
        indexes = [
            # The index holds the counted columns (scores, rules, AppIDs); the next one has the order of the
            # list.
            models.Index(
                fields=["pair", "state", "-weight"], include=["id", "code", "appid"], name="finding_counted"
            ),
            models.Index(
                fields=["state", "-weight", "pair", "code", "appid", "name"],
                include=["id"],
                name="finding_in_order",
            ),
            models.Index(fields=["pair", "appid"]),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.appid} {self.name}"

    @property
    def current(self) -> Finding.State:
        return self.State(self.state)

    @property
    def entry(self) -> Entry | None:
        """The rule; ``None`` for a rule that this version no longer has."""
        return CATALOGUE.get(Code(self.code)) if self.code in set(Code) else None


class Acceptance(models.Model):
    """An acceptance of a finding until a day: the finding stays open, but does not count meanwhile."""

    finding = models.ForeignKey(Finding, models.CASCADE, related_name="acceptances")
    until = models.DateField()
    reason = models.TextField()
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    accepted_at = models.DateTimeField(default=timezone.now)
    #: When it was withdrawn; null while it holds.
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-accepted_at",)
        constraints = [
            models.UniqueConstraint(
                fields=["finding"], condition=models.Q(withdrawn_at=None), name="acceptance_one_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.finding} until {self.until}"
